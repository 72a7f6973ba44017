//! The decoder trait, and helpers that all decoders share.

use std::collections::{BTreeSet, VecDeque};

use robota_core::message::{Block, Opaque, Thinking, ToolInput, ToolUse};
use robota_core::provider::{Delta, StopReason};
use serde_json::{Map, Value};

use super::{MODEL_KEY, WIRE_KEY};
use crate::failure::Failure;
use crate::profile::Wire;

/// The queue to which a decoder appends the deltas it has read.
pub(crate) type DeltaQueue = VecDeque<Delta>;

/// Decodes the events of one answer.
pub(crate) trait Decode: Send {
    /// Decodes one event: its name, which may be empty, and its data.
    fn event(&mut self, name: &str, data: &str, out: &mut DeltaQueue) -> Result<(), Failure>;

    /// Ends the stream. Fails if the answer is incomplete.
    fn finish(&mut self, out: &mut DeltaQueue) -> Result<(), Failure>;

    /// Returns whether the end of the answer was read; later events are ignored.
    fn is_done(&self) -> bool;

    /// Returns whether the model has reported its stop reason, on a wire where an answer ends only
    /// with the response body: usage may follow, and nothing else is worth waiting for.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The tool calls of one answer: assigns indices, and makes ids present and unique.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    ids: BTreeSet<String>,
    pub(crate) count: u32,
}

impl CallIds {
    /// Returns the index of the next call.
    pub(crate) fn next_index(&mut self) -> u32 {
        let number = self.count;
        self.count += 1;
        number
    }

    /// Returns whether the answer has any call.
    pub(crate) fn has_calls(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Returns the complete call. Generates a missing id and adds a suffix to a repeated one,
    /// because the conversation drops a call with a repeated id as a duplicate.
    pub(crate) fn tool_use(
        &mut self,
        id: &str,
        name: &str,
        input: ToolInput,
        extra: Map<String, Value>,
    ) -> Delta {
        let mut unique =
            if id.trim().is_empty() { format!("call_{}", self.ids.len()) } else { id.to_owned() };
        let mut tail = 2;
        while self.ids.contains(&unique) {
            unique = format!("{}-{tail}", if id.trim().is_empty() { "call" } else { id });
            tail += 1;
        }
        self.ids.insert(unique.clone());
        // The turn assigns the runtime's own call id.
        let mut tool_use = ToolUse::new("".into(), unique, name, input);
        tool_use.extra = extra;
        Delta::Block(Block::ToolUse(tool_use))
    }
}

/// Returns a reasoning block. If it has a signature, it records the wire and model to return it to.
pub(crate) fn thinking(wire: Wire, model: &str, text: String, signature: Option<String>) -> Delta {
    let mut extra = Map::new();
    if signature.is_some() {
        extra = origin(wire, model);
    }
    Delta::Block(Block::Thinking(Thinking { thinking: text, signature, extra }))
}

/// Returns a block that only its own wire understands.
pub(crate) fn opaque(wire: Wire, model: &str, value: Value) -> Delta {
    let mut extra = Map::new();
    extra.insert(MODEL_KEY.to_owned(), model.into());
    Delta::Block(Block::Opaque(Opaque { wire: wire.name().to_owned(), value, extra }))
}

/// Returns a block with the sources of the text before it, as the service sent them. `kind` is one of
/// the names in [`super::citations`]; the block is kept, but never sent to a service.
pub(crate) fn sources(kind: &str, model: &str, value: Value) -> Delta {
    let mut extra = Map::new();
    extra.insert(MODEL_KEY.to_owned(), model.into());
    Delta::Block(Block::Opaque(Opaque { wire: kind.to_owned(), value, extra }))
}

/// Returns the fields that record which wire and model a block came from.
pub(crate) fn origin(wire: Wire, model: &str) -> Map<String, Value> {
    let mut extra = Map::new();
    extra.insert(WIRE_KEY.to_owned(), wire.name().into());
    extra.insert(MODEL_KEY.to_owned(), model.into());
    extra
}

/// Returns the stop reason: an answer with calls stops for tool use, also if the service reports
/// another reason.
pub(crate) fn stop(reason: StopReason, calls: bool) -> StopReason {
    // Services report `stop` although the answer has a call, for instance after a forced choice of
    // a tool.
    match reason {
        StopReason::EndTurn | StopReason::StopSequence if calls => StopReason::ToolUse,
        reason => reason,
    }
}
