//! One fact of the memory.

use std::fmt;
use std::str::FromStr;

use robota_config::clean;
use serde::{Deserialize, Serialize};

use super::MemoryError;
use super::policy;

/// An entry that has more characters than this is refused.
pub const MAX_ENTRY_CHARS: usize = 2_000;

/// The maximum length of the name of a topic in characters.
const MAX_TOPIC_CHARS: usize = 64;

/// What an entry is about.
///
/// ```
/// use robota_sdk::memory::MemoryKind;
///
/// assert_ne!(MemoryKind::User, MemoryKind::Project);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MemoryKind {
    /// Facts about the user, such as their role and preferences.
    User,
    /// The user's instructions for how the agent works.
    Feedback,
    /// Facts about the project, such as decisions, commands and conventions.
    Project,
    /// Where something can be found, such as a document or a dashboard.
    Reference,
}

impl MemoryKind {
    /// All kinds, in the order in which messages list them.
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    /// Returns the name that is used in commands and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MemoryKind {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let text = text.escape_debug();
            let names = Self::ALL.map(Self::name).join(", ");
            MemoryError::Invalid(format!("unknown kind of memory `{text}`; use one of {names}"))
        })
    }
}

/// Holds one fact with its kind and topic. It is valid and contains nothing that must not be
/// stored.
///
/// ```
/// use robota_sdk::memory::{MemoryEntry, MemoryKind};
///
/// let entry = MemoryEntry::new(MemoryKind::Project, "testing", "Run the tests with make.");
/// assert!(entry.is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryEntry {
    kind: MemoryKind,
    topic: String,
    text: String,
}

impl MemoryEntry {
    /// Creates an entry. The topic becomes a file name: letters, digits and `-`. The text becomes one
    /// line.
    ///
    /// # Errors
    /// When the topic or the text is empty, too long or contains what must not be stored.
    pub fn new(kind: MemoryKind, topic: &str, text: &str) -> Result<Self, MemoryError> {
        let topic = normal_topic(topic)?;
        // Hidden text could give instructions to a model, or hide a secret from the check; line ends
        // would start a new entry.
        let text = clean(text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let length = text.chars().count();
        if length == 0 || length > MAX_ENTRY_CHARS {
            return Err(MemoryError::Invalid(format!(
                "the text has {length} characters; write 1 to {MAX_ENTRY_CHARS}"
            )));
        }
        policy::check(&text).map_err(MemoryError::Refused)?;
        // The topic is a file name and part of the prompt, like the text.
        policy::check(&topic).map_err(MemoryError::Refused)?;
        Ok(Self { kind, topic, text })
    }

    /// Returns what the entry is about.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Returns the topic, which is also the name of its file.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Returns the statement to remember.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the entry as a line of a topic file.
    pub(super) fn line(&self) -> String {
        format!("- ({}) {}", self.kind, self.text)
    }
}

/// Returns the text in the form in which two entries are compared.
pub(super) fn normalized(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Converts the name of a topic to a file name.
pub(super) fn normal_topic(topic: &str) -> Result<String, MemoryError> {
    let invalid = || {
        MemoryError::Invalid(format!(
            "`{}` is not a topic; use letters, digits and `-`, at most {MAX_TOPIC_CHARS} characters",
            topic.escape_debug()
        ))
    };
    let name = topic.trim().to_lowercase().replace([' ', '_'], "-");
    let valid = name.chars().all(|c| c.is_alphanumeric() || c == '-')
        && name.chars().any(char::is_alphanumeric)
        && name.chars().count() <= MAX_TOPIC_CHARS;
    if valid { Ok(name) } else { Err(invalid()) }
}
