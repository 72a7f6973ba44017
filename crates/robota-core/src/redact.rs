//! Removes secrets before an event is created and before a model sees the text. So the stored
//! data and the data in memory are the same, and later readers need not redact.
//!
//! Secrets are removed by *name* in structured payloads (`apiKey`, `authorization`, …), and by
//! *value* in everything that tools, hooks and services return: the keys that the program resolved,
//! and environment variables with secret names. What users and models wrote is never changed.
//!
//! ```
//! use robota_core::env_ref::Secret;
//! use robota_core::redact::Redactor;
//!
//! let redactor = Redactor::new([Secret::new("sk-12345678")])?;
//! assert_eq!(redactor.text("key=sk-12345678;"), "key=[REDACTED];");
//! # Ok::<(), robota_core::redact::RedactorError>(())
//! ```

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::{Map, Value};

use crate::env_ref::Secret;
use crate::error::ErrorData;
use crate::message::ResultBlock;
use crate::tool::ToolOutcome;

/// The text that replaces a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Shorter values are ignored: they occur as ordinary words, and removing those would garble text.
const MIN_SECRET_CHARS: usize = 8;

/// Removes the secrets of a session. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Option<Arc<SecretFinder>>,
    late: Option<LateSecrets>,
}

/// Secrets that become known while sessions run, such as a renewed key. Clones share them, and every
/// redactor with such a list removes them from the moment at which they are added.
///
/// ```
/// use robota_core::env_ref::Secret;
/// use robota_core::redact::{LateSecrets, Redactor};
///
/// let late = LateSecrets::default();
/// let redactor = Redactor::new([])?.with_late(late.clone());
/// late.add([Secret::new("sk-renewed-1")])?;
/// assert_eq!(redactor.text("key=sk-renewed-1;"), "key=[REDACTED];");
/// # Ok::<(), robota_core::redact::RedactorError>(())
/// ```
#[derive(Clone, Default)]
pub struct LateSecrets(Arc<RwLock<Late>>);

#[derive(Default)]
struct Late {
    secrets: Vec<Secret>,
    finder: Option<Arc<SecretFinder>>,
}

impl LateSecrets {
    /// Adds secrets.
    ///
    /// # Errors
    /// If all secrets together are so large (gigabytes) that they cannot be searched for. Then they
    /// must not be used.
    pub fn add(&self, secrets: impl IntoIterator<Item = Secret>) -> Result<(), RedactorError> {
        let mut late = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = late.secrets.len();
        for secret in secrets {
            if !late.secrets.iter().any(|known| known.expose() == secret.expose()) {
                late.secrets.push(secret);
            }
        }
        if late.secrets.len() != before {
            // Built again from all of them: the automaton cannot be extended, and keys are
            // renewed rarely.
            late.finder = SecretFinder::new(late.secrets.iter().cloned())?;
        }
        Ok(())
    }

    fn finder(&self) -> Option<Arc<SecretFinder>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).finder.clone()
    }
}

struct SecretFinder {
    /// Finds the longest secret at each position.
    automaton: AhoCorasick,
    secrets: Vec<SecretText>,
}

/// A secret, prepared to find its start at the end of a text.
struct SecretText {
    text: String,
    /// For each prefix of the text: the length of its longest proper suffix that is a prefix, too.
    borders: Vec<u32>,
}

/// Why no redactor could be created. A program must not start without one.
#[derive(Debug, thiserror::Error)]
#[error("the secrets cannot be redacted, because they are too large: {0}")]
pub struct RedactorError(String);

