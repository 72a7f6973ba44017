//! Reads tool calls and reasoning that local models write into their text.
//!
//! Servers without a parser for their model's syntax stream calls and reasoning as text. If a
//! vendor's profile enables it, that text is parsed: reasoning becomes reasoning deltas, and a call
//! to a tool that was offered becomes a tool call. Everything that does not parse as one of them
//! stays text, verbatim.

mod gemma;
mod parse;
mod scan;
mod think;

use std::sync::Arc;

use robota_core::message::Block;
use robota_core::provider::{Delta, StopReason};
use robota_core::tool::ToolSpec;
use serde_json::Map;

use crate::failure::Failure;
use crate::profile::Quirks;
use crate::wire::decode::CallIds;
use crate::wire::{Decode, DeltaQueue};
use scan::{ScanItem, Scanner};
use think::ReasoningSplitter;

/// Wraps a decoder and parses its text for reasoning and calls.
pub(crate) struct TextCallDecoder {
    inner: Box<dyn Decode>,
    inner_deltas: DeltaQueue,
    splitter: ReasoningSplitter,
    scanner: Scanner,
    calls: CallIds,
    /// Whether the service sent a structured tool call: from then on text is not parsed for calls.
    structured: bool,
}

impl TextCallDecoder {
    pub(crate) fn new(inner: Box<dyn Decode>, quirks: &Quirks, tools: Arc<[ToolSpec]>) -> Self {
        Self {
            inner,
            inner_deltas: DeltaQueue::new(),
            splitter: ReasoningSplitter::new(&quirks.think_marks),
            scanner: Scanner::new(&quirks.text_calls, tools),
            calls: CallIds::default(),
            structured: false,
        }
    }

    fn process(&mut self, out: &mut DeltaQueue) {
        while let Some(delta) = self.inner_deltas.pop_front() {
            match delta {
                Delta::Text(text) => self.process_text(&text, out),
                Delta::End(reason) => {
                    self.flush(out);
                    let reason = match reason {
                        // Servers without a parser report the end of a text, not of a call.
                        StopReason::EndTurn | StopReason::StopSequence
                            if self.calls.has_calls() =>
                        {
                            StopReason::ToolUse
                        }
                        reason => reason,
                    };
                    out.push_back(Delta::End(reason));
                }
                Delta::Block(block) => {
                    self.flush(out);
                    self.structured |= matches!(block, Block::ToolUse(_));
                    out.push_back(Delta::Block(block));
                }
                Delta::Thinking(thought) => {
                    self.flush(out);
                    out.push_back(Delta::Thinking(thought));
                }
                other @ (Delta::ToolInput { .. }
                | Delta::Usage(_)
                | Delta::LeftOut(_)
                | Delta::Activity) => out.push_back(other),
            }
        }
    }

    fn process_text(&mut self, text: &str, out: &mut DeltaQueue) {
        let mut plain = String::new();
        self.splitter.push(text, &mut |is_reasoning, piece| {
            if !is_reasoning {
                plain.push_str(piece);
                return;
            }
            // The text before the reasoning must be emitted first.
            self.scanner.push(&std::mem::take(&mut plain), self.structured);
            emit_items(&mut self.scanner, &mut self.calls, out);
            out.push_back(Delta::Thinking(piece.to_owned()));
        });
        self.scanner.push(&plain, self.structured);
        emit_items(&mut self.scanner, &mut self.calls, out);
    }

    fn flush(&mut self, out: &mut DeltaQueue) {
        let mut plain = String::new();
        self.splitter.finish(&mut |is_reasoning, piece| {
            if is_reasoning {
                out.push_back(Delta::Thinking(piece.to_owned()));
            } else {
                plain.push_str(piece);
            }
        });
        self.scanner.push(&plain, self.structured);
        self.scanner.finish(self.structured);
        emit_items(&mut self.scanner, &mut self.calls, out);
    }
}

/// Emits what the scanner found.
fn emit_items(scanner: &mut Scanner, calls: &mut CallIds, out: &mut DeltaQueue) {
    for item in scanner.items.drain(..) {
        match item {
            ScanItem::Text(text) => out.push_back(Delta::Text(text)),
            ScanItem::Call { name, input } => {
                let number = calls.next_index();
                out.push_back(Delta::ToolInput {
                    index: number,
                    id: None,
                    name: Some(name.clone()),
                    json: input.to_string(),
                });
                let input = robota_core::message::ToolInput::Json(input);
                out.push_back(calls.tool_use(
                    // The model writes no id into its text.
                    &format!("text_call_{number}"),
                    &name,
                    input,
                    Map::new(),
                ));
            }
        }
    }
}

impl Decode for TextCallDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        let result = self.inner.event(name, data, &mut self.inner_deltas);
        self.process(out);
        result
    }

    fn finish(&mut self, out: &mut DeltaQueue) -> Result<(), Failure> {
        let result = self.inner.finish(&mut self.inner_deltas);
        self.process(out);
        if result.is_err() {
            self.flush(out);
        }
        result
    }

    fn is_done(&self) -> bool {
        self.inner.is_done()
    }

    fn is_stopped(&self) -> bool {
        self.inner.is_stopped()
    }
}

#[cfg(test)]
mod tests;
