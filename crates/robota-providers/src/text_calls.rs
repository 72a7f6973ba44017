//! Reads tool calls and reasoning that local models write into their text.
//!
//! Servers without a parser for their model's syntax stream calls and reasoning as text. If a
//! vendor's
//! profile enables it, that text is parsed: reasoning becomes reasoning deltas, and a call to a
//! tool
//! that was offered becomes a tool call. Everything that does not parse as one of them stays text,
//! verbatim.

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
use crate::wire::decode::Calls;
use crate::wire::{Decode, Out};
use scan::{Found, Scanner};
use think::Thoughts;

/// Wraps a decoder and parses its text for reasoning and calls.
pub(crate) struct Projected {
    inner: Box<dyn Decode>,
    read: Out,
    thoughts: Thoughts,
    calls: Scanner,
    made: Calls,
    /// Calls that came as calls: then text is text.
    /// Whether the service sent a structured tool call: from then on text is not parsed for calls.
}

impl Projected {
    pub(crate) fn new(inner: Box<dyn Decode>, quirks: &Quirks, tools: Arc<[ToolSpec]>) -> Self {
        Self {
            inner,
            read: Out::new(),
            thoughts: Thoughts::new(&quirks.think_marks),
            calls: Scanner::new(&quirks.text_calls, tools),
            made: Calls::default(),
            structured: false,
        }
    }

    fn project(&mut self, out: &mut Out) {
        while let Some(delta) = self.read.pop_front() {
            match delta {
                Delta::Text(text) => self.text(&text, out),
                Delta::End(reason) => {
                    self.flush(out);
                    let reason = match reason {
                        StopReason::EndTurn | StopReason::StopSequence if self.made.any() => {
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

    fn text(&mut self, text: &str, out: &mut Out) {
        let mut words = String::new();
        self.thoughts.push(text, &mut |thought, piece| {
            if !thought {
                words.push_str(piece);
                return;
            }
            // The text before the reasoning must be emitted first.
            self.calls.push(&std::mem::take(&mut words), self.structured);
            take(&mut self.calls, &mut self.made, out);
            out.push_back(Delta::Thinking(piece.to_owned()));
        });
        self.calls.push(&words, self.structured);
        take(&mut self.calls, &mut self.made, out);
    }

    fn flush(&mut self, out: &mut Out) {
        let mut words = String::new();
        self.thoughts.finish(&mut |thought, piece| {
            if thought {
                out.push_back(Delta::Thinking(piece.to_owned()));
            } else {
                words.push_str(piece);
            }
        });
        self.calls.push(&words, self.structured);
        self.calls.finish(self.structured);
        take(&mut self.calls, &mut self.made, out);
    }
}

/// Emits what the scanner found.
fn take(scanner: &mut Scanner, made: &mut Calls, out: &mut Out) {
    for found in scanner.found.drain(..) {
        match found {
            Found::Text(text) => out.push_back(Delta::Text(text)),
            Found::Call { name, input } => {
                let number = made.number();
                out.push_back(Delta::ToolInput {
                    index: number,
                    name: Some(name.clone()),
                    json: input.to_string(),
                });
                let input = robota_core::message::ToolInput::Json(input);
                out.push_back(made.whole(&format!("text_call_{number}"), &name, input, Map::new()));
            }
        }
    }
}

impl Decode for Projected {
    fn event(&mut self, name: &str, data: &str, out: &mut Out) -> Result<(), Failure> {
        let result = self.inner.event(name, data, &mut self.read);
        self.project(out);
        result
    }

    fn finish(&mut self, out: &mut Out) -> Result<(), Failure> {
        let result = self.inner.finish(&mut self.read);
        self.project(out);
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
