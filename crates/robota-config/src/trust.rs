//! Trust in a folder. Until the user grants it, the settings of a checkout can only forbid.
//!
//! Trust is granted to the content, not only to the path of a folder: all settings of the project
//! that can run commands, redirect requests or allow calls are hashed, with the files of the project
//! that they run, and a different hash needs a new decision of the user. Settings that only forbid
//! are not part of the hash.

mod file_requests;
mod imports;
mod named_files;
mod repository;
mod store;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub use file_requests::{FileRequest, file_requests};
pub use imports::import_requests;
pub use named_files::NamedFiles;
pub use repository::RepositoryProgram;
pub use store::TrustStore;

use crate::files::Files;
use crate::json::read_value;
use crate::keys::CheckoutRule;
use crate::layer::{Layer, LayerScope, Origin};
use crate::mcp::servers_of;
use crate::path::KeyPath;
use crate::report::redact_named;
use crate::validate::Entry;

/// Whether the user trusts the settings of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The user trusts the folder with its current settings.
    Trusted,
    /// The folder has no settings that need trust.
    NotNeeded,
    /// The user has not decided.
    Unknown,
    /// The user trusted the folder, but its settings have changed since.
    Changed,
}

impl Trust {
    /// Returns whether all settings of the project's files apply.
    #[must_use]
    pub fn is_given(self) -> bool {
        self == Self::Trusted
    }

    /// Returns whether the user has to decide about trust.
    #[must_use]
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::Unknown | Self::Changed)
    }
}

/// The settings of a folder that need trust.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrustSubject {
    /// The canonical folder; none if it cannot be resolved. Then it cannot be trusted.
    pub folder: Option<PathBuf>,
    /// The settings that apply if the folder is trusted, to show to the user.
    pub items: Vec<TrustItem>,
    /// The hash of all items, of their values before redaction.
    pub hash: String,
    /// The programs that the configuration of the folder's git repository names. They are not settings
    /// of this program, so trust does not change what git does with them.
    pub repository: Vec<RepositoryProgram>,
}

/// A setting that applies only in a trusted folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrustItem {
    /// The key; for `.mcp.json` the name of the file.
    pub key: KeyPath,
    /// The file and line.
    pub origin: Origin,
    /// The value, with secrets redacted, as the user sees it.
    pub value: Value,
}

/// For the user who decides: on one line, and without characters that hide a part of it.
impl std::fmt::Display for TrustItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = crate::clean::visible(&self.value.to_string());
        write!(f, "{}: `{}` = {value}", self.origin, self.key)
    }
}

impl Files {
    /// Returns the settings of the folder that need trust.
    #[must_use]
    pub fn trust_subject(&self) -> TrustSubject {
        let mut items = Vec::new();
        let mut hash = Hash(Sha256::new());
        for source in
            self.sources.iter().filter(|source| source.layer.scope() == LayerScope::Project)
        {
            // An empty list grants nothing, and would ask the user about nothing.
            let needs_trust = |entry: &&Entry| !only_forbids(entry) && !entry.content.is_empty();
            let mut entries: Vec<_> = source.checked.entries.iter().filter(needs_trust).collect();
            // The order of keys in a file has no meaning; that of items may have one (hooks).
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            for entry in entries {
                let value = entry.content.to_value();
                // The layer is part of the hash: the same rule in another file can have another
                // effect.
                hash.add(source.layer.name().as_bytes());
                for name in entry.path.names() {
                    hash.add(name.as_bytes());
                }
                hash.add(canonical(&value).as_bytes());
                // Hashed as it is, shown without secrets.
                let value = redact_named(&entry.path, &value);
                items.push(TrustItem {
                    key: entry.path.clone(),
                    origin: entry.origin.clone(),
                    value,
                });
            }
        }
        for (path, fingerprint) in self.named_files(&[LayerScope::Project]).fingerprints() {
            hash.add(path.as_os_str().as_encoded_bytes());
            hash.add(fingerprint.as_bytes());
            items.push(file_item(self.folder.as_deref(), path, fingerprint));
        }
        if let Some(servers) = &self.servers {
            hash.add(b".mcp.json");
            // The reason too: a file that becomes readable later is a change.
            hash.add(match servers {
                Ok(content) => content.as_slice(),
                Err(reason) => reason.as_bytes(),
            });
            let content = servers.as_deref().unwrap_or_default();
            items.push(servers_item(self.folder.as_deref(), content));
        }
        let folder = self.folder.clone();
        let repository = folder.as_deref().map(repository::programs).unwrap_or_default();
        TrustSubject { folder, items, hash: hash.finish(), repository }
    }

