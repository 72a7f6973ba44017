//! Trust in a folder. Until the user gives it, the settings of a checkout can only forbid.
//!
//! What is trusted is not a name but a content: everything in the project's files that can
//! run something, send something elsewhere or allow something is hashed, and when that hash
//! is another, the user is asked again. Rules that only forbid are no part of it.

mod store;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use store::TrustStore;

use crate::files::Files;
use crate::keys::Effect;
use crate::layer::{Layer, Origin, Scope};
use crate::path::KeyPath;
use crate::report::redact_named;
use crate::validate::Entry;

/// Whether the settings of a checkout count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The user trusts the folder as it is.
    Trusted,
    /// There is nothing in the folder that would need trust.
    NotNeeded,
    /// The user was never asked.
    Unknown,
    /// The user trusted the folder, and what needs trust has changed since.
    Changed,
}

impl Trust {
    /// Whether everything the project's files say counts.
    #[must_use]
    pub fn is_given(self) -> bool {
        self == Self::Trusted
    }

    /// Whether it makes sense to ask the user.
    #[must_use]
    pub fn is_wanted(self) -> bool {
        matches!(self, Self::Unknown | Self::Changed)
    }
}

/// What trusting a folder would mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrustSubject {
    /// The folder, canonical; none when it cannot be found, and then it cannot be trusted.
    pub folder: Option<PathBuf>,
    /// Everything that would count, to show to the user.
    pub items: Vec<TrustItem>,
    /// The hash of all of it.
    pub hash: String,
}

/// One thing that would count in a trusted folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrustItem {
    /// Its key; for `.mcp.json` the file's name.
    pub key: KeyPath,
    /// Where it stands.
    pub origin: Origin,
    /// What it says; secrets are not shown.
    pub value: Value,
}

impl Files {
    /// What trusting this folder would mean.
    #[must_use]
    pub fn trust_subject(&self) -> TrustSubject {
        let mut items = Vec::new();
        let mut hash = Hash(Sha256::new());
        for source in self.sources.iter().filter(|source| source.layer.scope() == Scope::Project) {
            let counts = |entry: &&Entry| !only_forbids(entry) && !entry.content.is_empty();
            let mut entries: Vec<_> = source.checked.entries.iter().filter(counts).collect();
            // The order of keys in a file means nothing; that of items may (hooks).
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            for entry in entries {
                let value = entry.content.to_value();
                hash.add(source.layer.name().as_bytes());
                for name in entry.path.names() {
                    hash.add(name.as_bytes());
                }
                hash.add(canonical(&value).as_bytes());
                let value = redact_named(&entry.path, &value);
                items.push(TrustItem {
                    key: entry.path.clone(),
                    origin: entry.origin.clone(),
                    value,
                });
            }
        }
        if let Some(servers) = &self.servers {
            hash.add(b".mcp.json");
            hash.add(servers);
            items.push(servers_item(self.folder.as_deref(), servers));
        }
        let folder = self.folder.clone();
        TrustSubject { folder, items, hash: hash.finish() }
    }
}

/// Whether an entry can only forbid, whatever else is set.
fn only_forbids(entry: &Entry) -> bool {
    let Some(rule) = entry.rule else { return false };
    match rule.effect {
        Effect::Tightens => true,
        Effect::TightensWhen(strict) => strict.is(&entry.content.to_value()),
        // No mode is stricter than this one.
        Effect::Mode => {
            let value = entry.content.to_value();
            value == "plan" || value == "safe"
        }
        // It never counts, so there is nothing to agree to.
        Effect::UserOnly => true,
        Effect::Grants => false,
    }
}

fn servers_item(folder: Option<&Path>, content: &[u8]) -> TrustItem {
    let names = serde_json::from_slice::<Value>(content).ok().and_then(|value| {
        let servers = value.get("mcpServers")?.as_object()?;
        Some(servers.keys().map(|name| Value::from(name.as_str())).collect::<Value>())
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

struct Hash(Sha256);

impl Hash {
    /// With its length, so that no two lists of parts make the same bytes.
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn finish(self) -> String {
        use std::fmt::Write as _;
        let mut text = "sha256:".to_owned();
        for byte in self.0.finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// The same text for the same value: keys in order, no space.
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
