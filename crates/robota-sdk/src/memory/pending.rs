//! Candidates that wait for the user's approval.

use robota_config::{clean, visible};
use robota_core::message::BlobRef;
use serde::{Deserialize, Serialize};

use super::store::Added;
use super::{MemoryEntry, MemoryError, MemoryEvent, MemoryKind, ProjectMemory};

/// The maximum number of candidates that wait.
pub const MAX_PENDING: usize = 100;

const FILE: &str = "pending.json";

/// A proposed entry that the user has not approved.
///
/// ```
/// use robota_sdk::memory::{Candidate, MemoryKind};
///
/// let candidate = Candidate {
///     id: "1".to_owned(),
///     kind: MemoryKind::Feedback,
///     topic: "style".to_owned(),
///     text: "Short answers.".to_owned(),
/// };
/// assert_eq!(candidate.topic, "style");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The id: `mem_` and twelve hexadecimal digits. The same entry has the same id.
    pub id: String,
    /// The kind of fact that the candidate states.
    pub kind: MemoryKind,
    /// The topic that it is added to when it is approved.
    pub topic: String,
    /// The fact, one line. It is checked again before it is stored.
    pub text: String,
}

impl From<&MemoryEntry> for Candidate {
    fn from(entry: &MemoryEntry) -> Self {
        let hash = BlobRef::of(format!("{}\n{}", entry.topic(), entry.line()).as_bytes()).sha256;
        let digits: String = hash.chars().take(12).collect();
        Self {
            id: format!("mem_{digits}"),
            kind: entry.kind(),
            topic: entry.topic().to_owned(),
            text: entry.text().to_owned(),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Pending {
    version: u32,
    candidates: Vec<Candidate>,
}

impl ProjectMemory {
    /// Returns the candidates that wait, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn pending(&self) -> Result<Vec<Candidate>, MemoryError> {
        self.parse(self.folder.read(FILE)?.as_deref())
    }

    /// Adds an entry to the candidates, unless it waits already.
    ///
    /// # Errors
    /// When too many wait, or the file cannot be read or written.
    pub fn propose(&self, entry: &MemoryEntry) -> Result<MemoryEvent, MemoryError> {
        let candidate = Candidate::from(entry);
        let event =
            MemoryEvent::Proposed { id: candidate.id.clone(), topic: candidate.topic.clone() };
        self.change(|candidates| {
            if candidates.iter().any(|other| other.id == candidate.id) {
                return Ok(());
            }
            if candidates.len() >= MAX_PENDING {
                return Err(MemoryError::TooMany(candidates.len()));
            }
            candidates.push(candidate);
            Ok(())
        })?;
        Ok(event)
    }

    /// Adds a candidate to the memory and removes it from those that wait. The candidate is checked
    /// again, because its file may have been edited.
    ///
    /// # Errors
    /// When there is no such candidate, it may not be stored, or a file cannot be written.
    pub fn approve(&self, id: &str) -> Result<Added, MemoryError> {
        let pending = self.pending()?;
        let candidate = pending.iter().find(|it| it.id == id).ok_or_else(|| unknown(id))?;
        let entry = MemoryEntry::new(candidate.kind, &candidate.topic, &candidate.text)?;
        // The memory is written first: after a crash in between, the candidate still waits, and
        // approving it again changes nothing.
        let deduplicated = self.add(&entry)?.deduplicated;
        self.remove(id)?;
        let (id, topic) = (id.to_owned(), entry.topic().to_owned());
        Ok(Added { deduplicated, event: MemoryEvent::Approved { id, topic, deduplicated } })
    }

    /// Removes a candidate from those that wait.
    ///
    /// # Errors
    /// When there is no such candidate, or the file cannot be written.
    pub fn reject(&self, id: &str) -> Result<MemoryEvent, MemoryError> {
        self.remove(id)?;
        Ok(MemoryEvent::Rejected { id: id.to_owned() })
    }

    fn remove(&self, id: &str) -> Result<(), MemoryError> {
        self.change(|candidates| {
            let before = candidates.len();
            candidates.retain(|candidate| candidate.id != id);
            if candidates.len() < before { Ok(()) } else { Err(unknown(id)) }
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Candidate>) -> Result<(), MemoryError>,
    ) -> Result<(), MemoryError> {
        let mut result = Ok(());
        self.folder.update(FILE, |text| {
            let changed = self.parse(text).and_then(|mut candidates| {
                change(&mut candidates)?;
                let pending = Pending { version: 1, candidates };
                serde_json::to_string_pretty(&pending).map_err(|error| self.damaged(&error))
            });
            changed.map(|text| format!("{text}\n")).map_err(|error| result = Err(error)).ok()
        })?;
        result
    }

    fn parse(&self, text: Option<&str>) -> Result<Vec<Candidate>, MemoryError> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let mut pending: Pending =
            serde_json::from_str(text).map_err(|error| self.damaged(&error))?;
        for candidate in &mut pending.candidates {
            // After the parsing: an escape of JSON can stand for any character.
            for field in [&mut candidate.id, &mut candidate.topic, &mut candidate.text] {
                *field = clean(field).split_whitespace().collect::<Vec<_>>().join(" ");
            }
        }
        Ok(pending.candidates)
    }

    fn damaged(&self, error: &serde_json::Error) -> MemoryError {
        // The message can quote a text of the file.
        MemoryError::Damaged { path: self.folder.path(FILE), message: visible(&error.to_string()) }
    }
}

fn unknown(id: &str) -> MemoryError {
    MemoryError::Unknown { what: "candidate", name: id.to_owned(), list: "pending" }
}
