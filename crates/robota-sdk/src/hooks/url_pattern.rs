//! Patterns of the setting `allowedHttpHookUrls`.
//!
//! A pattern has a scheme, a host, and optionally a port and a path: `https://hooks.example.com/*`,
//! `http://localhost:8080/check`, `https://*.example.com/*`, `http://localhost:*`. `*` matches any
//! characters *within its part*: in the host it never reaches into the path, so that
//! `https://*.example.com/*` does not match `https://other.org/.example.com/`.

use robota_core::error::{Diagnose, ErrorKind};
use url::Url;

/// A URL pattern that is not valid.
///
/// ```
/// use robota_sdk::hooks::UrlPattern;
///
/// let invalid = UrlPattern::parse("not a url").unwrap_err();
/// assert_eq!(invalid.pattern, "not a url");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a URL pattern ({reason}); write one like `https://hooks.example.com/*`",
    pattern.escape_debug()
)]
pub struct InvalidUrlPattern {
    /// The pattern as the settings have it.
    pub pattern: String,
    /// Why the pattern cannot be used, to complete the message.
    pub reason: &'static str,
}

/// Which URLs HTTP hooks may call.
///
/// ```
/// use robota_sdk::hooks::UrlPattern;
///
/// assert!(UrlPattern::parse("https://hooks.example.com/*").is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    scheme: String,
    host: String,
    port: Port,
    /// With the query; `None` for any.
    path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    Any,
    Number(u16),
}

impl UrlPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// When the scheme, the host or the port is not valid.
    pub fn parse(pattern: &str) -> Result<Self, InvalidUrlPattern> {
        let invalid = |reason| InvalidUrlPattern { pattern: pattern.to_owned(), reason };
        let (scheme, rest) =
            pattern.trim().split_once("://").ok_or_else(|| invalid("it has no scheme"))?;
        let scheme = scheme.to_ascii_lowercase();
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(invalid("its scheme is not http or https")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        // `https://hooks.example.com@other.org/` is a URL of other.org.
        if authority.contains('@') {
            return Err(invalid("it contains a user name"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            // A colon inside of brackets belongs to an IPv6 address.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match port {
            None => Port::Number(default_port),
            Some("*") => Port::Any,
            Some(number) => Port::Number(
                number.parse().map_err(|_| invalid("its port is neither a number nor `*`"))?,
            ),
        };
        let host = if host.contains('*') {
            host.to_ascii_lowercase()
        } else {
            // The host in the form in which it is compared: `127.1` is `127.0.0.1`.
            let url = Url::parse(&format!("{scheme}://{host}/"));
            let url = url.map_err(|_| invalid("its host is not valid"))?;
            url.host_str().ok_or_else(|| invalid("it has no host"))?.to_owned()
        };
        let path = match path {
            // `http://localhost:*` means every path; a plain host means its root only.
            "" if authority.ends_with('*') => None,
            "" => Some("/".to_owned()),
            path => Some(path.to_owned()),
        };
        Ok(Self { scheme, host, port, path })
    }

    /// Returns whether the pattern matches the URL.
    #[must_use]
    pub fn matches(&self, url: &Url) -> bool {
        let port = match self.port {
            Port::Any => true,
            Port::Number(port) => url.port_or_known_default() == Some(port),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        self.scheme == url.scheme()
            && url.host_str().is_some_and(|host| wildcard(&self.host, host))
            && port
            && self.path.as_deref().is_none_or(|pattern| wildcard(pattern, &path))
    }

    /// Returns whether the pattern allows the URL although its host has a private address: it must
    /// name the host without `*`.
    #[must_use]
    pub fn allows_private(&self, url: &Url) -> bool {
        !self.host.contains('*') && self.matches(url)
    }
}

/// Compares a text with a pattern in which `*` matches any characters.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    // The first match of each part is enough: `*` matches everything between, and only the end is
    // fixed.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Diagnose for InvalidUrlPattern {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }
}

#[cfg(test)]
mod tests;
