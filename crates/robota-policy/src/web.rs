//! Matches hosts: the patterns of `WebFetch(domain:…)`, and the host of a URL.

use std::net::IpAddr;

use url::{Host, Url};

use crate::glob::Wild;

/// A pattern over the host (and, in the older dialect, the path) of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostPattern {
    /// `domain:*`
    Any,
    /// `domain:docs.rs`: this host alone.
    Exact(String),
    /// `domain:*.docs.rs`: hosts below it, not itself.
    Below(String),
    /// `*` in another place matches within one label.
    Labels(Vec<Wild>),
    /// `https://docs.rs/serde/*`
    Url { origin: url::Origin, path: Wild },
}

impl HostPattern {
    pub(crate) fn new(spec: &str) -> Result<Self, String> {
        match spec.strip_prefix("domain:") {
            Some(domain) => Self::domain(domain.trim()),
            None if spec.starts_with("http://") || spec.starts_with("https://") => Self::url(spec),
            None => Err("write WebFetch(domain:example.com)".into()),
        }
    }

    fn domain(domain: &str) -> Result<Self, String> {
        if domain == "*" {
            return Ok(Self::Any);
        }
        if domain.contains(['/', '@', '?', '#', '\\']) || domain.contains("://") {
            return Err("a domain is a host name alone, without scheme, user or path".into());
        }
        if let Some(below) = domain.strip_prefix("*.")
            && !below.contains('*')
        {
            return Ok(Self::Below(canonical_host(below)?));
        }
        if domain.contains('*') {
            let labels: Vec<&str> = domain.trim_end_matches('.').split('.').collect();
            if labels.iter().any(|label| label.is_empty()) {
                return Err("it has an empty label".into());
            }
            return Ok(Self::Labels(
                labels.iter().map(|label| Wild::new(&label.to_lowercase())).collect(),
            ));
        }
        Ok(Self::Exact(canonical_host(domain)?))
    }

    fn url(spec: &str) -> Result<Self, String> {
        let fixed = spec.split('*').next().unwrap_or_default();
        let after_scheme = fixed.split_once("://").map_or("", |(_, rest)| rest);
        if spec.contains('*') && !after_scheme.contains('/') {
            return Err("the host must be spelled out and followed by `/` before any `*`".into());
        }
        let url = Url::parse(fixed).map_err(|e| format!("it is no URL: {e}"))?;
        let path_start = spec.find("://").and_then(|i| spec[i + 3..].find('/').map(|j| i + 3 + j));
        let path = path_start.map_or("/*", |i| &spec[i..]);
        Ok(Self::Url { origin: url.origin(), path: Wild::new(path) })
    }

    /// Returns whether it names this address of the URL's host, not just a domain that leads there.
    pub(crate) fn names_address(&self, target: &Target, address: IpAddr) -> bool {
        match self {
            Self::Any | Self::Below(_) | Self::Labels(_) => false,
            Self::Exact(host) => names_address(host, target, address),
            Self::Url { origin, .. } => {
                let url::Origin::Tuple(_, host, _) = origin else { return false };
                self.matches(target) && names_address(&host_text(host), target, address)
            }
        }
    }

    pub(crate) fn matches(&self, target: &Target) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(host) => *host == target.host,
            Self::Below(host) => {
                target.host.strip_suffix(host.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            Self::Labels(labels) => {
                let names: Vec<&str> = target.host.split('.').collect();
                !target.is_address
                    && names.len() == labels.len()
                    && labels.iter().zip(names).all(|(wild, name)| wild.matches(name))
            }
            Self::Url { origin, path } => *origin == target.origin && path.matches(&target.path),
        }
    }
}

/// Returns whether a rule that names this host names the address: it is that address, or
/// `localhost` for a URL of `localhost`.
fn names_address(host: &str, target: &Target, address: IpAddr) -> bool {
    let named = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match named {
        Ok(named) => named.to_canonical() == address.to_canonical(),
        Err(_) => {
            host == "localhost" && target.host == host && address.to_canonical().is_loopback()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The host a client connects to: lower case, no trailing dot, punycode, addresses in
    /// their usual form.
    pub(crate) host: String,
    is_address: bool,
    origin: url::Origin,
    path: String,
}

impl Target {
    /// Reads a URL as an HTTP client does. An error says why it cannot be fetched.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|e| format!("`{text}` is no URL: {e}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{}:` is not fetched; only http and https are", url.scheme()));
        }
        let host = url.host().ok_or_else(|| format!("`{text}` has no host"))?;
        let is_address = !matches!(host, Host::Domain(_));
        let host = host_text(&host);
        if host.is_empty() {
            return Err(format!("`{text}` has no host"));
        }
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        Ok(Self { host, is_address, origin: url.origin(), path })
    }
}

fn canonical_host(host: &str) -> Result<String, String> {
    let host = host.trim_end_matches('.');
    // IPv6 comes with brackets, as it does in a URL; a port is no part of a domain.
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err("a domain has no port".into());
    }
    match Host::parse(host) {
        Ok(host) => Ok(host_text(&host)),
        Err(e) => Err(format!("`{host}` is no host name: {e}")),
    }
}

/// Returns a host in the form in which it is compared. An IPv4 address inside of IPv6 becomes the
/// IPv4 one.
fn host_text<S: AsRef<str>>(host: &Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => format!("[{address}]"),
        },
    }
}

#[cfg(test)]
mod tests;
