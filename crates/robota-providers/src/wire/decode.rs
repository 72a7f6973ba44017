//! What decoders share.

use std::collections::{BTreeSet, VecDeque};

use robota_core::message::{Block, Opaque, Thinking, ToolInput, ToolUse};
use robota_core::provider::{Delta, StopReason};
use serde_json::{Map, Value};

use super::{MODEL_KEY, WIRE_KEY};
use crate::failure::Failure;
use crate::profile::Wire;

/// Where a decoder puts what it read.
pub(crate) type Out = VecDeque<Delta>;

/// Reads the events of one answer.
pub(crate) trait Decode: Send {
    /// One event: its name, which may be empty, and its data.
    fn event(&mut self, name: &str, data: &str, out: &mut Out) -> Result<(), Failure>;

    /// No more events will come. Fails when the answer has no end.
    fn finish(&mut self, out: &mut Out) -> Result<(), Failure>;

    /// Whether the answer's end was read: nothing after it counts.
    fn is_done(&self) -> bool;

    /// Whether the model has said why it stopped, on a wire that ends an answer only with its
    /// bytes: what it cost may follow, and nothing else is waited for.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The calls of one answer: their numbers, and ids that are there and differ.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    ids: BTreeSet<String>,
    pub(crate) count: u32,
}

impl Calls {
    /// The number of the next call.
    pub(crate) fn number(&mut self) -> u32 {
        let number = self.count;
        self.count += 1;
        number
    }

    /// Whether any call was made.
    pub(crate) fn any(&self) -> bool {
        !self.ids.is_empty()
    }

    /// The call, whole. A missing id is made up, and one that was there before gets a tail: the
    /// conversation leaves out what it takes for a repetition.
    pub(crate) fn whole(
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
        // The turn mints our own id.
        let mut tool_use = ToolUse::new("".into(), unique, name, input);
        tool_use.extra = extra;
        Delta::Block(Block::ToolUse(tool_use))
    }
}

/// Reasoning that goes back to the wire and the model it came from.
pub(crate) fn thinking(wire: Wire, model: &str, text: String, signature: Option<String>) -> Delta {
    let mut extra = Map::new();
    if signature.is_some() {
        extra = origin(wire, model);
    }
    Delta::Block(Block::Thinking(Thinking { thinking: text, signature, extra }))
}

/// Something only its own wire understands.
pub(crate) fn opaque(wire: Wire, model: &str, value: Value) -> Delta {
    let mut extra = Map::new();
    extra.insert(MODEL_KEY.to_owned(), model.into());
    Delta::Block(Block::Opaque(Opaque { wire: wire.name().to_owned(), value, extra }))
}

/// What a block keeps about where it came from.
pub(crate) fn origin(wire: Wire, model: &str) -> Map<String, Value> {
    let mut extra = Map::new();
    extra.insert(WIRE_KEY.to_owned(), wire.name().into());
    extra.insert(MODEL_KEY.to_owned(), model.into());
    extra
}

/// Why it stopped: with calls it waits for tools, whatever word it uses for that.
pub(crate) fn stop(reason: StopReason, calls: bool) -> StopReason {
    match reason {
        StopReason::EndTurn | StopReason::StopSequence if calls => StopReason::ToolUse,
        reason => reason,
    }
}
