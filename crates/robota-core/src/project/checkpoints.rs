//! The checkpoints of a session: one per prompt, and one per restore.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Serialize;

use crate::checkpoint::{
    FileChange, FileContent, FileDelta, NotCovered, PathState, PlannedFile, RecordedChange,
    SavedContent, plan,
};
use crate::event::{Author, Envelope, Event, SessionCreated};
use crate::ids::{InputId, MessageId, TurnId};
use crate::message::Block;
use crate::permission::Class;

/// The maximum number of characters of a prompt's excerpt.
const EXCERPT: usize = 80;

/// A point to which the files and the conversation of a session can return: right before a prompt,
/// or right before a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// Its id: that of the turn, or of the restore.
    pub id: String,
    /// The position among the session's checkpoints, from 1; users name it.
    pub number: usize,
    /// Whether it precedes a prompt or a restore.
    pub kind: CheckpointKind,
    /// The turn; `None` for a restore.
    pub turn: Option<TurnId>,
    /// When the turn or the restore began.
    pub time: Timestamp,
    /// The first line of the prompt, or a note about the restore.
    pub prompt: String,
    /// The user messages of the turn: the prompt, then those that were sent while it ran.
    pub messages: Vec<MessageId>,
    /// The last message before a restore; `None` for a prompt.
    pub last_message: Option<MessageId>,
    /// The files that were changed from here to the next checkpoint.
    pub files: Vec<TouchedFile>,
    /// What was not compared while commands ran, so changes there are not known.
    pub not_covered: Vec<NotCovered>,
    /// The sequence number of the last event before the checkpoint.
    pub after: u64,
}

/// Whether a checkpoint was made for a prompt or for a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// A user's prompt: the state right before its turn.
    Prompt,
    /// A restore. Restoring this checkpoint undoes it.
    Restore,
}

/// A file that changed between a checkpoint and the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TouchedFile {
    /// The absolute path of the file.
    pub path: String,
    /// Whether the change created, modified or deleted the file.
    pub change: ChangeKind,
    /// Whether its content before the change was saved.
    pub restorable: bool,
}

/// Says what a change did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file did not exist before the change.
    Created,
    /// Its content, mode or kind changed.
    Modified,
    /// The file does not exist after the change.
    Deleted,
}

impl ChangeKind {
    /// Returns what happens to a path that changes from one state to another.
    #[must_use]
    pub fn between(before: &PathState, after: &PathState) -> Self {
        match (before, after) {
            (PathState::Missing, _) => Self::Created,
            (_, PathState::Missing) => Self::Deleted,
            _ => Self::Modified,
        }
    }
}

/// Computes the checkpoints of a session event by event.
#[derive(Debug, Clone, Default)]
pub struct CheckpointLog {
    has_cwd: bool,
    /// The first lines of inputs that no turn has taken.
    prompts: IndexMap<InputId, String>,
    list: Vec<Checkpoint>,
    changes: Vec<RecordedChange>,
    /// What the last comparison did not cover.
    not_covered: Vec<NotCovered>,
}

