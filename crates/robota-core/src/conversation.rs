//! The conversation store (CORE-03): append-only history and the one answer that is being
//! streamed. There is one way to commit an answer, and it keeps every word.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::history::HistoryEntry;
use crate::ids::{CallId, Ids};
use crate::message::{Block, Message, MessageState, ToolUse};

/// An answer while it streams.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Pending {
    blocks: Vec<Block>,
    text: String,
    thinking: String,
}

impl Pending {
    /// More words.
    pub fn push_text(&mut self, delta: &str) {
        self.close_thinking();
        self.text.push_str(delta);
    }

    /// More reasoning.
    pub fn push_thinking(&mut self, delta: &str) {
        self.close_text();
        self.thinking.push_str(delta);
    }

    /// A finished block. A thinking block takes the place of the reasoning that streamed, a
    /// tool call gets an id of ours, and one whose provider id is already there is left out.
    /// Returns the call, if it is a new one.
    pub fn push_block(&mut self, block: Block, ids: &dyn Ids) -> Option<&ToolUse> {
        self.close_text();
        match block {
            Block::Thinking(thinking) => {
                self.thinking.clear();
                self.blocks.push(Block::Thinking(thinking));
                None
            }
            Block::ToolUse(mut tool_use) => {
                self.close_thinking();
                if !tool_use.id.is_empty() && self.tool_uses().any(|seen| seen.id == tool_use.id) {
                    return None;
                }
                tool_use.call = CallId::mint(ids);
                self.blocks.push(Block::ToolUse(tool_use));
                self.tool_uses().last()
            }
            other => {
                self.close_thinking();
                self.blocks.push(other);
                None
            }
        }
    }

    /// The words so far.
    #[must_use]
    pub fn content(&self) -> String {
        let mut content = String::new();
        for block in &self.blocks {
            if let Block::Text(text) = block {
                content.push_str(&text.text);
            }
        }
        content.push_str(&self.text);
        content
    }

    /// Whether nothing has arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.text.is_empty() && self.thinking.is_empty()
    }

    /// The calls so far.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }

    /// Everything that arrived, as blocks; nothing is left behind.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.close_text();
        self.close_thinking();
        std::mem::take(&mut self.blocks)
    }

    fn close_text(&mut self) {
        if !self.text.is_empty() {
            self.blocks.push(Block::text(std::mem::take(&mut self.text)));
        }
    }

    fn close_thinking(&mut self) {
        if !self.thinking.is_empty() {
            self.blocks.push(Block::thinking(std::mem::take(&mut self.thinking), None));
        }
    }
}

/// A history that only grows, with the answer being streamed.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    history: Vec<HistoryEntry>,
    pending: Option<Pending>,
}

impl Conversation {
    /// Begins an answer; one that was pending is dropped only if nothing arrived in it.
    ///
    /// # Errors
    /// When an answer with content is pending: commit or discard it first.
    pub fn begin_assistant(&mut self) -> Result<(), PendingAnswer> {
        match &self.pending {
            Some(pending) if !pending.is_empty() => Err(PendingAnswer),
            _ => {
                self.pending = Some(Pending::default());
                Ok(())
            }
        }
    }

    /// More words of the pending answer; begins one if none is pending.
    pub fn append_streaming(&mut self, delta: &str) {
        self.pending.get_or_insert_default().push_text(delta);
    }

    /// A tool call of the pending answer. One whose id is already there is left out.
    pub fn append_tool_call(&mut self, tool_use: ToolUse, ids: &dyn Ids) {
        self.pending.get_or_insert_default().push_block(Block::ToolUse(tool_use), ids);
    }

    /// Commits the pending answer, empty or not. This is the only way an answer enters the
    /// history.
    pub fn commit_assistant(
        &mut self,
        ids: &dyn Ids,
        now: Timestamp,
        state: MessageState,
        metadata: Map<String, Value>,
    ) -> Message {
        let blocks = self.pending.take().unwrap_or_default().take_blocks();
        let mut message = Message::assistant(ids, blocks, state);
        message.metadata = metadata;
        self.history.push(HistoryEntry::chat(message.clone(), now));
        message
    }

    /// Drops the pending answer.
    pub fn discard_pending(&mut self) {
        self.pending = None;
    }

    /// Whether an answer is being streamed.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The words of the pending answer.
    #[must_use]
    pub fn pending_content(&self) -> String {
        self.pending.as_ref().map(Pending::content).unwrap_or_default()
    }

    /// Adds a message that is whole.
    pub fn add_message(&mut self, message: Message, now: Timestamp) {
        self.history.push(HistoryEntry::chat(message, now));
    }

    /// Adds an entry.
    pub fn add_entry(&mut self, entry: HistoryEntry) {
        self.history.push(entry);
    }

    /// All entries, oldest first.
    #[must_use]
    pub fn history(&self) -> &[HistoryEntry] {
        &self.history
    }
}

/// An answer is pending and has content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer is still being streamed; commit or discard it before another begins")]
pub struct PendingAnswer;

#[cfg(test)]
mod tests;
