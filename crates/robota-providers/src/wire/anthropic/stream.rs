//! Decodes streams.
//!
//! Blocks are emitted in the order in which they started. A block that starts before the previous
//! one has ended waits for it, unless the previous one is plain text, which needs no end.

use std::collections::VecDeque;

use robota_core::message::ToolInput;
use robota_core::provider::{Delta, StopReason};
use robota_core::usage::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::json::{self, LenientCount, LenientStr};
use crate::profile::Wire;
use crate::wire::SERVER_TOOL_INDEX;
use crate::wire::citations::MESSAGES;
use crate::wire::decode::{CallIds, Decode, DeltaQueue, opaque, sources, stop, thinking};

const WIRE: Wire = Wire::AnthropicMessages;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: LenientStr<'a>,
    #[serde(default)]
    index: LenientCount,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    #[serde(default)]
    content_block: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: LenientStr<'a>,
    #[serde(borrow, default)]
    text: LenientStr<'a>,
    #[serde(borrow, default)]
    thinking: LenientStr<'a>,
    #[serde(borrow, default)]
    signature: LenientStr<'a>,
    #[serde(borrow, default)]
    partial_json: LenientStr<'a>,
    #[serde(default)]
    citation: Option<Value>,
    #[serde(borrow, default)]
    stop_reason: LenientStr<'a>,
}

/// A block that has started and was not emitted yet.
struct OpenBlock {
    index: u64,
    ended: bool,
    kind: Kind,
    /// Text that waits for an earlier block to end.
    buffered: String,
}

enum Kind {
    Text { citations: Vec<Value> },
    Thinking { text: String, signature: String },
    Tool { number: u32, id: String, name: String, input: Value, json: String },
    Server { number: u32, block: Value, json: String },
    Other(Value),
}

pub(crate) struct Decoder {
    model: String,
    open: VecDeque<OpenBlock>,
    calls: CallIds,
    server_tools: u32,
    usage: Map<String, Value>,
    stop: Option<StopReason>,
    done: bool,
}

impl Decoder {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            open: VecDeque::new(),
            calls: CallIds::default(),
            server_tools: 0,
            usage: Map::new(),
            stop: None,
            done: false,
        }
    }

    fn begin(&mut self, index: Option<u64>, block: Value, out: &mut DeltaQueue) {
        // Some compatible services send no index; their blocks follow each other.
        let index = index.unwrap_or_else(|| {
            self.open.iter().map(|block| block.index + 1).max().unwrap_or_default()
        });
        for block in &mut self.open {
            // The index is reused by a new block, or the block is text, which needs no end.
            block.ended |= block.index == index || matches!(block.kind, Kind::Text { .. });
        }
        self.emit_ended(out);
        let text =
            |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut buffered = String::new();
        let kind = match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => {
                buffered = text("text");
                Kind::Text { citations: Vec::new() }
            }
            "thinking" => {
                buffered = text("thinking");
                Kind::Thinking { text: String::new(), signature: text("signature") }
            }
            "tool_use" => {
                let number = self.calls.next_index();
                let (id, name) = (text("id"), text("name"));
                out.push_back(Delta::ToolInput {
                    index: number,
                    id: Some(id.clone()).filter(|id| !id.is_empty()),
                    name: Some(name.clone()),
                    json: String::new(),
                });
                let input = block.get("input").cloned().unwrap_or_default();
                Kind::Tool { number, id, name, input, json: String::new() }
            }
            "server_tool_use" => {
                let number = SERVER_TOOL_INDEX + self.server_tools;
                self.server_tools += 1;
                let name = Some(text("name"));
                let json = String::new();
                out.push_back(Delta::ToolInput { index: number, id: None, name, json });
                Kind::Server { number, block, json: String::new() }
            }
            _ => Kind::Other(block),
        };
        self.open.push_back(OpenBlock { index, ended: false, kind, buffered });
        self.flush(out);
    }

    fn piece(&mut self, index: Option<u64>, piece: Piece<'_>, out: &mut DeltaQueue) {
        let at = match index {
            Some(index) => self.open.iter().position(|block| block.index == index),
            None => self.open.len().checked_sub(1),
        };
        let is_front = at == Some(0);
        let block = at.and_then(|at| self.open.get_mut(at));
        match (&*piece.kind, block) {
            ("text_delta", Some(block)) if !is_front => block.buffered.push_str(&piece.text),
            // Text for an unknown block, or for one that was already emitted, is still part of the
            // answer.
            ("text_delta", _) => push_text(piece.text, out),
            ("thinking_delta", Some(block)) => match &mut block.kind {
                Kind::Thinking { text, .. } if is_front => {
                    text.push_str(&piece.thinking);
                    if !piece.thinking.is_empty() {
                        out.push_back(Delta::Thinking(piece.thinking.into_string()));
                    }
                }
                _ => block.buffered.push_str(&piece.thinking),
            },
            ("thinking_delta", None) if !piece.thinking.is_empty() => {
                out.push_back(Delta::Thinking(piece.thinking.into_string()));
            }
            ("signature_delta", Some(OpenBlock { kind: Kind::Thinking { signature, .. }, .. })) => {
                signature.push_str(&piece.signature);
            }
            ("citations_delta", Some(OpenBlock { kind: Kind::Text { citations }, .. })) => {
                citations.extend(piece.citation);
            }
            ("input_json_delta", Some(block)) => {
                let (number, json) = match &mut block.kind {
                    Kind::Tool { number, json, .. } | Kind::Server { number, json, .. } => {
                        (*number, json)
                    }
                    Kind::Text { .. } | Kind::Thinking { .. } | Kind::Other(_) => return,
                };
                json.push_str(&piece.partial_json);
                if !piece.partial_json.is_empty() {
                    let json = piece.partial_json.into_string();
                    out.push_back(Delta::ToolInput { index: number, id: None, name: None, json });
                }
            }
            _ => {}
        }
    }

    fn end_block(&mut self, index: Option<u64>, out: &mut DeltaQueue) {
        let block = match index {
            Some(index) => self.open.iter_mut().find(|block| block.index == index),
            None => self.open.back_mut(),
        };
        if let Some(block) = block {
            block.ended = true;
        }
        self.emit_ended(out);
    }

    /// Emits the blocks that have ended, from the front.
    fn emit_ended(&mut self, out: &mut DeltaQueue) {
        while self.open.front().is_some_and(|block| block.ended) {
            if let Some(block) = self.open.pop_front() {
                self.emit(block, out);
            }
            self.flush(out);
        }
    }

    /// Emits the buffered text of the first block.
    fn flush(&mut self, out: &mut DeltaQueue) {
        let Some(front) = self.open.front_mut() else { return };
        if front.buffered.is_empty() {
            return;
        }
        let buffered = std::mem::take(&mut front.buffered);
        match &mut front.kind {
            Kind::Thinking { text, .. } => {
                text.push_str(&buffered);
                out.push_back(Delta::Thinking(buffered));
            }
            _ => out.push_back(Delta::Text(buffered)),
        }
    }

    fn emit(&mut self, block: OpenBlock, out: &mut DeltaQueue) {
        match block.kind {
            Kind::Text { citations } => {
                if !citations.is_empty() {
                    out.push_back(sources(MESSAGES, &self.model, Value::Array(citations)));
                }
            }
            Kind::Thinking { text, signature } => {
                let signature = (!signature.is_empty()).then_some(signature);
                if signature.is_some() || !text.is_empty() {
                    out.push_back(thinking(WIRE, &self.model, text, signature));
                }
            }
            Kind::Tool { id, name, input, json, .. } => {
                // Compatible services send the whole input with the start of the block.
                let input = if json.trim().is_empty() && input.is_object() {
                    ToolInput::Json(input)
                } else {
                    ToolInput::parse(&json)
                };
                out.push_back(self.calls.tool_use(&id, &name, input, Map::new()));
            }
            Kind::Server { mut block, json, .. } => {
                // An input that is not JSON is left as it was at the start of the block.
                if let Ok(input) = serde_json::from_str::<Value>(&json) {
                    block["input"] = input;
                }
                out.push_back(opaque(WIRE, &self.model, block));
            }
            Kind::Other(block) => out.push_back(opaque(WIRE, &self.model, block)),
        }
    }

    /// Merges new usage totals: present fields overwrite, absent fields keep their value.
    fn count(&mut self, usage: &Value, out: &mut DeltaQueue) {
        let Value::Object(usage) = usage else { return };
        for (key, value) in usage.iter().filter(|(_, value)| !value.is_null()) {
            self.usage.insert(key.clone(), value.clone());
        }
        if let Some(usage) = Usage::from_provider_value(&Value::Object(self.usage.clone())) {
            out.push_back(Delta::Usage(usage));
        }
    }
}