impl Redactor {
    /// Removes these values wherever they occur, except those shorter than eight characters.
    ///
    /// # Errors
    /// If all secrets together are so large (gigabytes) that they cannot be searched for.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Result<Self, RedactorError> {
        Ok(Self { known: SecretFinder::new(secrets)?, late: None })
    }

    /// Removes the secrets of a list, too, which can grow.
    #[must_use]
    pub fn with_late(self, late: LateSecrets) -> Self {
        Self { late: Some(late), ..self }
    }

    /// Returns what finds the secrets that are known now.
    fn finders(&self) -> impl Iterator<Item = Arc<SecretFinder>> + use<> {
        let late = self.late.as_ref().and_then(LateSecrets::finder);
        // Two searches instead of one automaton that is rebuilt under a lock which every redaction
        // would take.
        late.into_iter().chain(self.known.clone())
    }

    /// Returns the text without the secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut result = Cow::Borrowed(text);
        for finder in self.finders() {
            if let Some(clean) = finder.replace(&result) {
                result = Cow::Owned(clean);
            }
        }
        result
    }

    /// Removes the secrets from the text.
    pub fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    /// Removes the secrets from a structured payload, by name of the key and by value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.clean(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Removes the secrets from the fields of an object.
    pub fn fields(&self, fields: &mut Map<String, Value>) {
        for (name, field) in fields.iter_mut() {
            // By name also if the value is not known: tools pass tokens that they got from
            // elsewhere.
            if is_secret_name(name) && !field.is_null() {
                *field = REDACTED.into();
            } else {
                self.value(field);
            }
        }
    }

    /// Removes the secrets from the message and the hint of a failure.
    pub fn error(&self, error: &mut ErrorData) {
        self.clean(&mut error.message);
        if let Some(hint) = &mut error.hint {
            self.clean(hint);
        }
    }

    /// Removes the secrets from an outcome.
    pub fn outcome(&self, outcome: &mut ToolOutcome) {
        for block in &mut outcome.content {
            if let ResultBlock::Text(part) = block {
                self.clean(&mut part.text);
            }
        }
        self.fields(&mut outcome.metadata);
    }

    /// Creates a redactor for output that arrives in pieces.
    #[must_use]
    pub fn stream(&self) -> RedactedStream {
        RedactedStream { redactor: self.clone(), pending: String::new() }
    }

    /// Returns the position at the end of the text where a secret may begin, or the text's length.
    fn partial_secret_start(&self, text: &str) -> usize {
        let starts = self.finders().map(|finder| {
            let starts = finder.secrets.iter().map(|secret| secret.started_at_the_end_of(text));
            starts.max().unwrap_or(0)
        });
        text.len() - starts.max().unwrap_or(0)
    }
}

impl SecretFinder {
    /// Prepares the search for secrets; none if all are too short.
    fn new(secrets: impl IntoIterator<Item = Secret>) -> Result<Option<Arc<Self>>, RedactorError> {
        let mut values: Vec<String> = Vec::new();
        for secret in secrets {
            // Keys in files and variables often end with a line break, which is not part of what is
            // sent.
            let value = secret.expose().trim();
            if value.chars().count() >= MIN_SECRET_CHARS {
                // Both forms occur: verbatim, and escaped as in JSON.
                let quoted = serde_json::to_string(value).unwrap_or_default();
                let quoted = quoted.trim_matches('"');
                if quoted != value {
                    values.push(quoted.to_owned());
                }
                values.push(value.to_owned());
            }
        }
        values.sort();
        values.dedup();
        if values.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder()
            // A secret that is the start of another one must not leave the rest of that one
            // visible.
            .match_kind(MatchKind::LeftmostLongest)
            // Its size grows with that of the secrets; that of other kinds can be much larger.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&values)
            .map_err(|error| RedactorError(error.to_string()))?;
        let secrets = values.into_iter().map(SecretText::new).collect();
        Ok(Some(Arc::new(Self { automaton, secrets })))
    }

    /// Returns the text without the secrets; none if it has none.
    fn replace(&self, text: &str) -> Option<String> {
        self.automaton.is_match(text).then(|| {
            let mut clean = String::with_capacity(text.len());
            self.automaton.replace_all_with(text, &mut clean, |_, _, into| {
                into.push_str(REDACTED);
                true
            });
            clean
        })
    }
}

