//! What is wrong with the settings, and what did not count. Loading never fails: it reports.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::layer::Origin;
use crate::path::KeyPath;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It works, but probably not as meant.
    Warning,
    /// Something that was written does not count.
    Error,
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad.
    pub severity: Severity,
    /// Where.
    pub origin: Origin,
    /// At which key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyPath>,
    /// What, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: `{key}`: {}", self.origin, self.message),
            None => write!(f, "{}: {}", self.origin, self.message),
        }
    }
}

/// Why something that was written does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The folder is not trusted.
    Untrusted,
    /// It can only be set by the user.
    UserOnly,
    /// The mode is not stricter than what holds without it.
    NotStricter,
    /// `bypassPermissions` is switched off.
    BypassDisabled,
    /// The key stands in the file again, further down.
    Repeated,
    /// A settings file cannot be read, so it is not known what is forbidden.
    Unreadable,
    /// The rule is not well-formed.
    Malformed,
}

impl Reason {
    /// Whether trusting the folder would make it count.
    #[must_use]
    pub fn needs_trust(self) -> bool {
        matches!(self, Self::Untrusted | Self::NotStricter)
    }

    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Untrusted => "this folder is not trusted",
            Self::UserOnly => "only the user's own settings and arguments can set this",
            Self::NotStricter => "a folder that is not trusted can only make the mode stricter",
            Self::BypassDisabled => "`bypassPermissions` is switched off",
            Self::Repeated => "the key stands in this file again, further down",
            Self::Unreadable => {
                "a settings file cannot be read, so it is not known what is forbidden"
            }
            Self::Malformed => "the rule is not well-formed",
        }
    }
}

/// Something that was written and does not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dropped {
    /// Its key.
    pub key: KeyPath,
    /// Where it stands.
    pub origin: Origin,
    /// What it says; secrets are not shown.
    pub value: Value,
    /// Why it does not count.
    pub reason: Reason,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, origin, reason, .. } = self;
        write!(f, "{origin}: `{key}` does not count: {}", reason.text())
    }
}

/// Everything there is to say about loaded settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What does not count.
    pub dropped: Vec<Dropped>,
}

impl Report {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty() && self.dropped.is_empty()
    }
}

/// The value with secrets taken out: by the name of its key, at any depth. What a variable is
/// set to is nobody's business either.
pub(crate) fn redact(path: &KeyPath, value: &Value) -> Value {
    let in_env = path.names().first().is_some_and(|name| name == "env");
    if in_env { hide(value) } else { redact_named(path, value) }
}

/// The same, but variables are shown unless their name says that they are secret: what they
/// are set to is what the user must see to trust a folder.
pub(crate) fn redact_named(path: &KeyPath, value: &Value) -> Value {
    let secret = path.names().last().is_some_and(|name| is_secret_name(name));
    if secret { hide(value) } else { redact_inside(value) }
}

fn redact_inside(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(redact_inside).collect()),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let shown = if is_secret_name(name) { hide(value) } else { redact_inside(value) };
                (name.clone(), shown)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// A reference to the environment is no secret and worth seeing, if it is one.
fn hide(value: &Value) -> Value {
    use robota_core::env_ref::SecretSource;
    match value {
        Value::Null => Value::Null,
        Value::String(text) if matches!(SecretSource::parse(text), Ok(SecretSource::Env(_))) => {
            value.clone()
        }
        _ => Value::from("[REDACTED]"),
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let words = ["apikey", "token", "secret", "password", "authorization", "headers", "env"];
    name != "apikeyhelper"
        && words.iter().any(|word| match *word {
            "env" | "headers" => name == *word,
            word => name.ends_with(word) || name == format!("{word}s"),
        })
}
