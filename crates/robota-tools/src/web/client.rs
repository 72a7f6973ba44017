//! Fetches one URL. Does not follow redirects to another host, does not connect to private addresses
//! without permission, and limits the size of the body.

use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use robota_core::error::{Diagnose, ErrorKind};
use url::{Host, Url};

use super::address::is_private;
use super::proxy::Proxies;

const USER_AGENT: &str = concat!("robota/", env!("CARGO_PKG_VERSION"));
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a DNS lookup that the proxy repeats.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 10;

/// Why a URL could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The URL is not valid for fetching.
    #[error("`{url}` cannot be fetched: {why}")]
    BadUrl {
        /// The URL as it was given.
        url: String,
        /// The reason.
        why: String,
    },
    /// The host has a private address, and no rule allows it.
    #[error(
        "{host} is not on the public internet ({address}), and no rule allows fetching from it"
    )]
    Private {
        /// The host.
        host: String,
        /// Its private address.
        address: IpAddr,
    },
    /// There were too many redirects.
    #[error("{url} redirects more than {MAX_REDIRECTS} times")]
    Redirects {
        /// The first URL.
        url: String,
    },
    /// The request failed.
    #[error("cannot fetch {url}: {message}")]
    Network {
        /// The URL of the request.
        url: String,
        /// The error message.
        message: String,
    },
    /// The HTTP client could not be created.
    #[error("cannot use the network: {0}")]
    Client(String),
}

impl Diagnose for WebError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BadUrl { .. } | Self::Redirects { .. } => ErrorKind::Validation,
            Self::Private { .. } => ErrorKind::ToolExecution,
            Self::Network { .. } => ErrorKind::Network,
            Self::Client(_) => ErrorKind::Configuration,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Private { host, .. } => {
                Some(format!("a user can allow it with the rule WebFetch(domain:{host})"))
            }
            _ => None,
        }
    }
}

impl WebError {
    /// Returns a stable code for each kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadUrl { .. } => "bad_url",
            Self::Private { .. } => "private_address",
            Self::Redirects { .. } => "too_many_redirects",
            Self::Network { .. } => "network",
            Self::Client(_) => "no_client",
        }
    }
}

/// The response to a request.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The HTTP status.
    pub status: u16,
    /// The URL of the last request, after redirects.
    pub url: Url,
    /// The URLs before the redirects that were followed, all on the same host.
    pub hops: Vec<Url>,
    /// The target of a redirect to another host, which was not followed.
    pub elsewhere: Option<Url>,
    /// The `Content-Type` header; empty if absent.
    pub content_type: String,
    /// The body, up to the limit.
    pub body: Vec<u8>,
    /// Whether the body was longer than the limit.
    pub cut: bool,
}

/// An HTTP client that keeps connections open. Share one client for all requests.
#[derive(Debug, Default)]
pub struct WebClient {
    proxies: Proxies,
    public: OnceLock<reqwest::Client>,
    any: OnceLock<reqwest::Client>,
}

