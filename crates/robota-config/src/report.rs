//! The report of loading settings: problems, and values that are ignored. Loading never fails.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::layer::Origin;
use crate::path::KeyPath;

/// How severe a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The setting works, but probably not as intended.
    Warning,
    /// A value is invalid and ignored.
    Error,
}

/// Reports a problem in a settings file or argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How severe it is.
    pub severity: Severity,
    /// The file and line.
    pub origin: Origin,
    /// The key; none if the problem concerns the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyPath>,
    /// What is wrong, and what to do about it.
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

/// Why a value is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IgnoreReason {
    /// The folder is not trusted.
    Untrusted,
    /// Only the user's own settings and arguments can set the key.
    UserOnly,
    /// Only the administrator's settings can set the key.
    ManagedOnly,
    /// The administrator allows no others than those of the managed settings.
    NotManaged,
    /// The mode is not stricter than the mode of the lower layers.
    NotStricter,
    /// `permissions.disableBypassPermissionsMode` forbids the mode.
    BypassDisabled,
    /// The file repeats the key further down.
    Repeated,
    /// A settings file cannot be read, so its restrictions are unknown.
    Unreadable,
    /// The rule is invalid.
    Malformed,
}

impl IgnoreReason {
    /// Returns whether the value would apply if the folder were trusted.
    #[must_use]
    pub fn needs_trust(self) -> bool {
        matches!(self, Self::Untrusted | Self::NotStricter)
    }

    /// Returns the reason for people, as a clause.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Untrusted => "this folder is not trusted",
            Self::UserOnly => "only the user's own settings and arguments can set this",
            Self::ManagedOnly => "only the managed settings of the administrator can set this",
            Self::NotManaged => "the managed settings of the administrator allow no others",
            Self::NotStricter => "an untrusted folder can only make the mode stricter",
            Self::BypassDisabled => {
                "`permissions.disableBypassPermissionsMode` forbids `bypassPermissions`"
            }
            Self::Repeated => "the file repeats the key further down, and the last value applies",
            Self::Unreadable => "a settings file cannot be read, so its restrictions are unknown",
            Self::Malformed => "the rule is invalid",
        }
    }
}

/// A value that is ignored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dropped {
    /// The key, with its full path.
    pub key: KeyPath,
    /// The file and line.
    pub origin: Origin,
    /// The value, with secrets redacted; the user may show the report to others.
    pub value: Value,
    /// Why it is ignored.
    pub reason: IgnoreReason,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, origin, reason, .. } = self;
        write!(f, "{origin}: `{key}`: {}", reason.text())
    }
}

/// What loading settings found: problems, and values that are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The problems, in the order of the layers.
    pub problems: Vec<Problem>,
    /// The values that are ignored.
    pub dropped: Vec<Dropped>,
}

impl Report {
    /// Returns whether there are no problems and no ignored values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty() && self.dropped.is_empty()
    }
}

/// Returns the value with secrets redacted: by the name of the key, at any depth. The values of all
/// environment variables are redacted as well.
pub(crate) fn redact(path: &KeyPath, value: &Value) -> Value {
    // Variables have any name, so the name says nothing about the value.
    let in_env = path.names().first().is_some_and(|name| name == "env");
    if in_env { hide(value) } else { redact_named(path, value) }
}

/// Redacts like [`redact`], but shows environment variables unless their names look like secrets:
/// the user must see them to decide about trust.
pub(crate) fn redact_named(path: &KeyPath, value: &Value) -> Value {
    let secret = path.names().last().is_some_and(|name| is_secret_name(name));
    if secret { hide(value) } else { redact_inside(value) }
}

fn redact_inside(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(redact_inside).collect()),
        Value::Object(fields) => fields
            .iter()
            // The names of fields are shown: they say what the value is, and are no secret.
            .map(|(name, value)| {
                let shown = if is_secret_name(name) { hide(value) } else { redact_inside(value) };
                (name.clone(), shown)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Redacts a value, except a valid `$ENV:NAME` reference, which is not a secret itself.
fn hide(value: &Value) -> Value {
    use robota_core::env_ref::SecretSource;
    match value {
        Value::Null => Value::Null,
        // It is the name of a variable, which the user needs to see.
        Value::String(text) if matches!(SecretSource::parse(text), Ok(SecretSource::Env(_))) => {
            value.clone()
        }
        _ => Value::from("[REDACTED]"),
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let words = ["apikey", "token", "secret", "password", "authorization", "headers", "env"];
    // The helper is a command that prints the key, not the key.
    name != "apikeyhelper"
        && words.iter().any(|word| match *word {
            "env" | "headers" => name == *word,
            // Longer names are matched at the end: `maxTokens` and `tokenizer` are no secrets.
            word => name.ends_with(word) || name == format!("{word}s"),
        })
}