impl CheckpointLog {
    /// Takes the next event.
    pub fn push(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::SessionCreated(SessionCreated { cwd, .. }) => self.has_cwd = cwd.is_some(),
            Event::InputAccepted(data) => {
                self.prompts.insert(data.input.clone(), excerpt(&data.content));
            }
            Event::InputChanged(data) => {
                self.prompts.insert(data.input.clone(), excerpt(&data.content));
            }
            Event::InputCancelled(data) => {
                self.prompts.shift_remove(&data.input);
            }
            Event::TurnStarted(data) => {
                // A turn without an input continues the last prompt.
                let Some(input) = &data.input else { return };
                let prompt = self.prompts.shift_remove(input).unwrap_or_default();
                // A turn without an id is of an old journal; its position identifies it as well.
                let id = envelope.turn.as_ref().map_or_else(
                    || format!("seq-{}", envelope.seq),
                    |turn| turn.as_str().to_owned(),
                );
                self.add(envelope, id, CheckpointKind::Prompt, prompt);
            }
            Event::UserMessage(data) if data.author == Author::User => {
                if let Some(last) = self.list.last_mut() {
                    last.messages.push(data.message.id.clone());
                }
            }
            Event::ToolStarted(data) if data.class != Class::Inspect => self.cover(),
            Event::FilesWatched(data) => {
                self.not_covered.clone_from(&data.not_covered);
                self.cover();
            }
            Event::FilesChanging(data) => {
                for change in &data.files {
                    self.record(envelope.seq, tool_deltas(change), false);
                }
            }
            Event::FilesChanged(data) => self.record(envelope.seq, data.files.clone(), true),
            Event::RestoreStarted(data) => {
                let prompt = format!("restore of {}", self.describe(&data.checkpoint));
                self.add(envelope, data.restore.clone(), CheckpointKind::Restore, prompt);
                if let Some(last) = self.list.last_mut() {
                    last.last_message.clone_from(&data.last_message);
                }
                self.record(envelope.seq, data.files.clone(), false);
            }
            _ => {}
        }
    }

    /// Returns the checkpoints, oldest first; none if the session has no working directory.
    #[must_use]
    pub fn list(&self) -> Vec<Checkpoint> {
        if !self.has_cwd {
            return Vec::new();
        }
        let mut list = self.list.clone();
        // A checkpoint shows what changed up to the next one; restoring it undoes everything since.
        let ends: Vec<_> = list.iter().skip(1).map(|next| next.after).chain([u64::MAX]).collect();
        for (checkpoint, end) in list.iter_mut().zip(ends) {
            let changes = self.since(checkpoint).filter(|change| change.seq <= end);
            checkpoint.files = plan(changes).iter().filter_map(touched).collect();
        }
        list
    }

    /// Returns the checkpoint with this id or number, or that of the turn with this message.
    #[must_use]
    pub fn find(&self, reference: &str) -> Option<Checkpoint> {
        let list = self.list();
        let number = reference.parse::<usize>().ok();
        let found = list.iter().position(|checkpoint| {
            // Ids are UUIDs, so they cannot be confused with numbers.
            checkpoint.id == reference
                || number == Some(checkpoint.number)
                || checkpoint.messages.iter().any(|message| message.as_str() == reference)
        })?;
        list.into_iter().nth(found)
    }

    /// Returns what a restore of the files of a checkpoint has to change.
    #[must_use]
    pub fn plan(&self, checkpoint: &Checkpoint) -> Vec<PlannedFile> {
        plan(self.since(checkpoint))
    }

    /// Returns the last change of a path after an event.
    #[must_use]
    pub fn last_change(&self, path: &str, after: u64) -> Option<&RecordedChange> {
        let changes = self.changes.iter().rev().take_while(|change| change.seq > after);
        changes.into_iter().find(|change| change.delta.path == path)
    }

    fn since(&self, checkpoint: &Checkpoint) -> impl Iterator<Item = &RecordedChange> {
        let after = checkpoint.after;
        self.changes.iter().filter(move |change| change.seq > after)
    }

    fn add(&mut self, envelope: &Envelope, id: String, kind: CheckpointKind, prompt: String) {
        self.list.push(Checkpoint {
            id,
            number: self.list.len() + 1,
            kind,
            turn: envelope.turn.clone(),
            time: envelope.ts,
            prompt,
            messages: Vec::new(),
            last_message: None,
            files: Vec::new(),
            not_covered: Vec::new(),
            after: envelope.seq.saturating_sub(1),
        });
    }

    fn cover(&mut self) {
        if let Some(last) = self.list.last_mut() {
            last.not_covered.clone_from(&self.not_covered);
        }
    }

    fn record(&mut self, seq: u64, deltas: Vec<FileDelta>, made: bool) {
        let changes = deltas.into_iter().map(|delta| RecordedChange { seq, delta, made });
        self.changes.extend(changes);
    }

    fn describe(&self, id: &str) -> String {
        let found = self.list.iter().find(|checkpoint| checkpoint.id == id);
        found.map_or_else(|| id.to_owned(), |found| format!("checkpoint {}", found.number))
    }
}

/// Returns the changes of a file tool: the folders it creates, and the file.
fn tool_deltas(change: &FileChange) -> Vec<FileDelta> {
    let folders = change.new_folders.iter().map(|path| FileDelta {
        path: path.clone(),
        before: PathState::Missing,
        after: PathState::Folder { mode: None },
    });
    let saved = |blob: &crate::message::BlobRef| {
        let (hash, len) = (blob.sha256.clone(), blob.bytes);
        FileContent { hash, saved: Some(SavedContent { blob: blob.clone(), offset: 0, len }) }
    };
    let before = match &change.before {
        None => PathState::Missing,
        Some(blob) => PathState::File { content: saved(blob), mode: change.mode },
    };
    let content = FileContent { hash: change.after_sha256.clone(), saved: None };
    // A file tool keeps the mode of the file.
    let after = PathState::File { content, mode: change.mode };
    let file = FileDelta { path: change.path.clone(), before, after };
    folders.chain([file]).collect()
}

fn touched(file: &PlannedFile) -> Option<TouchedFile> {
    let after = file.expected.first()?;
    let folder = |state: &PathState| matches!(state, PathState::Folder { .. });
    let only_folder = (folder(after) || *after == PathState::Missing)
        && (folder(&file.target) || file.target == PathState::Missing);
    // Folders are made and removed with the files in them and would only lengthen the list.
    if only_folder {
        return None;
    }
    Some(TouchedFile {
        path: file.path.clone(),
        change: ChangeKind::between(&file.target, after),
        restorable: !matches!(file.target, PathState::Unsaved { .. }),
    })
}

/// Returns the first line of an input that is not empty, cut to a maximum length.
fn excerpt(content: &[Block]) -> String {
    let mut texts = content.iter().filter_map(|block| match block {
        Block::Text(text) => text.text.lines().map(str::trim).find(|line| !line.is_empty()),
        _ => None,
    });
    let line = texts.next().unwrap_or_default();
    match line.char_indices().nth(EXCERPT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
