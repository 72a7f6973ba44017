//! The answer that is being streamed: collects its pieces and turns them into the blocks of one
//! message (CORE-03).

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, Ids};
use crate::message::{Block, ToolUse};

/// The pieces of an answer that have arrived so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StreamingAnswer {
    blocks: Vec<Block>,
    text: String,
    thinking: String,
}

impl StreamingAnswer {
    /// Adds text that the model streamed.
    pub fn push_text(&mut self, delta: &str) {
        // Services send text and reasoning in blocks; a piece of the other kind ends a block.
        self.close_thinking();
        self.text.push_str(delta);
    }

    /// Adds reasoning that the model streamed.
    pub fn push_thinking(&mut self, delta: &str) {
        self.close_text();
        self.thinking.push_str(delta);
    }

    /// Adds a finished block. A thinking block replaces the reasoning that was streamed. A tool
    /// call gets a new [`CallId`], and is dropped if the answer already has a call with the same
    /// provider id. Returns the call that was added, if the block is one.
    pub fn push_block(&mut self, block: Block, ids: &dyn Ids) -> Option<&ToolUse> {
        self.close_text();
        match block {
            Block::Thinking(thinking) => {
                // The finished block has the same text, with its signature.
                self.thinking.clear();
                self.blocks.push(Block::Thinking(thinking));
                None
            }
            Block::ToolUse(mut tool_use) => {
                self.close_thinking();
                // Some servers repeat a call at the end of the stream. Calls without an id cannot
                // be compared, so both run.
                if !tool_use.id.is_empty() && self.tool_uses().any(|seen| seen.id == tool_use.id) {
                    return None;
                }
                // Ids of services may repeat in every answer (`call_0`), so each call gets one of
                // ours.
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

    /// Returns the text that has arrived so far.
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

    /// Returns true while nothing has arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.text.is_empty() && self.thinking.is_empty()
    }

    /// Returns the tool calls that have arrived so far.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }

    /// Takes everything that has arrived, as blocks, and leaves the answer empty.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.close_text();
        self.close_thinking();
        std::mem::take(&mut self.blocks)
    }

    /// Discards everything that has arrived: its model call failed, and the answer starts again.
    pub fn discard(&mut self) {
        *self = Self::default();
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

#[cfg(test)]
mod tests;