impl SecretText {
    fn new(text: String) -> Self {
        let bytes = text.as_bytes();
        let mut borders = vec![0_u32; bytes.len()];
        let mut length = 0;
        for at in 1..bytes.len() {
            length = next_length(bytes, &borders, length, bytes[at]);
            borders[at] = u32::try_from(length).unwrap_or(u32::MAX);
        }
        Self { text, borders }
    }

    /// Returns how many bytes at the end of the other text are the start of this secret, without a
    /// complete secret. Takes time in proportion to the length of the secret, independent of the
    /// text.
    fn started_at_the_end_of(&self, other: &str) -> usize {
        let bytes = self.text.as_bytes();
        // Only this much can be an incomplete secret, so the cost does not grow with the text.
        let end = &other.as_bytes()[other.len().saturating_sub(bytes.len() - 1)..];
        end.iter().fold(0, |length, byte| next_length(bytes, &self.borders, length, *byte))
    }
}

/// Returns the length of the longest prefix of the secret that ends with `byte`, if the text before
/// that byte ends with the first `length` bytes of the secret.
fn next_length(secret: &[u8], borders: &[u32], mut length: usize, byte: u8) -> usize {
    while length > 0 && secret.get(length) != Some(&byte) {
        length = borders[length - 1] as usize;
    }
    if secret.get(length) == Some(&byte) { length + 1 } else { length }
}

impl fmt::Debug for LateSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = self.0.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "LateSecrets({})", late.secrets.len())
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.finders().map(|finder| finder.secrets.len()).sum();
        write!(f, "Redactor({count} secrets)")
    }
}

/// Redacts output that arrives in pieces. It also finds a secret that two pieces share.
pub struct RedactedStream {
    redactor: Redactor,
    pending: String,
}

impl RedactedStream {
    /// Takes the next piece. Returns redacted text without a tail that may be the start of a
    /// secret.
    pub fn push(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        let mut hold = self.redactor.partial_secret_start(&self.pending);
        for finder in self.redactor.finders() {
            let mut found = finder.automaton.find_iter(&self.pending);
            // The held back start is inside of another secret that is complete; cutting there
            // would show a part of it.
            if let Some(cut) = found.find(|found| found.start() < hold && hold < found.end()) {
                hold = cut.end();
            }
        }
        // The held back tail is the beginning of a secret, so it begins at a character boundary.
        let tail = self.pending.split_off(hold);
        let whole = std::mem::replace(&mut self.pending, tail);
        self.redactor.text(&whole).into_owned()
    }

    /// Returns the text that was held back.
    pub fn finish(&mut self) -> String {
        self.redactor.text(&std::mem::take(&mut self.pending)).into_owned()
    }
}

/// Returns true if a field of this name contains a secret, in any case or separator style.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    const NAMES: [&str; 13] = [
        "apikey",
        "authorization",
        "proxyauthorization",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "authtoken",
        "clientsecret",
        "secret",
        "secretkey",
        "password",
        "xapikey",
        "xgoogapikey",
    ];
    let plain: String =
        // `api_key`, `apiKey` and `X-Api-Key` are one name.
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    NAMES.contains(&plain.as_str())
}

/// Returns true if an environment variable of this name contains a secret. Such variables are
/// removed from output, and are not passed to commands.
#[must_use]
pub fn is_secret_variable(name: &str) -> bool {
    const ENDS: [&str; 8] =
        ["KEY", "TOKEN", "SECRET", "PASSPHRASE", "PASSWD", "_PASS", "_PAT", "CREDENTIALS"];
    let name = name.to_ascii_uppercase();
    ENDS.iter().any(|end| name.ends_with(end))
        || name.contains("PASSWORD")
        || name.contains("SECRET")
}

#[cfg(test)]
mod tests;
