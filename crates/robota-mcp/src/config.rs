//! The configuration of one server: an entry of `mcpServers`.

mod expand;
mod shown;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use expand::Expander;

/// Calls with a shorter time limit than this would always fail.
// A smaller number is probably meant as seconds; the unit is milliseconds.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A program with the transport standard input and output.
    Stdio {
        /// The program, as a path or as a name to search for in `PATH`.
        command: String,
        /// The arguments that the program gets, without a shell; variables are replaced.
        args: Vec<String>,
        /// Variables that are added to its environment.
        env: BTreeMap<String, String>,
    },
    /// An address with the transport streamable HTTP.
    Http(HttpEndpoint),
    /// An address with the older transport, HTTP with server-sent events.
    Sse(HttpEndpoint),
    /// The program that started this one and talks to it over stream-json.
    Host,
}

/// Holds an address with the headers of its requests.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HttpEndpoint {
    /// The address that requests go to, with variables replaced.
    pub url: String,
    /// Headers of every request, with variables replaced. They may contain keys.
    pub headers: BTreeMap<String, String>,
    /// A command that prints more headers as a JSON object.
    pub headers_helper: Option<String>,
}

/// How a client registers with the authorisation server of a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuthConfig {
    /// The id of a client that the user registered.
    pub client_id: Option<String>,
    /// The secret of that client; none for a public client.
    pub client_secret: Option<String>,
    /// The address of a document that describes the client, for authorisation servers that read such
    /// documents instead of a registration.
    pub client_metadata_url: Option<String>,
    /// The port of the redirect address; none takes a free one.
    pub callback_port: Option<u16>,
    /// The scopes to ask for; those that the server names if there are none.
    pub scopes: Vec<String>,
}

/// Which versions of the protocol are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Versions with a handshake only (`initialize`).
    Legacy,
    /// The handshake first; a program that refuses it is started again, and asked which versions it
    /// supports.
    HandshakeFirst,
    /// Asks which versions the server supports, then falls back to the handshake.
    Auto,
    /// Versions without a handshake only. A server that knows none of them cannot be used.
    Modern,
}

/// Says how a server is reached or started.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The key of the entry; it becomes part of the names of tools.
    pub name: String,
    /// What is started or connected to; it decides which of the other fields count.
    pub endpoint: Endpoint,
    /// How long a call may take, in total; none uses the default limits.
    pub timeout: Option<Duration>,
    /// Whether its tools are always offered instead of being found by a search.
    pub always_load: bool,
    /// Whether the first request waits for a moment until its tools are known: it was named for this run.
    pub named_for_run: bool,
    /// Whether it may use the model of the user, if the user or a rule agrees.
    pub sampling: bool,
    /// How to register for a login; all optional.
    pub oauth: OAuthConfig,
    /// Which versions of the protocol are tried, and in which order.
    pub protocol: ProtocolChoice,
    /// The hash of what runs or is connected to.
    identity: String,
    /// One line for people that shows variables as they are written, so that it holds no
    /// secrets.
    summary: String,
}

/// An entry of `mcpServers` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerConfigError {
    /// It has an address, but does not say which protocol is spoken there.
    #[error("it has a `url` but no `type`; write \"type\": \"http\" or \"type\": \"sse\"")]
    UrlWithoutType,
    /// A required key is missing or a value is not possible; the text says which.
    #[error("{0}")]
    Invalid(String),
}

impl ServerConfigError {
    /// Returns the name of the error in reports for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UrlWithoutType => "url_missing_type",
            Self::Invalid(_) => "invalid_config",
        }
    }
}

/// A configuration that was read, with warnings for the user.
#[derive(Debug)]
pub struct ParsedServer {
    /// The configuration to connect with. Its values may be secrets, because variables are
    /// replaced.
    pub config: ServerConfig,
    /// Warnings, such as variables that are not set.
    pub warnings: Vec<String>,
}

