//! Fetches one URL. Does not follow redirects to another host, does not connect to private addresses
//! without permission, and limits the size of the body.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::Method;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use robota_core::address::is_private;
use robota_core::error::{Diagnose, ErrorKind};
use url::{Host, Url};

use super::proxy::Proxies;

const USER_AGENT: &str = concat!("robota/", env!("CARGO_PKG_VERSION"));
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// A hook may take this long. Its caller ends it earlier.
const POST_TIMEOUT: Duration = Duration::from_secs(3_600);
const MAX_REDIRECTS: usize = 10;

/// Why a URL could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// The URL is not valid for fetching.
    #[error("`{url}` cannot be fetched: {why}")]
    BadUrl {
        /// The URL as it was given.
        url: String,
        /// The reason, for people.
        why: String,
    },
    /// The host has a private address, and no rule allows it.
    #[error(
        "{host} is not on the public internet ({address}), and no rule allows fetching from it"
    )]
    Private {
        /// The name of the host; for an address in the URL that address.
        host: String,
        /// Its private address, or the first of them.
        address: IpAddr,
    },
    /// There were too many redirects.
    #[error("{url} redirects more than {MAX_REDIRECTS} times")]
    Redirects {
        /// The URL of the first request.
        url: String,
    },
    /// The request failed, or its response could not be read.
    #[error("cannot fetch {url}: {message}")]
    Network {
        /// The URL of the request.
        url: String,
        /// The innermost cause, without the URL.
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
            Self::Private { address, .. } => {
                let host = match address {
                    IpAddr::V4(address) => address.to_string(),
                    IpAddr::V6(address) => format!("[{address}]"),
                };
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

/// Holds the response to a request.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The HTTP status of the last response.
    pub status: u16,
    /// The URL of the last request, after redirects.
    pub url: Url,
    /// The URLs before the redirects that were followed, all on the same host.
    pub hops: Vec<Url>,
    /// The target of a redirect to another host, which was not followed.
    pub redirect_to: Option<Url>,
    /// The `Content-Type` header; empty if absent.
    pub content_type: String,
    /// The body, up to the limit.
    pub body: Vec<u8>,
    /// Whether the body was longer than the limit.
    pub cut: bool,
}

/// Describes a request of any method.
#[derive(Debug)]
pub struct WebRequest<'a> {
    /// The method, with which redirects are never followed.
    pub method: Method,
    /// The URL, without user and password.
    pub url: &'a str,
    /// The headers, as they are sent.
    pub headers: HeaderMap,
    /// The body; none for methods without one.
    pub body: Option<String>,
    /// How long the request may take, with reading the response.
    pub timeout: Duration,
}

/// An HTTP client that keeps connections open. Share one client for all requests.
#[derive(Debug, Default)]
pub struct WebClient {
    proxies: Proxies,
    client: OnceLock<reqwest::Client>,
    resolver: CheckedAddresses,
}

/// Decides whether a URL may be fetched from a private address.
pub type AllowPrivate<'a> = &'a (dyn Fn(&Url, IpAddr) -> bool + Send + Sync);

