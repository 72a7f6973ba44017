//! The requests of a login. Documents of the server name their addresses, so every request is checked:
//! where it may be sent, how often, and which authorisation server a document may describe.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, StatusCode};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use robota_core::address::is_private;
use serde_json::Value;
use url::{Host, Url};

/// How long one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// The longest answer, in bytes.
const MAX_BODY: usize = 1024 * 1024;
/// The most documents that are read to find the authorisation server. A server could otherwise name
/// thousands of addresses, each of which would get requests.
const MAX_DOCUMENTS: usize = 40;

/// Sends the requests of the login for one server. Redirects are not followed: a request can have a code
/// or a token.
pub(super) struct LoginRequests {
    client: reqwest::Client,
    addresses: Arc<LoginAddresses>,
    documents: AtomicUsize,
}

impl LoginRequests {
    /// Sends requests of the login for the server at `server`.
    pub(super) fn new(server: &Url) -> Result<Self, String> {
        Self::with_limit(server, REQUEST_LIMIT)
    }

    fn with_limit(server: &Url, limit: Duration) -> Result<Self, String> {
        // Fails only if one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let addresses = Arc::new(LoginAddresses::of(server));
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(limit)
            .dns_resolver(Arc::new(CheckedNames(addresses.clone())))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { client, addresses, documents: AtomicUsize::new(MAX_DOCUMENTS) })
    }

    async fn send(
        &self,
        request: reqwest::Request,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let url = request.url().clone();
        self.addresses.check(&url)?;
        let is_document = request.method() == Method::GET;
        let one_less = |left: usize| left.checked_sub(1);
        // Only documents are counted: the exchange of the code must not fail because of them.
        if is_document
            && self.documents.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err()
        {
            return Err(format!("more than {MAX_DOCUMENTS} documents are named").into());
        }
        let response = self.client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let status = response.status();
        let mut answer = http::Response::builder().status(status).version(response.version());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            // Without the address, which can contain a code.
            let chunk = chunk.map_err(reqwest::Error::without_url)?;
            if body.len() + chunk.len() > MAX_BODY {
                return Err(format!("the answer has more than {MAX_BODY} bytes").into());
            }
            body.extend_from_slice(&chunk);
        }
        if is_document && status == StatusCode::OK {
            check_issuer(&url, &body)?;
        }
        Ok(answer.body(body)?)
    }
}

impl OAuthHttpClient for LoginRequests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { self.send(reqwest::Request::try_from(request.request)?).await })
    }
}

/// Checks that an authorisation server describes only itself. Otherwise one server could claim to be
/// another, and get the codes and tokens that are made for it.
fn check_issuer(url: &Url, body: &[u8]) -> Result<(), String> {
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
    if document.get("token_endpoint").is_none() && document.get("authorization_endpoint").is_none()
    {
        return Ok(());
    }
    let issuer = document.get("issuer").and_then(Value::as_str).unwrap_or_default();
    match Url::parse(issuer) {
        Ok(issuer) if issuer.origin() == url.origin() => Ok(()),
        _ => Err(format!("it describes the authorisation server `{issuer}`, which is another one")),
    }
}

/// Which addresses the login for a server may use.
pub(super) struct LoginAddresses {
    /// Whether the connection to the server is encrypted.
    encrypted: bool,
    /// The server's address, if its name is one or means this machine.
    server: Option<IpAddr>,
    /// The hosts of requests. The client also looks up the names of proxies, which are not checked.
    hosts: Mutex<HashSet<String>>,
}

impl LoginAddresses {
    /// Returns the rules for the server at `server`.
    pub(super) fn of(server: &Url) -> Self {
        let address = match server.host() {
            Some(Host::Domain(name)) if is_this_machine(name) => Some(Ipv4Addr::LOCALHOST.into()),
            Some(host) => address(&host),
            None => None,
        };
        let encrypted = server.scheme() == "https";
        Self { encrypted, server: address, hosts: Mutex::default() }
    }

    /// Checks an address that the server or its authorisation server named.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let Some(host) = url.host().filter(|_| matches!(url.scheme(), "http" | "https")) else {
            return Err(format!("`{}:` is not an address of the web", url.scheme()));
        };
        let named = url.host_str().unwrap_or_default();
        if self.encrypted && url.scheme() != "https" {
            return Err(format!("{named} is not encrypted, but the MCP server is"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("the address of {named} contains credentials"));
        }
        match (address(&host), host) {
            (Some(address), _) if !self.permits(address) => Err(not_public(named)),
            (None, Host::Domain(name)) => {
                if is_this_machine(name) && !self.permits(Ipv4Addr::LOCALHOST.into()) {
                    return Err(not_public(named));
                }
                let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
                hosts.insert(normal(name));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns whether requests may be sent to an address. Those of this machine and of private networks
    /// are for servers that are there themselves; the name of a server is no evidence, since its owner
    /// decides what the name means.
    fn permits(&self, address: IpAddr) -> bool {
        if !is_private(address) {
            return true;
        }
        let address = address.to_canonical();
        self.server.is_some_and(|server| {
            let server = server.to_canonical();
            server == address
                || (server.is_loopback() && address.is_loopback())
                || (is_local(server) && is_local(address))
        })
    }

    fn is_checked(&self, name: &str) -> bool {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).contains(&normal(name))
    }
}

fn not_public(host: &str) -> String {
    format!("{host} is not on the public internet")
}

fn address(host: &Host<&str>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some((*address).into()),
        Host::Ipv6(address) => Some((*address).into()),
    }
}

fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn is_this_machine(name: &str) -> bool {
    let name = normal(name);
    name == "localhost" || name.ends_with(".localhost")
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// Looks up names and leaves out the addresses that the login may not use. The client connects to what
/// this returns, so a name that means something else a moment later changes nothing.
struct CheckedNames(Arc<LoginAddresses>);

impl Resolve for CheckedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.0.clone();
        Box::pin(async move {
            let name = name.as_str();
            let checked = addresses.is_checked(name);
            let found = tokio::net::lookup_host((name, 0)).await?;
            let usable = found.filter(|found| !checked || addresses.permits(found.ip()));
            let usable: Vec<SocketAddr> = usable.collect();
            if usable.is_empty() {
                return Err(not_public(name).into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
