//! Prints a streamed answer as events of the Messages API (`--include-partial-messages`).

use robota_core::ids::Ids;
use robota_core::message::ToolUse;

use super::line::StreamEventLine;
use super::message::{AssistantMessage, Block, BlockDelta, MessageDelta, StreamEvent, TokenUsage};
use super::writer::LineWriter;

/// The answer that is being streamed.
#[derive(Default)]
pub(crate) struct AnswerStream {
    /// The id of the answer; empty before its first piece.
    id: String,
    open: Option<OpenBlock>,
    next_index: u32,
}

/// The block whose pieces arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Text,
    Thinking,
}

impl AnswerStream {
    /// Forgets the answer: a new model call begins.
    pub(crate) fn reset(&mut self) {
        self.id.clear();
        self.open = None;
        self.next_index = 0;
    }

    /// Returns the id of the answer.
    pub(crate) fn id(&mut self, ids: &dyn Ids) -> &str {
        if self.id.is_empty() {
            self.id = format!("msg_{}", ids.next().simple());
        }
        &self.id
    }

    /// Returns whether a piece of the answer was printed.
    pub(crate) fn is_started(&self) -> bool {
        self.next_index > 0
    }

    /// Prints the start of the answer, before its first block.
    fn start(&mut self, model: &str, ttft_ms: Option<u64>, ids: &dyn Ids, writer: &LineWriter) {
        if self.is_started() {
            return;
        }
        let message = AssistantMessage {
            model,
            id: self.id(ids),
            kind: Default::default(),
            role: Default::default(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: TokenUsage::default(),
        };
        print(writer, StreamEvent::MessageStart { message }, ttft_ms);
    }

    /// Prints a piece of text.
    pub(crate) fn text(
        &mut self,
        text: &str,
        (model, ttft_ms): (&str, Option<u64>),
        ids: &dyn Ids,
        writer: &LineWriter,
    ) {
        self.start(model, ttft_ms, ids, writer);
        let index = self.enter(OpenBlock::Text, writer);
        let delta = BlockDelta::Text { text };
        print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
    }

    /// Prints a piece of reasoning.
    pub(crate) fn thinking(
        &mut self,
        thinking: &str,
        (model, ttft_ms): (&str, Option<u64>),
        ids: &dyn Ids,
        writer: &LineWriter,
    ) {
        self.start(model, ttft_ms, ids, writer);
        let index = self.enter(OpenBlock::Thinking, writer);
        let delta = BlockDelta::Thinking { thinking };
        print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
    }

    /// Prints a call. Its arguments are one piece, because the id of a call is known with its end.
    pub(crate) fn call(
        &mut self,
        call: &ToolUse,
        (model, ttft_ms): (&str, Option<u64>),
        ids: &dyn Ids,
        writer: &LineWriter,
    ) {
        self.start(model, ttft_ms, ids, writer);
        self.leave(writer);
        let index = self.next_index;
        self.next_index += 1;
        let input = std::borrow::Cow::Owned(serde_json::Value::Object(serde_json::Map::new()));
        let content_block = Block::ToolUse { id: call.public_id(), name: &call.name, input };
        print(writer, StreamEvent::ContentBlockStart { index, content_block }, None);
        let json = call.input.json().map(ToString::to_string).unwrap_or_default();
        let delta = BlockDelta::InputJson { partial_json: &json };
        print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
        print(writer, StreamEvent::ContentBlockStop { index }, None);
    }

    /// Prints the end of the last block.
    pub(crate) fn leave(&mut self, writer: &LineWriter) {
        if self.open.take().is_some() {
            print(writer, StreamEvent::ContentBlockStop { index: self.next_index - 1 }, None);
        }
    }

    /// Prints the end of the answer.
    pub(crate) fn end(&mut self, stop: Option<&str>, usage: TokenUsage, writer: &LineWriter) {
        if self.is_started() {
            let delta = MessageDelta { stop_reason: stop, stop_sequence: None };
            print(writer, StreamEvent::MessageDelta { delta, usage }, None);
            print(writer, StreamEvent::MessageStop, None);
        }
    }

    /// Opens a block of this kind, unless it is open; returns its position.
    fn enter(&mut self, block: OpenBlock, writer: &LineWriter) -> u32 {
        if self.open != Some(block) {
            self.leave(writer);
            let index = self.next_index;
            self.next_index += 1;
            self.open = Some(block);
            let content_block = match block {
                OpenBlock::Text => Block::Text { text: "" },
                OpenBlock::Thinking => Block::Thinking { thinking: "", signature: "" },
            };
            print(writer, StreamEvent::ContentBlockStart { index, content_block }, None);
        }
        self.next_index - 1
    }
}

fn print(writer: &LineWriter, event: StreamEvent<'_>, ttft_ms: Option<u64>) {
    writer.print(&StreamEventLine {
        kind: Default::default(),
        event,
        session_id: writer.session(),
        parent_tool_use_id: None,
        uuid: writer.id().as_str(),
        ttft_ms,
    });
}
