//! The memory of one project: its index and its topics.

use std::path::Path;

use super::entry::{normal_topic, normalized};
use super::files::MemoryFolder;
use super::{MemoryEntry, MemoryError, MemoryEvent};

/// How many lines of the index are part of a prompt.
pub const MAX_INDEX_LINES: usize = 200;

/// How many bytes of the index are part of a prompt.
pub const MAX_INDEX_BYTES: usize = 25 * 1024;

/// How many bytes of the index are read. Cleaning can make the text shorter, so this is more than the
/// prompt contains.
const MAX_READ_BYTES: u64 = 4 * MAX_INDEX_BYTES as u64;

/// How many characters of an entry the index shows.
const SUMMARY_CHARS: usize = 120;

const INDEX: &str = "MEMORY.md";

/// Reads and changes the memory of one project. Nothing is kept in memory: each call reads the
/// files.
///
/// ```
/// use robota_sdk::memory::ProjectMemory;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// let memory = ProjectMemory::open(folder).unwrap();
/// assert_eq!(memory.index().unwrap().text, "");
/// ```
#[derive(Debug, Clone)]
pub struct ProjectMemory {
    pub(super) folder: MemoryFolder,
}

/// The part of the index that belongs into a prompt.
///
/// ```
/// use robota_sdk::memory::MemoryIndex;
///
/// fn is_empty(index: &MemoryIndex) -> bool {
///     index.text.is_empty()
/// }
/// # let _ = is_empty;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryIndex {
    /// The first lines of the index, whole lines only.
    pub text: String,
    /// Whether the file has more lines than the text.
    pub truncated: bool,
}

/// Reports what became of an entry that was added.
///
/// ```
/// use robota_sdk::memory::Added;
///
/// fn is_new(added: &Added) -> bool {
///     !added.deduplicated
/// }
/// # let _ = is_new;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Whether the topic had the entry already, so that nothing changed.
    pub deduplicated: bool,
    /// The event that the caller records in the session.
    pub event: MemoryEvent,
}

impl ProjectMemory {
    /// Opens the memory of the project in this folder. Nothing is created.
    ///
    /// # Errors
    /// When the folder of the project cannot be found.
    pub fn open(project: &Path) -> Result<Self, MemoryError> {
        Ok(Self { folder: MemoryFolder::new(project)? })
    }

    /// Reads the part of the index that belongs into a prompt: at most [`MAX_INDEX_LINES`] lines and
    /// [`MAX_INDEX_BYTES`] bytes, whole lines only.
    ///
    /// # Errors
    /// When the file cannot be read or is a link.
    pub fn index(&self) -> Result<MemoryIndex, MemoryError> {
        let (all, more) = self.folder.read_lines(INDEX, MAX_READ_BYTES)?;
        let mut text = String::new();
        for line in all.split_inclusive('\n').take(MAX_INDEX_LINES) {
            // Whole lines: half of a link would name a topic that does not exist.
            if text.len() + line.len() > MAX_INDEX_BYTES {
                break;
            }
            text.push_str(line);
        }
        let truncated = more || text.len() < all.len();
        Ok(MemoryIndex { text, truncated })
    }

    /// Returns the names of the topics, sorted.
    #[must_use]
    pub fn topics(&self) -> Vec<String> {
        self.folder.topics()
    }

    /// Reads a topic.
    ///
    /// # Errors
    /// When there is no such topic, or it cannot be read.
    pub fn topic(&self, name: &str) -> Result<String, MemoryError> {
        let topic = normal_topic(name)?;
        let unknown = || MemoryError::Unknown { what: "topic", name: topic.clone(), list: "list" };
        self.folder.read(&file_of(&topic))?.ok_or_else(unknown)
    }

    /// Adds an entry to its topic, unless the topic has it already: upper and lower case, white space
    /// and punctuation make no difference. A new topic gets a line in the index.
    ///
    /// # Errors
    /// When a file cannot be read or written, or a link is in its way.
    pub fn add(&self, entry: &MemoryEntry) -> Result<Added, MemoryError> {
        // Compared without case and signs, so that a model cannot add the same fact again and
        // again.
        let wanted = normalized(entry.text());
        let changed = self.folder.update(&file_of(entry.topic()), |text| {
            let text = text.unwrap_or_default();
            let known = |line: &str| normalized(entry_text(line)) == wanted;
            if text.lines().any(known) {
                return None;
            }
            let title = format!("# {}\n\n", entry.topic());
            let start = if text.trim().is_empty() { &title } else { text };
            Some(format!("{}{}\n", with_line_end(start), entry.line()))
        })?;
        // The index is completed even if the entry was there: a crash may have come between the two.
        let link = format!("](topics/{}.md)", entry.topic());
        self.folder.update(INDEX, |text| {
            let text = text.unwrap_or_default();
            let line = || {
                let summary: String = entry.text().chars().take(SUMMARY_CHARS).collect();
                format!("- [{}{link}: {summary}", entry.topic())
            };
            (!text.contains(&link)).then(|| format!("{}{}\n", with_line_end(text), line()))
        })?;
        let deduplicated = !changed;
        let event = MemoryEvent::Added {
            kind: entry.kind(),
            topic: entry.topic().to_owned(),
            text: entry.text().to_owned(),
            deduplicated,
        };
        Ok(Added { deduplicated, event })
    }
}

/// Returns the file of a topic, below the folder of the memory.
pub(super) fn file_of(topic: &str) -> String {
    format!("topics/{topic}.md")
}

/// Returns the text of a line of a topic file, without the mark of a list and the kind.
fn entry_text(line: &str) -> &str {
    let text = line.trim_start().trim_start_matches(['-', '*']).trim_start();
    let kind = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    match kind {
        Some((kind, rest)) if kind.parse::<super::MemoryKind>().is_ok() => rest,
        _ => text,
    }
}

fn with_line_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests;
