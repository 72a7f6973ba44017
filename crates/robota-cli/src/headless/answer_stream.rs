//! Prints a streamed answer as events of the Messages API (`--include-partial-messages`).

use std::collections::HashMap;

use robota_core::event::ToolInputChunk;
use robota_core::ids::Ids;
use robota_core::message::{Opaque, Thinking, ToolUse};
use serde_json::{Map, Value};

use super::blocks::citation_values;
use super::model_watch::AnswerPosition;
use super::writer::LineWriter;
use robota_stream_json::StreamEventLine;
use robota_stream_json::{
    AssistantMessage, Block, BlockDelta, MessageDelta, StreamEvent, TokenUsage,
};

/// The answer that is being streamed.
#[derive(Default)]
pub(crate) struct AnswerStream {
    /// The id of the answer; empty before its first piece.
    id: String,
    open: Option<OpenBlock>,
    next_index: u32,
    /// How much of the answer was printed.
    position: AnswerPosition,
    /// The text since the last block with sources.
    text: String,
    /// The blocks of calls whose arguments are streamed, by the position of the call.
    calls: HashMap<u32, StreamedCall>,
}

/// The block whose pieces arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Text,
    Thinking,
    /// A block that only its provider understands.
    Other,
    /// The call at this position.
    Call(u32),
}

/// The block of a call whose arguments are streamed.
struct StreamedCall {
    index: u32,
    /// Whether any piece of its arguments arrived.
    has_input: bool,
}

/// The data of the event that starts an answer.
#[derive(Clone, Copy)]
pub(crate) struct AnswerStart<'a> {
    /// The id of the model, as the request named it.
    pub(crate) model: &'a str,
    /// How long the first piece took.
    pub(crate) ttft_ms: Option<u64>,
    /// The tokens so far.
    pub(crate) usage: TokenUsage,
    /// The host's ids of the messages that the turn took; empty after its first answer.
    pub(crate) user_messages: &'a [String],
}

impl AnswerStream {
    /// Forgets the answer: a new model call begins.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Returns the id of the answer.
    pub(crate) fn id(&mut self, ids: &dyn Ids) -> &str {
        if self.id.is_empty() {
            // Not the id of the service: not every service gives one, and the journal keeps none.
            self.id = format!("msg_{}", ids.next().simple());
        }
        &self.id
    }

    /// Returns whether a piece of the answer was printed.
    pub(crate) fn is_started(&self) -> bool {
        self.next_index > 0
    }