impl ServerConfig {
    /// Reads an entry of `mcpServers`. `lookup` returns the variables that `${NAME}` refers to.
    ///
    /// # Errors
    /// If the entry does not say what to start or where to connect.
    pub fn parse(
        name: &str,
        entry: &Map<String, Value>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ParsedServer, ServerConfigError> {
        let mut expand = Expander::new(lookup);
        let kind = entry.get("type").and_then(Value::as_str);
        let endpoint = match (kind, entry.get("command"), entry.get("url")) {
            (Some("stdio") | None, Some(_), _) => Endpoint::Stdio {
                command: required(entry, "command", &mut expand)?,
                args: texts(entry, "args")?.iter().map(|arg| expand.text(arg)).collect(),
                env: pairs(entry, "env", &mut expand)?,
            },
            (Some("http" | "streamable-http"), _, Some(_)) => {
                Endpoint::Http(http(entry, &mut expand)?)
            }
            (Some("sse"), _, Some(_)) => Endpoint::Sse(http(entry, &mut expand)?),
            // The name that the Agent SDKs use in their configuration.
            (Some("sdk"), _, _) => Endpoint::Host,
            (None, None, Some(_)) => return Err(ServerConfigError::UrlWithoutType),
            (Some("stdio"), None, _) => return Err(invalid("it has no `command`")),
            (Some("http" | "streamable-http" | "sse"), _, None) => {
                return Err(invalid("it has no `url`"));
            }
            (Some(other), _, _) => {
                return Err(invalid(&format!(
                    "the type `{other}` is not supported; use stdio, http or sse"
                )));
            }
            (None, None, None) => return Err(invalid("it has neither `command` nor `url`")),
        };
        let protocol = match entry.get("protocol").and_then(Value::as_str) {
            Some("legacy") => ProtocolChoice::Legacy,
            Some("auto") => ProtocolChoice::Auto,
            Some("modern") => ProtocolChoice::Modern,
            Some(other) => {
                return Err(invalid(&format!(
                    "`protocol` is `{other}`; use legacy, auto or modern"
                )));
            }
            None => match endpoint {
                // Only for HTTP is the question for versions harmless: many programs exit when
                // their first line is not the handshake.
                Endpoint::Http(_) => ProtocolChoice::Auto,
                Endpoint::Stdio { .. } => ProtocolChoice::HandshakeFirst,
                Endpoint::Sse(_) | Endpoint::Host => ProtocolChoice::Legacy,
            },
        };
        let timeout = entry.get("timeout").and_then(Value::as_u64).map(Duration::from_millis);
        let config = Self {
            name: name.to_owned(),
            identity: identity(name, &endpoint, entry),
            summary: summary(&endpoint, entry),
            timeout: timeout.filter(|timeout| *timeout >= MIN_TIMEOUT),
            always_load: entry.get("alwaysLoad") == Some(&Value::Bool(true)),
            named_for_run: false,
            sampling: entry.get("sampling") == Some(&Value::Bool(true)),
            oauth: oauth(entry, &mut expand)?,
            endpoint,
            protocol,
        };
        Ok(ParsedServer { config, warnings: expand.into_warnings() })
    }

    /// Returns the configuration of a server in the host program.
    #[must_use]
    pub fn in_host(name: &str) -> Self {
        let endpoint = Endpoint::Host;
        Self {
            name: name.to_owned(),
            identity: identity(name, &endpoint, &Map::new()),
            summary: summary(&endpoint, &Map::new()),
            endpoint,
            timeout: None,
            always_load: false,
            named_for_run: false,
            sampling: false,
            oauth: OAuthConfig::default(),
            protocol: ProtocolChoice::Legacy,
        }
    }

    /// Returns a hash of what the server is: program, arguments and environment, or address and
    /// headers. Values of variables count in what runs, not in what is passed to it, so that a new
    /// token does not make another server.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns the name of the transport.
    #[must_use]
    pub fn transport(&self) -> &'static str {
        match self.endpoint {
            Endpoint::Stdio { .. } => "stdio",
            Endpoint::Http(_) => "http",
            Endpoint::Sse(_) => "sse",
            Endpoint::Host => "sdk",
        }
    }

    /// Returns the address; none for a program.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match &self.endpoint {
            Endpoint::Http(http) | Endpoint::Sse(http) => Some(&http.url),
            Endpoint::Stdio { .. } | Endpoint::Host => None,
        }
    }

    /// Returns whether a command prints headers.
    pub(crate) fn has_headers_helper(&self) -> bool {
        match &self.endpoint {
            Endpoint::Http(http) | Endpoint::Sse(http) => http.headers_helper.is_some(),
            Endpoint::Stdio { .. } | Endpoint::Host => false,
        }
    }

    /// Returns whether the configuration itself has a header with the name `Authorization`.
    pub(crate) fn has_authorization_header(&self) -> bool {
        match &self.endpoint {
            Endpoint::Http(http) | Endpoint::Sse(http) => {
                http.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
            }
            Endpoint::Stdio { .. } | Endpoint::Host => false,
        }
    }

    /// Returns one line for people: the command or the address as it is written, without secrets.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }
}

impl std::fmt::Debug for ServerConfig {
    /// Leaves out environment and headers, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("endpoint", &self.summary())
            .finish_non_exhaustive()
    }
}

fn summary(endpoint: &Endpoint, entry: &Map<String, Value>) -> String {
    match endpoint {
        Endpoint::Stdio { .. } => shown::command(entry),
        Endpoint::Http(_) => format!("{} (HTTP)", shown::address(entry)),
        Endpoint::Sse(_) => format!("{} (SSE)", shown::address(entry)),
        Endpoint::Host => "in the host program".to_owned(),
    }
}

