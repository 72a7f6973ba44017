//! Fetching one URL: no redirect to another host, no private address, no more than asked for.

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

const AGENT: &str = concat!("robota/", env!("CARGO_PKG_VERSION"));
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5";
const CONNECT: Duration = Duration::from_secs(10);
/// How long a name is looked up that a proxy will look up anyway.
const LOOK_UP: Duration = Duration::from_secs(3);
const WHOLE: Duration = Duration::from_secs(30);
const MOST_REDIRECTS: usize = 10;

/// A failure to fetch.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The URL cannot be used.
    #[error("`{url}` cannot be fetched: {why}")]
    BadUrl {
        /// As it was given.
        url: String,
        /// Why.
        why: String,
    },
    /// It leads to this machine or the network behind it.
    #[error("{host} is not on the public internet ({address}); no rule allows to fetch from it")]
    Private {
        /// The host.
        host: String,
        /// One of its addresses.
        address: IpAddr,
    },
    /// It redirects for ever.
    #[error("{url} redirects more than {MOST_REDIRECTS} times")]
    Redirects {
        /// Where it began.
        url: String,
    },
    /// The network failed.
    #[error("cannot fetch {url}: {message}")]
    Network {
        /// What was fetched.
        url: String,
        /// What was said.
        message: String,
    },
    /// There is no client.
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
    /// A stable word for each failure.
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

/// What came back.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// Where it really came from.
    pub url: Url,
    /// The redirects on the way, all to the same host.
    pub hops: Vec<Url>,
    /// Another host it redirects to; that is not followed.
    pub elsewhere: Option<Url>,
    /// What it says it is.
    pub content_type: String,
    /// The body, or its start.
    pub body: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
}

/// Fetches. It keeps connections, so one is enough for all.
#[derive(Debug, Default)]
pub struct WebClient {
    proxies: Proxies,
    public: OnceLock<reqwest::Client>,
    any: OnceLock<reqwest::Client>,
}

impl WebClient {
    /// A client; it costs nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same through these proxies.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Fetches a URL, reading at most `most` bytes of the body. Private addresses are refused
    /// after resolution, unless allowed. `headers` go to that host only.
    ///
    /// # Errors
    /// When it cannot be fetched. A status that is no success is no error.
    pub async fn get(
        &self,
        url: &str,
        headers: &HeaderMap,
        most: usize,
        allow_private: bool,
    ) -> Result<Fetched, WebError> {
        let mut url = usable(url)?;
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
                let next = usable(next.as_str())?;
                if same_place(&url, &next) {
                    if hops.len() == MOST_REDIRECTS {
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
                let room = most - body.len();
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
            self.not_behind_proxy(host).await?;
        }
        let client = self.client(allow_private)?;
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED).headers(headers.clone());
        request.send().await.map_err(|error| failed(url, &error))
    }

    /// What a proxy resolves we do not see. A name that is private as far as we know is refused
    /// all the same; one that we cannot resolve is left to the proxy.
    async fn not_behind_proxy(&self, host: &str) -> Result<(), WebError> {
        let looked = tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((host, 0))).await;
        let found = looked.ok().and_then(Result::ok).into_iter().flatten();
        let private = found.map(|found| found.ip()).find(|address| is_private(*address));
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
            .user_agent(AGENT)
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .timeout(WHOLE)
            // The environment is not ours to read: there are the proxies that we were given.
            .no_proxy();
        for proxy in self.proxies.build().map_err(WebError::Client)? {
            builder = builder.proxy(proxy);
        }
        if !allow_private {
            builder = builder.dns_resolver(PublicOnly { proxies: self.proxies.hosts() });
        }
        let client = builder.build().map_err(|error| WebError::Client(chain(&error)))?;
        Ok(slot.get_or_init(|| client))
    }
}

/// Somebody must choose how connections are encrypted; the program usually has.
fn ensure_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Failing means that somebody else just did.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn usable(text: &str) -> Result<Url, WebError> {
    let bad = |why: String| WebError::BadUrl { url: text.to_owned(), why };
    let url = Url::parse(text).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("only http and https are fetched".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it has a name or a password in it".to_owned()));
    }
    if url.host().is_none() {
        return Err(bad("it names no host".to_owned()));
    }
    Ok(url)
}

/// Whether going from one to the other stays with whom the call was judged for: the same host
/// and port, or the same host's encrypted side.
fn same_place(from: &Url, to: &Url) -> bool {
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
        // Such an error does not count what it carries among its causes.
        let carried = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let found = match carried {
            Some(carried) => carried.downcast_ref(),
            None => cause.downcast_ref(),
        };
        if let Some(NotPublic { host, address }) = found {
            return WebError::Private { host: host.clone(), address: *address };
        }
        source = cause.source();
    }
    let message = if error.is_timeout() {
        format!("it took longer than {} s", WHOLE.as_secs())
    } else {
        chain(error)
    };
    WebError::Network { url: url.to_string(), message }
}

/// An error and its causes, without the URL that is said anyway.
fn chain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Resolves names, and fails for those that lead to a private address. What is connected to is
/// what was looked at: there is no second look-up in between.
struct PublicOnly {
    /// But for these.
    proxies: Vec<String>,
}

#[derive(Debug)]
struct NotPublic {
    host: String,
    address: IpAddr,
}

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leads to {}", self.host, self.address)
    }
}

impl std::error::Error for NotPublic {}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let trusted = self.proxies.contains(&host);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let private = found.iter().find(|found| !trusted && is_private(found.ip()));
            if let Some(private) = private {
                return Err(NotPublic { host, address: private.ip() }.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