    /// Prints the start of the answer. The first block follows.
    pub(crate) fn start(&mut self, start: AnswerStart<'_>, ids: &dyn Ids, writer: &LineWriter) {
        let message = AssistantMessage {
            model: start.model,
            id: self.id(ids),
            kind: Default::default(),
            role: Default::default(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: start.usage,
        };
        print_line(
            writer,
            StreamEvent::MessageStart { message },
            start.ttft_ms,
            start.user_messages,
        );
    }

    /// Prints a piece of text.
    pub(crate) fn text(&mut self, text: &str, writer: &LineWriter) {
        self.position.bytes += text.len() as u64;
        self.text.push_str(text);
        let index = self.enter(OpenBlock::Text, Block::text(""), writer);
        let delta = BlockDelta::Text { text };
        print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
    }

    /// Prints a piece of reasoning.
    pub(crate) fn thinking(&mut self, thinking: &str, writer: &LineWriter) {
        self.position.bytes += thinking.len() as u64;
        self.print_thinking(thinking, writer);
    }

    fn print_thinking(&mut self, thinking: &str, writer: &LineWriter) {
        let empty = Block::Thinking { thinking: "", signature: "" };
        let index = self.enter(OpenBlock::Thinking, empty, writer);
        if !thinking.is_empty() {
            let delta = BlockDelta::Thinking { thinking };
            print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
        }
    }

    /// Returns how much of the answer was printed.
    pub(crate) fn position(&self) -> AnswerPosition {
        self.position
    }

    /// Prints the end of a reasoning block, and the block itself unless its text was streamed.
    pub(crate) fn end_thinking(&mut self, block: &Thinking, writer: &LineWriter) {
        if self.open != Some(OpenBlock::Thinking) {
            self.print_thinking(&block.thinking, writer);
        }
        if let Some(signature) = &block.signature {
            let delta = BlockDelta::Signature { signature };
            let index = self.next_index - 1;
            print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
        }
        self.leave(writer);
    }

    /// Prints a block that only its provider understands: the sources of the text before it, or a
    /// block in the shape of the Messages API. Others are left out, as they are of the answer.
    pub(crate) fn opaque(&mut self, block: &Opaque, writer: &LineWriter) {
        if let Some(citations) = citation_values(block, &std::mem::take(&mut self.text)) {
            if self.open == Some(OpenBlock::Text) {
                for citation in &citations {
                    let delta = BlockDelta::Citation { citation };
                    let index = self.next_index - 1;
                    print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
                }
                self.leave(writer);
            }
        } else if block.value.get("type").is_some() {
            let content_block = Block::Other(std::borrow::Cow::Borrowed(&block.value));
            self.enter(OpenBlock::Other, content_block, writer);
            self.leave(writer);
        }
    }

    /// Returns whether a piece of arguments can be printed: the provider has sent the id of the call.
    pub(crate) fn takes_input(&self, piece: &ToolInputChunk) -> bool {
        // A block begins with the id of its call. Some providers send the id only at the end; then
        // the arguments are printed as one piece.
        self.calls.contains_key(&piece.index) || (piece.id.is_some() && piece.name.is_some())
    }

    /// Prints a piece of the arguments of a call, if [`Self::takes_input`].
    pub(crate) fn input(&mut self, piece: &ToolInputChunk, writer: &LineWriter) {
        if let (None, Some(id), Some(name)) = (self.calls.get(&piece.index), &piece.id, &piece.name)
        {
            let index = self.enter(OpenBlock::Call(piece.index), empty_call(id, name), writer);
            self.calls.insert(piece.index, StreamedCall { index, has_input: false });
        }
        let Some(call) = self.calls.get_mut(&piece.index) else { return };
        if !piece.json.is_empty() {
            call.has_input = true;
            print_input(writer, call.index, &piece.json);
        }
    }

    /// Prints a call that is complete: its end, and its arguments unless they were streamed.
    pub(crate) fn call(&mut self, position: u32, call: &ToolUse, writer: &LineWriter) {
        self.position.calls += 1;
        let (index, has_input) = match self.calls.get(&position) {
            Some(streamed) => (streamed.index, streamed.has_input),
            None => {
                let block = empty_call(call.public_id(), &call.name);
                (self.enter(OpenBlock::Call(position), block, writer), false)
            }
        };
        if !has_input {
            let json = call.input.json().map(ToString::to_string).unwrap_or_default();
            print_input(writer, index, &json);
        }
        // Not if another block began before this call was complete.
        if self.open == Some(OpenBlock::Call(position)) {
            self.leave(writer);
        }
    }

    /// Prints the end of the last block.
    pub(crate) fn leave(&mut self, writer: &LineWriter) {
        if self.open.take().is_some() {
            print(writer, StreamEvent::ContentBlockStop { index: self.next_index - 1 }, None);
        }
    }

    /// Prints the end of the answer.
    pub(crate) fn end(&mut self, stop: Option<&str>, usage: TokenUsage, writer: &LineWriter) {
        // An answer without a block had no start either; an end alone would confuse hosts.
        if self.is_started() {
            let delta = MessageDelta { stop_reason: stop, stop_sequence: None };
            print(writer, StreamEvent::MessageDelta { delta, usage }, None);
            print(writer, StreamEvent::MessageStop, None);
        }
    }

    /// Opens a block, unless it is open; returns its index.
    fn enter(&mut self, block: OpenBlock, content_block: Block<'_>, writer: &LineWriter) -> u32 {
        if self.open != Some(block) {
            self.leave(writer);
            let index = self.next_index;
            self.next_index += 1;
            self.open = Some(block);
            print(writer, StreamEvent::ContentBlockStart { index, content_block }, None);
        }
        self.next_index - 1
    }
}

fn empty_call<'a>(id: &'a str, name: &'a str) -> Block<'a> {
    Block::ToolUse { id, name, input: std::borrow::Cow::Owned(Value::Object(Map::new())) }
}

fn print_input(writer: &LineWriter, index: u32, json: &str) {
    let delta = BlockDelta::InputJson { partial_json: json };
    print(writer, StreamEvent::ContentBlockDelta { index, delta }, None);
}

fn print(writer: &LineWriter, event: StreamEvent<'_>, ttft_ms: Option<u64>) {
    print_line(writer, event, ttft_ms, &[]);
}

fn print_line(
    writer: &LineWriter,
    event: StreamEvent<'_>,
    ttft_ms: Option<u64>,
    user_messages: &[String],
) {
    writer.print(&StreamEventLine {
        kind: Default::default(),
        event,
        session_id: writer.session(),
        parent_tool_use_id: None,
        uuid: writer.id().as_str(),
        ttft_ms,
        user_message_uuid: user_messages.last().map(String::as_str),
        user_message_uuids: user_messages,
    });
}
