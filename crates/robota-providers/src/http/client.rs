//! The client: one connection per service kept open, no redirects, nothing read from the
//! environment.

use std::fmt;
use std::sync::OnceLock;
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
    /// separated by commas.
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

/// Two clients at most: the one for plain addresses needs no certificates, whose loading takes
/// longer than anything else at the start of the program.
pub(crate) struct HttpClient {
    transport: Transport,
    plain: OnceLock<Result<reqwest::Client, String>>,
    secure: OnceLock<Result<reqwest::Client, String>>,
}

impl HttpClient {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// Fails now rather than at the first request when the settings cannot work.
    pub(crate) fn check(&self, url: &Url) -> Result<(), BuildError> {
        self.client(url).map(drop).map_err(|reason| BuildError::Transport { reason })
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, String> {
        let proxied_by_tls =
            self.transport.proxy.as_deref().is_some_and(|proxy| proxy.starts_with("https:"));
        let plain = url.scheme() == "http" && !proxied_by_tls;
        let cell = if plain { &self.plain } else { &self.secure };
        cell.get_or_init(|| build(&self.transport, plain)).as_ref().map_err(Clone::clone)
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
        f.debug_tuple("HttpClient").field(&self.transport).finish()
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

fn build(transport: &Transport, plain: bool) -> Result<reqwest::Client, String> {
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
    if plain {
        let nobody = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(nobody);
    } else {
        let mut certificates = Vec::new();
        for file in &transport.certificates {
            let read = reqwest::Certificate::from_pem_bundle(file)
                .map_err(|error| format!("a certificate cannot be read: {error}"))?;
            certificates.extend(read);
        }
        builder = if transport.only_these_certificates {
            builder.tls_certs_only(certificates)
        } else {
            builder.tls_certs_merge(certificates)
        };
    }
    if let Some(proxy) = &transport.proxy {
        let proxy = reqwest::Proxy::all(proxy)
            // Its own message repeats the address.
            .map_err(|_| "the proxy's address cannot be read".to_owned())?
            .no_proxy(transport.no_proxy.as_deref().and_then(reqwest::NoProxy::from_string));
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| format!("no HTTP client: {}", error.without_url()))
}