fn push_text(text: LenientStr<'_>, out: &mut DeltaQueue) {
    if !text.is_empty() {
        out.push_back(Delta::Text(text.into_string()));
    }
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "model_context_window_exceeded" => StopReason::WindowFull,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        other => StopReason::Other(other.to_owned()),
    }
}

impl Decode for Decoder {
    fn event(&mut self, name: &str, data: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        if name == "error" {
            return Err(Failure::from_body(data));
        }
        let mut repaired = None;
        let event: Event<'_> = match json::decode(data, &mut repaired) {
            Ok(event) => event,
            // Some servers send the end mark of another wire.
            Err(_) if matches!(data.trim(), "" | "[DONE]") => return Ok(()),
            Err(failure) => return Err(failure),
        };
        match &*event.kind {
            "content_block_delta" => {
                if let Some(piece) = event.delta {
                    self.piece(event.index.0, piece, out);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.begin(event.index.0, block, out);
                }
            }
            "content_block_stop" => self.end_block(event.index.0, out),
            "message_start" => {
                if let Some(usage) = event.message.as_ref().and_then(|message| message.get("usage"))
                {
                    self.count(usage, out);
                }
            }
            "message_delta" => {
                if let Some(piece) = event.delta.filter(|piece| !piece.stop_reason.is_empty()) {
                    self.stop = Some(stop_reason(&piece.stop_reason));
                }
                if let Some(usage) = &event.usage {
                    self.count(usage, out);
                }
            }
            "message_stop" => {
                for block in &mut self.open {
                    block.ended = true;
                }
                self.emit_ended(out);
                let reason = self.stop.take().unwrap_or(StopReason::EndTurn);
                out.push_back(Delta::End(stop(reason, self.calls.has_calls())));
                self.done = true;
            }
            "error" => return Err(Failure::from_body(repaired.as_deref().unwrap_or(data))),
            // New kinds of events must not end an answer; `ping` is one of these.
            _ => {
                if event.error.is_some_and(|error| !error.is_null()) {
                    return Err(Failure::from_body(repaired.as_deref().unwrap_or(data)));
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done { Ok(()) } else { Err(Failure::truncated()) }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests;