    /// Returns the files of the project that the settings of these scopes run.
    pub(crate) fn named_files(&self, scopes: &[LayerScope]) -> NamedFiles {
        let Some(folder) = &self.folder else { return NamedFiles::default() };
        let sources = self.sources.iter().filter(|source| scopes.contains(&source.layer.scope()));
        let entries =
            sources.flat_map(|source| &source.checked.entries).filter(|entry| may_run(entry));
        let mut values: Vec<_> = entries.map(|entry| entry.content.to_value()).collect();
        if scopes.contains(&LayerScope::Project) {
            let content = self.servers.iter().flatten();
            values.extend(content.filter_map(|content| read_value(content).ok()));
        }
        NamedFiles::find(folder, &self.checkout, &values)
    }
}

/// Returns whether an entry can name a program: all keys can, except those with rules and folders.
fn may_run(entry: &Entry) -> bool {
    let first = entry.path.names().first().map(String::as_str);
    // Rules name commands and files, but start none of them.
    !only_forbids(entry) && !matches!(first, Some("permissions" | "sandbox"))
}

fn file_item(folder: Option<&Path>, path: &Path, fingerprint: &str) -> TrustItem {
    let name = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    TrustItem {
        key: KeyPath(vec![name.display().to_string()]),
        origin: Origin { layer: Layer::ProjectClaude, file: Some(path.to_owned()), line: None },
        value: Value::from(fingerprint),
    }
}

/// Returns whether an entry can only forbid, so that it needs no trust.
fn only_forbids(entry: &Entry) -> bool {
    let Some(rule) = entry.rule else { return false };
    match rule.effect {
        CheckoutRule::Tightens => true,
        CheckoutRule::TightensWhen(strict) => strict.is(&entry.content.to_value()),
        // No mode is stricter than this one.
        CheckoutRule::Mode => {
            let value = entry.content.to_value();
            value == "plan" || value == "safe"
        }
        // It is always ignored in a checkout, so there is nothing to trust.
        CheckoutRule::UserOnly | CheckoutRule::ManagedOnly | CheckoutRule::OnlyTightensWhen(_) => {
            true
        }
        CheckoutRule::Grants => false,
    }
}

fn servers_item(folder: Option<&Path>, content: &[u8]) -> TrustItem {
    let names = read_value(content).ok().map(|file| {
        let servers = servers_of(&file, &mut Vec::new());
        let started = servers.into_iter().map(|(name, server)| (name, server_start(&server)));
        Value::Object(started.collect())
    });
    TrustItem {
        key: KeyPath(vec![".mcp.json".to_owned()]),
        origin: Origin {
            layer: Layer::ProjectClaude,
            file: folder.map(|folder| folder.join(".mcp.json")),
            line: None,
        },
        value: names.unwrap_or(Value::Null),
    }
}

/// Returns what a server runs or connects to, with the names of its variables, of which some decide what
/// a program runs, and with the command that prints its headers. The values of variables and headers, which
/// may be secret, are left out, and so is the query of its address.
pub(crate) fn server_start(server: &Map<String, Value>) -> Value {
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    let mut start = match (text("command"), text("url")) {
        (Some(command), _) => {
            let arguments = server.get("args").and_then(Value::as_array);
            let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
            std::iter::once(command).chain(arguments).collect::<Vec<_>>().join(" ")
        }
        // A query may have a key in it.
        (None, Some(url)) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        (None, None) => return Value::Null,
    };
    let variables = server.get("env").and_then(Value::as_object);
    let variables: Vec<_> = variables.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    if !variables.is_empty() {
        start.push_str(&format!(" (sets {})", variables.join(", ")));
    }
    if let Some(helper) = text("headersHelper") {
        start.push_str(&format!(" (runs `{helper}` for its headers)"));
    }
    Value::from(start)
}

struct Hash(Sha256);

impl Hash {
    /// Adds a part with its length, so that different lists of parts never hash the same bytes.
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Formats a SHA-256 as it is recorded.
pub(crate) fn hex(digest: &[u8]) -> String {
    format!("sha256:{}", robota_core::hash::hex(digest))
}

/// Returns the canonical text of a value: sorted keys, no spaces.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        plain => plain.to_string(),
    }
}
