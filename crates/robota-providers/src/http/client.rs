//! The HTTP client: pools connections, follows no redirects, and reads nothing from the
//! environment.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use robota_core::provider::FailureReason;
use url::Url;

use super::resolver::{SystemResolver, UnknownHost};
use crate::error::BuildError;
use crate::failure::Failure;

/// How services are reached. The program sets it; this crate reads nothing from the environment.
#[derive(Clone)]
pub struct HttpClientOptions {
    /// A proxy for every request, for example `http://user:password@proxy:3128`.
    pub proxy: Option<String>,
    /// Hosts, domains (`.example.com`) and networks that are reached without the proxy, separated
    /// by commas. Loopback addresses never use the proxy.
    pub no_proxy: Option<String>,
    /// Certificates to trust in addition to those of the system, each file in PEM.
    pub certificates: Vec<Vec<u8>>,
    /// Whether to trust only `certificates`, and not those of the system.
    pub only_these_certificates: bool,
    /// The time limit for establishing a connection.
    pub connect_timeout: Duration,
    /// The value of the `user-agent` header.
    pub user_agent: String,
}

impl Default for HttpClientOptions {
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

impl fmt::Debug for HttpClientOptions {
    /// Omits the proxy's address, because it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientOptions")
            .field("proxy", &self.proxy.is_some())
            .field("certificates", &self.certificates.len())
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// One HTTP request. Clones share the body.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response whose headers have arrived and whose body has not been read yet.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: reqwest::Response,
}

impl Response {
    /// Returns the body as a stream of chunks.
    pub(crate) fn into_stream(
        self,
    ) -> futures::stream::BoxStream<'static, Result<Bytes, reqwest::Error>> {
        Box::pin(self.body.bytes_stream())
    }

    /// Reads the body as text, up to a number of bytes.
    pub(crate) async fn text(self, at_most: usize) -> Result<String, Failure> {
        use futures::StreamExt as _;

        let mut stream = self.into_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(chunk) => bytes.extend_from_slice(&chunk),
                // A partial error body still helps to explain the failure.
                Err(_) if !bytes.is_empty() => break,
                Err(error) => return Err(network_failure(&error)),
            }
            if bytes.len() >= at_most {
                bytes.truncate(at_most);
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// `http:` addresses have a client of their own, because it does not need to load certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Secure,
    /// Plain, and without the proxy.
    Direct,
}

struct Clients {
    transport: HttpClientOptions,
    plain: OnceLock<Result<reqwest::Client, String>>,
    secure: OnceLock<Result<reqwest::Client, String>>,
    direct: OnceLock<Result<reqwest::Client, String>>,
}

impl Clients {
    fn kind(&self, url: &Url) -> Kind {
        // A proxy that is reached by TLS needs certificates, also for plain targets.
        let proxied_by_tls =
            self.transport.proxy.as_deref().is_some_and(|proxy| proxy.starts_with("https:"));
        if url.scheme() == "http" && !proxied_by_tls { Kind::Plain } else { Kind::Secure }
    }

    fn get(&self, kind: Kind) -> Result<&reqwest::Client, String> {
        let cell = match kind {
            Kind::Plain => &self.plain,
            Kind::Secure => &self.secure,
            Kind::Direct => &self.direct,
        };
        // An error is kept, too: settings that cannot work do not become better by asking again.
        cell.get_or_init(|| build(&self.transport, kind)).as_ref().map_err(Clone::clone)
    }
}

/// Sends requests over pooled connections.
pub(crate) struct HttpClient {
    clients: Arc<Clients>,
}

impl HttpClient {
    pub(crate) fn new(transport: HttpClientOptions) -> Self {
        let (plain, secure, direct) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let clients = Clients { transport, plain, secure, direct };
        Self { clients: Arc::new(clients) }
    }

    /// Validates the transport settings, so that they fail here and not at the first request. For
    /// an `https:` address it also starts to load the system's certificates on a thread: that is
    /// the slowest step of a program's start, and the program can do other work meanwhile.
    pub(crate) fn prepare(&self, url: &Url) -> Result<(), BuildError> {
        let transport = &self.clients.transport;
        let transport_error = |reason| BuildError::Transport { reason };
        proxy(transport).map_err(transport_error)?;
        // `http:` needs no certificates, and reading a bundle takes a millisecond.
        if self.clients.kind(url) == Kind::Secure && self.clients.secure.get().is_none() {
            certificates(transport).map_err(transport_error)?;
            let clients = Arc::clone(&self.clients);
            let load_certificates = move || drop(clients.get(Kind::Secure).map(drop));
            // If the thread cannot be spawned, the first request loads them.
            let _ = std::thread::Builder::new()
                .name("certificates".to_owned())
                .spawn(load_certificates);
        }
        Ok(())
    }