fn invalid(text: &str) -> ServerConfigError {
    ServerConfigError::Invalid(text.to_owned())
}

fn identity(name: &str, endpoint: &Endpoint, entry: &Map<String, Value>) -> String {
    let written = |key: &str| entry.get(key).map(sorted).unwrap_or_default();
    let parts = match endpoint {
        Endpoint::Stdio { command, args, .. } => {
            vec!["stdio".to_owned(), command.clone(), format!("{args:?}"), written("env")]
        }
        Endpoint::Http(http) | Endpoint::Sse(http) => vec![
            "http".to_owned(),
            http.url.clone(),
            written("headers"),
            http.headers_helper.clone().unwrap_or_default(),
        ],
        Endpoint::Host => vec!["host".to_owned()],
    };
    let mut hash = Sha256::new();
    for part in std::iter::once(name.to_owned()).chain(parts) {
        // With the length before each part, two different lists of parts cannot give the same
        // bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    robota_core::hash::hex(&hash.finalize())
}

/// Returns the text of an object with sorted keys.
fn sorted(value: &Value) -> String {
    match value.as_object() {
        Some(fields) => {
            // The order of keys in a file means nothing and must not make another server.
            let fields: BTreeMap<_, _> = fields.iter().collect();
            format!("{fields:?}")
        }
        None => value.to_string(),
    }
}

fn required(
    entry: &Map<String, Value>,
    key: &str,
    expand: &mut Expander<'_>,
) -> Result<String, ServerConfigError> {
    match entry.get(key).and_then(Value::as_str).map(|text| expand.text(text)) {
        Some(text) if !text.trim().is_empty() => Ok(text),
        Some(_) => Err(invalid(&format!("`{key}` is empty"))),
        None => Err(invalid(&format!("`{key}` is not a text"))),
    }
}

fn texts(entry: &Map<String, Value>, key: &str) -> Result<Vec<String>, ServerConfigError> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| invalid(&format!("`{key}` is not a list of texts"))),
        Some(_) => Err(invalid(&format!("`{key}` is not a list"))),
    }
}

fn pairs(
    entry: &Map<String, Value>,
    key: &str,
    expand: &mut Expander<'_>,
) -> Result<BTreeMap<String, String>, ServerConfigError> {
    let Some(value) = entry.get(key).filter(|value| !value.is_null()) else {
        return Ok(BTreeMap::new());
    };
    let fields = value.as_object().ok_or_else(|| invalid(&format!("`{key}` is not an object")))?;
    let mut pairs = BTreeMap::new();
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => expand.text(text),
            // Users write numbers and switches without quotes; the environment and headers have
            // only texts.
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(invalid(&format!("`{key}.{name}` is not a text"))),
        };
        pairs.insert(name.clone(), text);
    }
    Ok(pairs)
}

fn http(
    entry: &Map<String, Value>,
    expand: &mut Expander<'_>,
) -> Result<HttpEndpoint, ServerConfigError> {
    let url = required(entry, "url", expand)?;
    match url::Url::parse(&url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => {}
        Ok(parsed) => {
            return Err(invalid(&format!(
                "the address is `{}`; use http or https",
                parsed.scheme()
            )));
        }
        // The address may have the values of variables, which may be secrets.
        Err(error) => return Err(invalid(&format!("`url` is not an address: {error}"))),
    }
    let headers_helper = entry.get("headersHelper").and_then(Value::as_str).map(str::to_owned);
    Ok(HttpEndpoint { url, headers: pairs(entry, "headers", expand)?, headers_helper })
}

fn oauth(
    entry: &Map<String, Value>,
    expand: &mut Expander<'_>,
) -> Result<OAuthConfig, ServerConfigError> {
    let Some(oauth) = entry.get("oauth").and_then(Value::as_object) else {
        return Ok(OAuthConfig::default());
    };
    let mut text = |key: &str| oauth.get(key).and_then(Value::as_str).map(|text| expand.text(text));
    let scopes = match oauth.get("scopes") {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        _ => texts(oauth, "scopes")?,
    };
    Ok(OAuthConfig {
        client_id: text("clientId"),
        client_secret: text("clientSecret"),
        client_metadata_url: match text("clientMetadataUrl") {
            // The authorisation server reads the document and trusts the domain that it comes from.
            Some(url) if url.starts_with("https://") => Some(url),
            Some(url) => {
                return Err(invalid(&format!(
                    "clientMetadataUrl `{url}` must begin with https://"
                )));
            }
            None => None,
        },
        callback_port: oauth
            .get("callbackPort")
            .and_then(Value::as_u64)
            .and_then(|port| u16::try_from(port).ok()),
        scopes,
    })
}

#[cfg(test)]
mod tests;
