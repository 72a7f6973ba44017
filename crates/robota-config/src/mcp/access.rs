//! Which MCP servers may be used at all: `allowedMcpServers` and `deniedMcpServers`.
//!
//! The lists come from the user's settings and from the files of the administrator. A server that any of the lists denies is never used. If
//! there is a list of allowed servers, others are not used; with `allowManagedMcpServersOnly` only
//! the administrator's list counts. A checkout can add denials and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::files::read_bounded;
use crate::managed::ManagedFiles;
use crate::places::Places;
use crate::settings::Settings;

/// Selects MCP servers in a list of allowed or denied ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum McpServerMatch {
    /// The server with this name, whatever it runs or connects to.
    #[serde(rename = "serverName")]
    Name(String),
    /// Servers with exactly this program and these arguments.
    #[serde(rename = "serverCommand")]
    Command(Vec<String>),
    /// Servers at addresses of this form; `*` matches any characters within a part of the address.
    #[serde(rename = "serverUrl")]
    Url(String),
}

/// How a server is reached, after variables were replaced.
#[derive(Debug, Clone, Copy)]
pub enum Reached<'a> {
    /// By starting a program with arguments.
    Command(&'a str, &'a [String]),
    /// At an address, with variables replaced.
    Url(&'a str),
    /// In the program that started this one.
    Host,
}

/// The list that an entry is in. Where it is not clear whether an entry means a server, it is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Allowed,
    Denied,
}

impl McpServerMatch {
    fn covers(&self, name: &str, reached: Reached<'_>, list: List) -> bool {
        match (self, reached) {
            (Self::Name(wanted), _) => wanted == name,
            (Self::Command(wanted), Reached::Command(program, args)) => {
                // Exactly: with other arguments most programs do something else.
                wanted.split_first().is_some_and(|(first, rest)| first == program && rest == args)
            }
            (Self::Url(pattern), Reached::Url(url)) => is_at(pattern, url, list),
            _ => false,
        }
    }
}

/// What the administrator decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Managed {
    allowed_mcp_servers: Option<Vec<McpServerMatch>>,
    denied_mcp_servers: Vec<McpServerMatch>,
    allow_managed_mcp_servers_only: bool,
}

/// Which servers may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpAccess {
    allowed: Option<Vec<McpServerMatch>>,
    denied: Vec<McpServerMatch>,
    /// The administrator's file cannot be read, so nothing is allowed.
    broken: Option<String>,
}

impl McpAccess {
    /// Reads the lists of the settings and of the administrator's file.
    #[must_use]
    pub fn load(places: &Places, settings: &Settings) -> Self {
        let managed = match managed(places) {
            Ok(managed) => managed,
            Err(problem) => return Self { broken: Some(problem), ..Self::default() },
        };
        let own = settings.values.allowed_mcp_servers.clone();
        let own = own.filter(|_| !managed.allow_managed_mcp_servers_only);
        let allowed = match (managed.allowed_mcp_servers, own) {
            // "Managed only" without a list of the administrator allows nothing.
            (None, own) => own.or(managed.allow_managed_mcp_servers_only.then(Vec::new)),
            // Both lists together: the user may allow more, unless the administrator forbids that.
            (Some(managed), own) => Some([managed, own.unwrap_or_default()].concat()),
        };
        let mut denied = managed.denied_mcp_servers;
        denied.extend(settings.values.denied_mcp_servers.clone().unwrap_or_default());
        Self { allowed, denied, broken: None }
    }

    /// Returns why a server may not be used; none if it may.
    #[must_use]
    pub fn refusal(&self, name: &str, reached: Reached<'_>) -> Option<String> {
        if let Some(problem) = &self.broken {
            return Some(problem.clone());
        }
        if self.denied.iter().any(|denied| denied.covers(name, reached, List::Denied)) {
            return Some("it is in `deniedMcpServers`".to_owned());
        }
        // Without a list everything is allowed that is not denied.
        let allowed = self.allowed.as_ref()?;
        // Where programs or addresses are listed, a name is not enough: a checkout can give any
        // name to a server.
        let is_command = |it: &&McpServerMatch| matches!(it, McpServerMatch::Command(_));
        let is_url = |it: &&McpServerMatch| matches!(it, McpServerMatch::Url(_));
        let of_kind: Vec<_> = match reached {
            Reached::Command(..) => allowed.iter().filter(is_command).collect(),
            Reached::Url(_) => allowed.iter().filter(is_url).collect(),
            Reached::Host => Vec::new(),
        };
        let list = if of_kind.is_empty() { allowed.iter().collect() } else { of_kind };
        let covered = list.into_iter().any(|it| it.covers(name, reached, List::Allowed));
        (!covered).then(|| "it is not in `allowedMcpServers`".to_owned())
    }
}

fn managed(places: &Places) -> Result<Managed, String> {
    let mut all = Managed::default();
    let files = ManagedFiles::settings(places);
    if let Some((path, reason)) = files.unreadable.first() {
        return Err(format!("{}: {reason}", path.display()));
    }
    for file in files.settings {
        let failed = |why: String| format!("{}: {why}", file.display());
        let content = read_bounded(&file).map_err(|error| failed(error.to_string()))?;
        let Some(content) = content else { continue };
        // Strict, unlike the files of users: one that is not valid JSON allows nothing.
        let read: Managed =
            serde_json::from_slice(&content).map_err(|error| failed(error.to_string()))?;
        all.allowed_mcp_servers = match (all.allowed_mcp_servers, read.allowed_mcp_servers) {
            (Some(earlier), Some(later)) => Some([earlier, later].concat()),
            (earlier, later) => earlier.or(later),
        };
        all.denied_mcp_servers.extend(read.denied_mcp_servers);
        all.allow_managed_mcp_servers_only |= read.allow_managed_mcp_servers_only;
    }
    Ok(all)
}

/// Returns whether an address has the form of a pattern. Each part is compared for itself, so that a
/// `*` in the host does not reach into the path.
fn is_at(pattern: &str, address: &str, list: List) -> bool {
    let Ok(address) = Url::parse(address) else { return false };
    let Some((scheme, rest)) = pattern.split_once("://") else { return false };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/*"),
    };
    let host = address.host_str().unwrap_or_default();
    let port = address.port_or_known_default().unwrap_or_default().to_string();
    let authority = match split_port(authority) {
        (wanted, Some(wanted_port)) => is_like(wanted, host) && is_like(wanted_port, &port),
        // A pattern without a port allows the usual port of the scheme, and denies the host.
        (wanted, None) => {
            is_like(wanted, host) && (address.port().is_none() || list == List::Denied)
        }
    };
    // An address with a user name could look like another host to people.
    let plain = address.username().is_empty() && address.password().is_none();
    is_like(scheme, address.scheme())
        && authority
        && (plain || list == List::Denied)
        && is_like(path, address.path())
}

/// Splits `host:port`. The colons in an IPv6 address, which has brackets, are not those of a port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    let after_host = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_host..].rfind(':') {
        Some(at) => (&authority[..after_host + at], Some(&authority[after_host + at + 1..])),
        None => (authority, None),
    }
}

/// Returns whether a text has the form of a pattern with `*`.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.split_at(at + part.len()).1;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