impl WebClient {
    /// Creates a client. The connections are set up with the first request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the proxies.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Fetches a URL and reads at most `max_bytes` of the body. Private addresses are rejected after
    /// the DNS lookup, unless `allow_private` is set. `headers` are sent only to that host.
    ///
    /// # Errors
    /// If the URL cannot be fetched. An HTTP error status is not an error.
    pub async fn get(
        &self,
        url: &str,
        headers: &HeaderMap,
        max_bytes: usize,
        allow_private: bool,
    ) -> Result<Fetched, WebError> {
        let mut url = parse_url(url)?;
        let mut hops = Vec::new();
        loop {
            let mut response = self.send(&url, headers, allow_private).await?;
            let status = response.status();
            let next = response
                .headers()
                .get(LOCATION)
                .filter(|_| status.is_redirection())
                .and_then(|location| url.join(location.to_str().ok()?).ok());
            if let Some(next) = next {
                let next = parse_url(next.as_str())?;
                if same_origin(&url, &next) {
                    if hops.len() == MAX_REDIRECTS {
                        let url = hops.first().unwrap_or(&url).to_string();
                        return Err(WebError::Redirects { url });
                    }
                    hops.push(std::mem::replace(&mut url, next));
                    continue;
                }
                return Ok(Fetched {
                    status: status.as_u16(),
                    url,
                    hops,
                    elsewhere: Some(next),
                    content_type: String::new(),
                    body: Vec::new(),
                    cut: false,
                });
            }
            let content_type = response.headers().get(CONTENT_TYPE);
            let content_type = content_type.and_then(|value| value.to_str().ok());
            let content_type = content_type.unwrap_or_default().to_owned();
            let (mut body, mut cut) = (Vec::new(), false);
            while let Some(chunk) = response.chunk().await.map_err(|error| failed(&url, &error))? {
                let room = max_bytes - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    cut = true;
                    break;
                }
            }
            let status = status.as_u16();
            return Ok(Fetched { status, url, hops, elsewhere: None, content_type, body, cut });
        }
    }

    async fn send(
        &self,
        url: &Url,
        headers: &HeaderMap,
        allow_private: bool,
    ) -> Result<reqwest::Response, WebError> {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) | None => None,
        };
        if let Some(address) = literal.filter(|address| !allow_private && is_private(*address)) {
            return Err(WebError::Private { host: address.to_string(), address });
        }
        if let (Some(Host::Domain(host)), false) = (url.host(), allow_private)
            && !self.proxies.is_empty()
        {
            self.check_proxied_host(host).await?;
        }
        let client = self.client(allow_private)?;
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED).headers(headers.clone());
        request.send().await.map_err(|error| failed(url, &error))
    }

    /// Rejects a host whose local DNS lookup returns a private address. The lookup of the proxy is
    /// not visible here; a name that cannot be resolved locally is left to the proxy.
    async fn check_proxied_host(&self, host: &str) -> Result<(), WebError> {
        let lookup = tokio::time::timeout(LOOKUP_TIMEOUT, tokio::net::lookup_host((host, 0))).await;
        let addresses = lookup.ok().and_then(Result::ok).into_iter().flatten();
        let private = addresses.map(|address| address.ip()).find(|address| is_private(*address));
        match private {
            Some(address) => Err(WebError::Private { host: host.to_owned(), address }),
            None => Ok(()),
        }
    }

    fn client(&self, allow_private: bool) -> Result<&reqwest::Client, WebError> {
        let slot = if allow_private { &self.any } else { &self.public };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        ensure_tls();
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            // The client must not read the environment: only the given proxies are used.
            .no_proxy();
        for proxy in self.proxies.build().map_err(WebError::Client)? {
            builder = builder.proxy(proxy);
        }
        if !allow_private {
            builder = builder.dns_resolver(PublicOnly { proxies: self.proxies.hosts() });
        }
        let client = builder.build().map_err(|error| WebError::Client(root_cause(&error)))?;
        Ok(slot.get_or_init(|| client))
    }
}

/// Installs a TLS provider if the program has not chosen one.
fn ensure_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread has installed one in the meantime.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn parse_url(text: &str) -> Result<Url, WebError> {
    let invalid = |why: String| WebError::BadUrl { url: text.to_owned(), why };
    let url = Url::parse(text).map_err(|error| invalid(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("only http and https URLs can be fetched".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("it contains a user name or a password".to_owned()));
    }
    if url.host().is_none() {
        return Err(invalid("it has no host".to_owned()));
    }
    Ok(url)
}

/// Returns whether a redirect stays on the host that the gate has judged: the same host and port, or
/// the same host with https instead of http.
fn same_origin(from: &Url, to: &Url) -> bool {
    let upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port().is_none()
        && to.port().is_none();
    from.host() == to.host()
        && (upgrade
            || (from.scheme() == to.scheme()
                && from.port_or_known_default() == to.port_or_known_default()))
}

fn failed(url: &Url, error: &reqwest::Error) -> WebError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        // `source` of an `io::Error` skips the error that it wraps.
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let not_public = match wrapped {
            Some(wrapped) => wrapped.downcast_ref(),
            None => cause.downcast_ref(),
        };
        if let Some(NotPublic { host, address }) = not_public {
            return WebError::Private { host: host.clone(), address: *address };
        }
        source = cause.source();
    }
    let message = if error.is_timeout() {
        format!("timed out after {} s", REQUEST_TIMEOUT.as_secs())
    } else {
        root_cause(error)
    };
    WebError::Network { url: url.to_string(), message }
}

/// Returns the message of the innermost cause. The outer messages repeat the URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// A DNS resolver that fails for names with a private address. The client connects to exactly the
/// addresses that were checked: there is no second lookup that could return others.
struct PublicOnly {
    /// The host names of proxies, which may have private addresses.
    proxies: Vec<String>,
}

#[derive(Debug)]
struct NotPublic {
    host: String,
    address: IpAddr,
}

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} resolves to {}", self.host, self.address)
    }
}

impl std::error::Error for NotPublic {}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let trusted = self.proxies.contains(&host);
        Box::pin(async move {
            let addresses: Vec<_> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let private = addresses.iter().find(|address| !trusted && is_private(address.ip()));
            if let Some(private) = private {
                return Err(NotPublic { host, address: private.ip() }.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