    /// Sends a request and waits for the headers of its response.
    pub(crate) async fn send(&self, request: Request) -> Result<Response, Failure> {
        self.send_with(self.clients.kind(&request.url), request).await
    }

    /// Sends a request to an `http:` address without the proxy, and waits for the headers of its
    /// response.
    #[cfg(any(feature = "vertex", feature = "entra"))]
    pub(crate) async fn send_directly(&self, request: Request) -> Result<Response, Failure> {
        self.send_with(Kind::Direct, request).await
    }

    async fn send_with(&self, kind: Kind, request: Request) -> Result<Response, Failure> {
        let client = self
            .clients
            .get(kind)
            .map_err(|reason| Failure::with_reason(FailureReason::BadRequest, reason))?;
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
        };
        let mut builder = client.request(method, request.url).headers(request.headers);
        // An empty body would add a `content-length` to GET requests.
        if !request.body.is_empty() {
            builder = builder.body(request.body);
        }
        let response = builder.send().await.map_err(|error| network_failure(&error))?;
        Ok(Response {
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

/// Describes a network error. Leaves out the URL, because it may contain a key.
pub(crate) fn network_failure(error: &reqwest::Error) -> Failure {
    let what = if error.is_timeout() && error.is_connect() {
        "connecting timed out"
    } else if error.is_connect() {
        "cannot connect"
    } else if error.is_body() || error.is_decode() {
        "the connection broke in the middle of the answer"
    } else {
        "the request could not be sent"
    };
    let mut causes = Vec::new();
    let mut unknown_host = false;
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        unknown_host |= cause.is::<UnknownHost>();
        let text = cause.to_string();
        // Errors of the HTTP stack repeat the text of their cause; the last one says the most.
        if !causes.iter().any(|seen: &String| seen.contains(&text)) {
            causes.push(text);
        }
        source = cause.source();
    }
    let message = match causes.last() {
        None => what.to_owned(),
        Some(cause) => format!("{what}: {cause}"),
    };
    let reason = if unknown_host {
        FailureReason::UnknownHost
    } else if error.is_body() || error.is_decode() {
        FailureReason::Truncated
    } else {
        FailureReason::Connection
    };
    Failure::with_reason(reason, message)
}

fn certificates(transport: &HttpClientOptions) -> Result<Vec<reqwest::Certificate>, String> {
    let mut certificates = Vec::new();
    for file in &transport.certificates {
        let read = reqwest::Certificate::from_pem_bundle(file)
            .map_err(|error| format!("cannot read a certificate: {error}"))?;
        certificates.extend(read);
    }
    Ok(certificates)
}

fn proxy(transport: &HttpClientOptions) -> Result<Option<reqwest::Proxy>, String> {
    let Some(address) = &transport.proxy else { return Ok(None) };
    // Servers on this machine cannot be reached through a proxy.
    let mut direct = "localhost,127.0.0.0/8,::1".to_owned();
    if let Some(more) = &transport.no_proxy {
        direct.push(',');
        direct.push_str(more);
    }
    let proxy = reqwest::Proxy::all(address)
        // reqwest's message is dropped: it repeats the address, which may contain a password.
        .map_err(|_| "the proxy's address is not a valid URL".to_owned())?;
    Ok(Some(proxy.no_proxy(reqwest::NoProxy::from_string(&direct))))
}

fn build(transport: &HttpClientOptions, kind: Kind) -> Result<reqwest::Client, String> {
    // Fails if the program has already installed a provider; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        // A redirect would send the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(transport.connect_timeout)
        .pool_idle_timeout(Duration::from_secs(90))
        // Requests are written in one piece; waiting for more would only delay them.
        .tcp_nodelay(true)
        .dns_resolver(Arc::new(SystemResolver::default()))
        .user_agent(&transport.user_agent);
    builder = match kind {
        Kind::Plain | Kind::Direct => {
            let no_roots = rustls::ClientConfig::builder()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            builder.tls_backend_preconfigured(no_roots)
        }
        Kind::Secure if transport.only_these_certificates => {
            builder.tls_certs_only(certificates(transport)?)
        }
        Kind::Secure => builder.tls_certs_merge(certificates(transport)?),
    };
    if kind != Kind::Direct
        && let Some(proxy) = proxy(transport)?
    {
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| format!("cannot create the HTTP client: {}", error.without_url()))
}
