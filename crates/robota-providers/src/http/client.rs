//! The client: one connection per service kept open, no redirects, nothing read from the
//! environment.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use robota_core::provider::FailureReason;
use url::Url;

use crate::error::BuildError;
use crate::failure::Failure;

/// How services are reached. Whoever builds a program decides; nothing here looks into the
/// environment.
#[derive(Clone)]
pub struct Transport {
    /// A proxy for every request, for example `http://user:password@proxy:3128`.
    pub proxy: Option<String>,
    /// Hosts, domains (`.example.com`) and networks that are reached without the proxy,
    /// separated by commas. This machine itself always is.
    pub no_proxy: Option<String>,
    /// Certificates to trust beside those of the system, each file in PEM.
    pub certificates: Vec<Vec<u8>>,
    /// Trust the certificates above only.
    pub only_these_certificates: bool,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// What we call ourselves.
    pub user_agent: String,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            proxy: None,
            no_proxy: None,
            certificates: Vec::new(),
            only_these_certificates: false,
            connect_timeout: Duration::from_secs(15),
            user_agent: concat!("robota/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl fmt::Debug for Transport {
    /// Without the proxy's address: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("proxy", &self.proxy.is_some())
            .field("certificates", &self.certificates.len())
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// One request.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The beginning of an answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: reqwest::Response,
}

impl Reply {
    /// The body as it comes.
    pub(crate) fn into_stream(
        self,
    ) -> futures::stream::BoxStream<'static, Result<Bytes, reqwest::Error>> {
        Box::pin(self.body.bytes_stream())
    }

    /// The body as text, up to a number of bytes.
    pub(crate) async fn text(self, at_most: usize) -> Result<String, Failure> {
        use futures::StreamExt as _;

        let mut stream = self.into_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(chunk) => bytes.extend_from_slice(&chunk),
                // What arrived still says more than nothing.
                Err(_) if !bytes.is_empty() => break,
                Err(error) => return Err(broken(&error)),
            }
            if bytes.len() >= at_most {
                bytes.truncate(at_most);
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The client for plain addresses, or the one for the others: the first needs no certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Secure,
}

struct Clients {
    transport: Transport,
    plain: OnceLock<Result<reqwest::Client, String>>,
    secure: OnceLock<Result<reqwest::Client, String>>,
}

impl Clients {
    fn kind(&self, url: &Url) -> Kind {
        let proxied_by_tls =
            self.transport.proxy.as_deref().is_some_and(|proxy| proxy.starts_with("https:"));
        if url.scheme() == "http" && !proxied_by_tls { Kind::Plain } else { Kind::Secure }
    }

    fn get(&self, kind: Kind) -> Result<&reqwest::Client, String> {
        let cell = match kind {
            Kind::Plain => &self.plain,
            Kind::Secure => &self.secure,
        };
        cell.get_or_init(|| build(&self.transport, kind)).as_ref().map_err(Clone::clone)
    }
}

/// Sends requests, and keeps the connections they were sent over.
pub(crate) struct HttpClient {
    clients: Arc<Clients>,
}

impl HttpClient {
    pub(crate) fn new(transport: Transport) -> Self {
        let clients = Clients { transport, plain: OnceLock::new(), secure: OnceLock::new() };
        Self { clients: Arc::new(clients) }
    }

    /// Fails now rather than at the first request when the settings cannot work, and begins to
    /// read the system's certificates, which takes longer than anything else at the start of a
    /// program, while it goes on with other things.
    pub(crate) fn prepare(&self, url: &Url) -> Result<(), BuildError> {
        let transport = &self.clients.transport;
        let wrong = |reason| BuildError::Transport { reason };
        proxy(transport).map_err(wrong)?;
        // A plain address needs none, and reading a bundle takes a millisecond.
        if self.clients.kind(url) == Kind::Secure && self.clients.secure.get().is_none() {
            certificates(transport).map_err(wrong)?;
            let clients = Arc::clone(&self.clients);
            let reading = move || drop(clients.get(Kind::Secure).map(drop));
            // Without the thread, the first request reads them.
            let _ = std::thread::Builder::new().name("certificates".to_owned()).spawn(reading);
        }
        Ok(())
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, String> {
        self.clients.get(self.clients.kind(url))
    }

    /// Sends a request and waits for the beginning of its answer.
    pub(crate) async fn send(&self, request: Request) -> Result<Reply, Failure> {
        let client = self
            .client(&request.url)
            .map_err(|reason| Failure::of(FailureReason::BadRequest, reason))?;
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
        };
        let mut builder = client.request(method, request.url).headers(request.headers);
        if !request.body.is_empty() {
            builder = builder.body(request.body);
        }
        let response = builder.send().await.map_err(|error| broken(&error))?;
        Ok(Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response,
        })
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpClient").field(&self.clients.transport).finish()
    }
}

/// A failure of the network. The address is left out: keys stand in addresses.
pub(crate) fn broken(error: &reqwest::Error) -> Failure {
    let what = if error.is_timeout() && error.is_connect() {
        "connecting took too long"
    } else if error.is_connect() {
        "no connection"
    } else if error.is_body() || error.is_decode() {
        "the connection broke in the middle of the answer"
    } else {
        "the request could not be sent"
    };
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if !causes.iter().any(|seen: &String| seen.contains(&text)) {
            causes.push(text);
        }
        source = cause.source();
    }
    let message = match causes.last() {
        None => what.to_owned(),
        Some(cause) => format!("{what}: {cause}"),
    };
    Failure::of(FailureReason::Connection, message)
}

fn certificates(transport: &Transport) -> Result<Vec<reqwest::Certificate>, String> {
    let mut certificates = Vec::new();
    for file in &transport.certificates {
        let read = reqwest::Certificate::from_pem_bundle(file)
            .map_err(|error| format!("a certificate cannot be read: {error}"))?;
        certificates.extend(read);
    }
    Ok(certificates)
}

fn proxy(transport: &Transport) -> Result<Option<reqwest::Proxy>, String> {
    let Some(address) = &transport.proxy else { return Ok(None) };
    // No proxy can reach this machine's own servers.
    let mut direct = "localhost,127.0.0.0/8,::1".to_owned();
    if let Some(more) = &transport.no_proxy {
        direct.push(',');
        direct.push_str(more);
    }
    let proxy = reqwest::Proxy::all(address)
        // Its own message repeats the address.
        .map_err(|_| "the proxy's address cannot be read".to_owned())?;
    Ok(Some(proxy.no_proxy(reqwest::NoProxy::from_string(&direct))))
}

fn build(transport: &Transport, kind: Kind) -> Result<reqwest::Client, String> {
    // Fails when the program has chosen one already, and then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        // A redirect would carry the key to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(transport.connect_timeout)
        .pool_idle_timeout(Duration::from_secs(90))
        .tcp_nodelay(true)
        .user_agent(&transport.user_agent);
    builder = match kind {
        Kind::Plain => {
            let nobody = rustls::ClientConfig::builder()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            builder.tls_backend_preconfigured(nobody)
        }
        Kind::Secure if transport.only_these_certificates => {
            builder.tls_certs_only(certificates(transport)?)
        }
        Kind::Secure => builder.tls_certs_merge(certificates(transport)?),
    };
    if let Some(proxy) = proxy(transport)? {
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| format!("no HTTP client: {}", error.without_url()))
}
