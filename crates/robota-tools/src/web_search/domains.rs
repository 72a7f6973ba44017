//! The domains that a search is limited to.

use robota_core::tool::InvalidInput;
use url::Url;

/// The most domains of one call. Services limit the length of a query.
const MAX_DOMAINS: usize = 20;
/// The most results that services return for one query.
const MAX_WANTED: usize = 20;

/// The domains that results must and must not have.
#[derive(Debug, Default)]
pub(super) struct Domains {
    allowed: Vec<String>,
    blocked: Vec<String>,
}

impl Domains {
    /// Checks the arguments of a call. An empty list is the same as none.
    pub(super) fn new(
        allowed: Option<Vec<String>>,
        blocked: Option<Vec<String>>,
    ) -> Result<Self, InvalidInput> {
        let domains = |given: Option<Vec<String>>| -> Result<Vec<String>, InvalidInput> {
            let given = given.unwrap_or_default();
            if given.len() > MAX_DOMAINS {
                return Err(InvalidInput(format!("at most {MAX_DOMAINS} domains")));
            }
            given.iter().map(|domain| host_name(domain)).collect()
        };
        Ok(Self { allowed: domains(allowed)?, blocked: domains(blocked)? })
    }

    /// Adds the domains to a query, in the syntax that search services share. Services may ignore
    /// it, so the results are filtered as well.
    pub(super) fn query(&self, query: &str) -> String {
        let allowed: Vec<_> = self.allowed.iter().map(|domain| format!("site:{domain}")).collect();
        let blocked = self.blocked.iter().map(|domain| format!("-site:{domain}"));
        let allowed = (!allowed.is_empty()).then(|| allowed.join(" OR "));
        let parts: Vec<_> = [query.to_owned()].into_iter().chain(allowed).chain(blocked).collect();
        parts.join(" ")
    }

    /// Returns how many results to ask for: more than needed if some may be left out.
    pub(super) fn wanted(&self, limit: usize) -> usize {
        let filtered = !self.allowed.is_empty() || !self.blocked.is_empty();
        if filtered { limit.max(MAX_WANTED) } else { limit }
    }

    /// Returns whether a result may be shown.
    pub(super) fn allow(&self, url: &str) -> bool {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let within = |domains: &[String]| {
            host.as_deref().is_some_and(|host| domains.iter().any(|domain| is_below(host, domain)))
        };
        (self.allowed.is_empty() || within(&self.allowed)) && !within(&self.blocked)
    }
}

/// Returns whether a host is a domain or one of its subdomains.
fn is_below(host: &str, domain: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the host of a domain as models write it: `example.com`, `*.example.com`,
/// `https://example.com/`.
fn host_name(domain: &str) -> Result<String, InvalidInput> {
    let text = domain.trim();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.split('/').next().unwrap_or_default();
    let text = text.strip_prefix("*.").unwrap_or(text).trim_matches('.');
    let invalid = || InvalidInput(format!("`{domain}` is not a domain, such as example.com"));
    let url = Url::parse(&format!("http://{text}/")).map_err(|_| invalid())?;
    match url.host_str() {
        Some(host) if url.username().is_empty() && url.password().is_none() => Ok(host.to_owned()),
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests;
