//! The conversation as the terminal shows it: entries in order, of which the finished ones at the
//! front are in the scrollback already.

use std::time::Duration;

use robota_core::ids::CallId;
use robota_sdk::{ToolEnd, ToolState};

use super::markdown::{Block, MarkdownStream};
use super::output_tail::OutputTail;
use super::text::Line;

/// One thing of the conversation.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// A prompt of the user.
    Prompt(String),
    /// A part of an answer.
    Text(Block),
    /// A tool call.
    Tool(Box<ToolRow>),
    /// A message of the program.
    Note(NoteKind, String),
    /// What a command returned.
    Output {
        /// What the user typed.
        typed: String,
        /// What the command printed, or why it failed.
        text: String,
        /// Whether the command succeeded.
        ok: bool,
    },
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// For information.
    Plain,
    /// The user should know it before going further.
    Warning,
    /// A failure.
    Error,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowState {
    /// It waits for the user.
    Asking,
    /// It runs.
    Running,
    /// It ended, and its result is known.
    Ended(ToolEnd),
    /// The turn ended before it did.
    Stopped,
}

/// A tool call.
#[derive(Debug, Clone)]
pub(crate) struct ToolRow {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) argument: String,
    pub(crate) state: RowState,
    /// When it started, by the clock of the program.
    pub(crate) started: Duration,
    /// How long it took; none for calls of an earlier run.
    pub(crate) took: Option<Duration>,
    pub(crate) output: OutputTail,
    pub(crate) details: ToolState,
    /// How the user allowed it.
    pub(crate) approved: Option<String>,
}

/// The entries, and the text that is being written.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    entries: Vec<Entry>,
    /// How many entries are in the scrollback.
    committed: usize,
    stream: MarkdownStream,
}

impl Conversation {
    /// Adds an entry. An answer that is being written ends before it.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.finish_text();
        self.entries.push(entry);
    }

    /// Adds text of the answer.
    pub(crate) fn text(&mut self, text: &str) {
        self.stream.push(text);
        self.entries.extend(self.stream.take_finished().into_iter().map(Entry::Text));
    }

    /// Ends the answer that is being written.
    pub(crate) fn finish_text(&mut self) {
        self.entries.extend(self.stream.finish().into_iter().map(Entry::Text));
    }

    /// Drops the text that is not finished yet. Returns whether finished text stays behind.
    pub(crate) fn drop_open_text(&mut self) -> bool {
        self.stream = MarkdownStream::new();
        matches!(self.entries.last(), Some(Entry::Text(_)))
    }

    /// Returns whether an answer is being written.
    pub(crate) fn is_writing(&self) -> bool {
        !self.stream.open().is_empty()
    }

    /// Returns the row of a call that did not end.
    pub(crate) fn row(&mut self, call: &CallId) -> Option<&mut ToolRow> {
        self.entries[self.committed..].iter_mut().rev().find_map(|entry| match entry {
            Entry::Tool(row) if row.call == *call => Some(&mut **row),
            _ => None,
        })
    }

    /// Returns the calls that did not end.
    pub(crate) fn open_rows(&mut self) -> impl Iterator<Item = &mut ToolRow> {
        self.entries[self.committed..].iter_mut().filter_map(|entry| match entry {
            Entry::Tool(row) if row.is_open() => Some(&mut **row),
            _ => None,
        })
    }

    /// Returns the call that runs, if there is one.
    pub(crate) fn running(&self) -> Option<&ToolRow> {
        self.live().iter().find_map(|entry| match entry {
            Entry::Tool(row) if row.state == RowState::Running => Some(&**row),
            _ => None,
        })
    }

    /// Returns the calls that run and whose work could continue in the background.
    pub(crate) fn movable(&self) -> impl Iterator<Item = &ToolRow> {
        self.live().iter().filter_map(|entry| match entry {
            Entry::Tool(row) if row.state == RowState::Running && row.can_move() => Some(&**row),
            _ => None,
        })
    }

    /// Returns the last tool call that ended.
    pub(crate) fn last_row(&self) -> Option<&ToolRow> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Tool(row) if !row.is_open() => Some(&**row),
            _ => None,
        })
    }

    /// Returns all entries.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entries that are not in the scrollback.
    pub(crate) fn live(&self) -> &[Entry] {
        &self.entries[self.committed..]
    }

    /// Takes the finished entries at the front, with the entry before each. From now on they belong
    /// to the scrollback.
    pub(crate) fn commit(&mut self) -> Vec<(Option<&Entry>, &Entry)> {
        let first = self.committed;
        // Up to the first open call: the scrollback cannot be changed, so it must be in order.
        let finished = self.live().iter().take_while(|entry| entry.is_finished()).count();
        self.committed += finished;
        let index = |at: usize| at.checked_sub(1).map(|before| &self.entries[before]);
        (first..self.committed).map(|at| (index(at), &self.entries[at])).collect()
    }

    /// Forgets what is in the scrollback, so that everything is written again.
    pub(crate) fn uncommit(&mut self) {
        self.committed = 0;
    }

    /// Returns the entry before the live ones.
    pub(crate) fn last_committed(&self) -> Option<&Entry> {
        self.committed.checked_sub(1).map(|at| &self.entries[at])
    }

    /// Returns the lines of the text that is being written, and whether it continues the list of
    /// the block before.
    pub(crate) fn open_lines(&mut self, width: usize) -> (&[Line], bool) {
        let continues = self.stream.open_continues();
        (self.stream.open_lines(width), continues)
    }
}

impl Entry {
    fn is_finished(&self) -> bool {
        match self {
            Self::Tool(row) => !row.is_open(),
            Self::Prompt(_) | Self::Text(_) | Self::Note(..) | Self::Output { .. } => true,
        }
    }
}

impl ToolRow {
    /// Creates the row of a call that starts or asks.
    pub(crate) fn new(details: ToolState, state: RowState, now: Duration) -> Self {
        Self {
            call: details.call.clone(),
            tool: details.tool.clone(),
            argument: details.first_argument.clone(),
            state,
            started: now,
            took: None,
            output: OutputTail::default(),
            details,
            approved: None,
        }
    }

    /// Returns whether the call may still change.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, RowState::Asking | RowState::Running)
    }

    /// Returns whether the call waits for a command or an agent.
    fn can_move(&self) -> bool {
        match self.tool.as_str() {
            // A command without a time limit is being started in the background.
            "Bash" => self.details.time_limit_ms.is_some(),
            "Agent" | "Task" => true,
            _ => false,
        }
    }

    /// Takes the outcome.
    pub(crate) fn end(&mut self, details: ToolState, now: Duration) {
        self.took = Some(now.saturating_sub(self.started));
        self.state = RowState::Ended(details.end.unwrap_or(ToolEnd::Error));
        if let Some(output) = &details.output {
            self.output = OutputTail::whole(output);
        }
        let shown = std::mem::replace(&mut self.details, details);
        // The output is kept once.
        self.details.output = None;
        // A new file has no changes of its own: those that the user saw are shown.
        if self.details.end == Some(ToolEnd::Success) && self.details.diff.is_empty() {
            (self.details.diff, self.details.diff_file) = (shown.diff, shown.diff_file);
        }
    }
}

#[cfg(test)]
mod tests;