impl WebClient {
    /// Creates a client. The connections are set up with the first request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the proxies through which the client connects.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Fetches a URL and reads at most `max_bytes` of the body. The addresses of its host are looked
    /// up; private ones are rejected unless `allow_private` allows them. The client connects only to
    /// the addresses that were checked. `headers` are sent only to that host.
    ///
    /// # Errors
    /// If the URL cannot be fetched. An HTTP error status is not an error.
    pub async fn get(
        &self,
        url: &str,
        headers: &HeaderMap,
        max_bytes: usize,
        allow_private: AllowPrivate<'_>,
    ) -> Result<Fetched, WebError> {
        let mut url = parse_url(url)?;
        let mut hops = Vec::new();
        loop {
            let mut response = self.send(&url, headers, allow_private).await?;
            let status = response.status();
            if let Some(next) = redirect(&url, &response) {
                // The target is checked like any other URL: a server could redirect to a file or to
                // a password.
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
                    redirect_to: Some(next),
                    content_type: String::new(),
                    body: Vec::new(),
                    cut: false,
                });
            }
            let (content_type, (body, cut)) =
                (content_type(&response), read_body(&url, &mut response, max_bytes).await?);
            let status = status.as_u16();
            return Ok(Fetched { status, url, hops, redirect_to: None, content_type, body, cut });
        }
    }

    /// Sends JSON to a URL and reads at most `max_bytes` of the response. Addresses are checked as
    /// for [`get`](Self::get). No redirect is followed: the response has its target in `redirect_to`.
    /// The caller limits the time by dropping the future.
    ///
    /// # Errors
    /// If the request cannot be sent. An HTTP error status is not an error.
    pub async fn post_json(
        &self,
        url: &str,
        headers: &HeaderMap,
        json: String,
        max_bytes: usize,
        allow_private: AllowPrivate<'_>,
    ) -> Result<Fetched, WebError> {
        let mut headers = headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request = WebRequest {
            method: Method::POST,
            url,
            headers,
            body: Some(json),
            timeout: POST_TIMEOUT,
        };
        self.request(request, max_bytes, allow_private).await
    }

    /// Sends a request and reads at most `max_bytes` of the response. Addresses are checked as for
    /// [`get`](Self::get). No redirect is followed: the response has its target in `redirect_to`.
    ///
    /// # Errors
    /// If the request cannot be sent. An HTTP error status is not an error.
    pub async fn request(
        &self,
        request: WebRequest<'_>,
        max_bytes: usize,
        allow_private: AllowPrivate<'_>,
    ) -> Result<Fetched, WebError> {
        let WebRequest { method, url, headers, body, timeout } = request;
        let url = parse_url(url)?;
        self.check_addresses(&url, allow_private).await?;
        let mut request = self.client()?.request(method, url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let sent = request.timeout(timeout).send().await;
        let mut response = sent.map_err(|error| failed(&url, &error))?;
        let redirect_to = redirect(&url, &response);
        let (body, cut) = match redirect_to {
            Some(_) => (Vec::new(), false),
            None => read_body(&url, &mut response, max_bytes).await?,
        };
        let (status, content_type) = (response.status().as_u16(), content_type(&response));
        Ok(Fetched { status, url, hops: Vec::new(), redirect_to, content_type, body, cut })
    }

    async fn send(
        &self,
        url: &Url,
        headers: &HeaderMap,
        allow_private: AllowPrivate<'_>,
    ) -> Result<reqwest::Response, WebError> {
        self.check_addresses(url, allow_private).await?;
        let client = self.client()?;
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED).headers(headers.clone());
        request.send().await.map_err(|error| failed(url, &error))
    }

    /// Looks up the addresses of the URL's host and rejects private ones that are not allowed. The
    /// others are recorded for the connection: there is no second lookup that could return others.
    async fn check_addresses(
        &self,
        url: &Url,
        allow_private: AllowPrivate<'_>,
    ) -> Result<(), WebError> {
        let forbidden = |address: IpAddr| is_private(address) && !allow_private(url, address);
        let host = match url.host() {
            Some(Host::Domain(host)) => host,
            Some(Host::Ipv4(address)) => return reject(address.into(), forbidden),
            Some(Host::Ipv6(address)) => return reject(address.into(), forbidden),
            None => return Ok(()),
        };
        let lookup = tokio::net::lookup_host((host, 0));
        let addresses: Vec<SocketAddr> = match tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await {
            Ok(Ok(addresses)) => addresses.collect(),
            // A name that is not known here is left to the proxy, whose lookup is not visible here.
            _ if !self.proxies.is_empty() => return Ok(()),
            Ok(Err(error)) => {
                let message = error.to_string();
                return Err(WebError::Network { url: url.to_string(), message });
            }
            Err(_) => {
                let message = "the lookup of its host timed out".to_owned();
                return Err(WebError::Network { url: url.to_string(), message });
            }
        };
        // One private address is enough: the connection chooses among all of them.
        if let Some(private) = addresses.iter().find(|address| forbidden(address.ip())) {
            return Err(WebError::Private { host: host.to_owned(), address: private.ip() });
        }
        // The connection uses these addresses and no others: a second lookup could give another
        // answer.
        self.resolver.record(host, addresses);
        Ok(())
    }

    fn client(&self) -> Result<&reqwest::Client, WebError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        ensure_tls();
        let resolver = self.resolver.clone().also(self.proxies.hosts());
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            // Redirects are followed in `get`, where each target is checked.
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .dns_resolver(resolver)
            // The client must not read the environment: only the given proxies are used.
            .no_proxy();
        for proxy in self.proxies.build().map_err(WebError::Client)? {
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| WebError::Client(root_cause(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Returns the target of a redirect.
fn redirect(url: &Url, response: &reqwest::Response) -> Option<Url> {
    let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
    location.and_then(|location| url.join(location.to_str().ok()?).ok())
}

fn content_type(response: &reqwest::Response) -> String {
    let header = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    header.unwrap_or_default().to_owned()
}

/// Reads at most `max_bytes` of a body; returns also whether there is more.
async fn read_body(
    url: &Url,
    response: &mut reqwest::Response,
    max_bytes: usize,
) -> Result<(Vec<u8>, bool), WebError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(url, &error))? {
        let room = max_bytes - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            // The rest is not read: it may have no end.
            return Ok((body, true));
        }
    }
    Ok((body, false))
}

fn reject(address: IpAddr, forbidden: impl Fn(IpAddr) -> bool) -> Result<(), WebError> {
    match forbidden(address) {
        true => Err(WebError::Private { host: address.to_string(), address }),
        false => Ok(()),
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

/// The addresses that were checked, as a DNS resolver. It looks up only the names of proxies, which
/// may have private addresses.
#[derive(Debug, Clone, Default)]
struct CheckedAddresses {
    checked: Arc<Mutex<HashMap<String, Vec<SocketAddr>>>>,
    proxies: Arc<[String]>,
}

impl CheckedAddresses {
    fn also(self, proxies: Vec<String>) -> Self {
        Self { proxies: proxies.into(), ..self }
    }

    fn record(&self, host: &str, addresses: Vec<SocketAddr>) {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        checked.insert(host.to_owned(), addresses);
    }
}

impl Resolve for CheckedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checked.get(&host).cloned();
        let proxy = self.proxies.contains(&host);
        Box::pin(async move {
            let addresses = match known {
                Some(addresses) => addresses,
                None if proxy => tokio::net::lookup_host((host.as_str(), 0)).await?.collect(),
                // No lookup here: its answer would not be checked.
                None => return Err(format!("the addresses of {host} were not checked").into()),
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
