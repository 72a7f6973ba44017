//! Counts calls that fail again and again with the same arguments.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::message::{BlobRef, ToolInput, ToolUse};
use crate::permission::Class;
use crate::tool::ToolOutcome;

/// The failing calls of a turn, by [`key`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Repeats {
    /// In how many rounds each of them failed.
    failed: BTreeMap<String, u32>,
    /// Those of the current round: a call counts once per round.
    counted: BTreeSet<String>,
}

impl Repeats {
    /// Starts to count the calls of another round.
    pub(super) fn next_round(&mut self) {
        self.counted.clear();
    }

    /// Counts a call. A call that changed something may make the others succeed, so they start again.
    pub(super) fn record(&mut self, call: &ToolUse, class: Option<Class>, outcome: &ToolOutcome) {
        let key = key(call, outcome);
        if !outcome.ok {
            // Once per round: several equal calls in one answer are one attempt of the model.
            if self.counted.insert(key.clone()) {
                *self.failed.entry(key).or_default() += 1;
            }
            return;
        }
        match class {
            // A call with effects may have removed the cause of earlier failures.
            Some(Class::Modify | Class::Execute) => self.failed.clear(),
            Some(Class::Inspect) | None => {
                self.failed.remove(&key);
            }
        }
    }

    /// Returns true if a call failed in that many rounds; 0 means no limit.
    pub(super) fn exceed(&self, limit: u32) -> bool {
        limit > 0 && self.failed.values().any(|count| *count >= limit)
    }

    /// Returns the tools of the failing calls.
    pub(super) fn tools(&self) -> Vec<&str> {
        // From the right: the name of a tool may contain spaces, the hash does not.
        let tools = self.failed.keys().filter_map(|key| key.rsplit_once(' '));
        let tools: BTreeSet<_> = tools.map(|(tool, _)| tool).collect();
        tools.into_iter().collect()
    }
}

/// Returns the tool's name and the hash of the arguments. Arguments that are not valid count as the
/// same: a model that cannot call a tool correctly makes another mistake each time.
fn key(call: &ToolUse, outcome: &ToolOutcome) -> String {
    let input = match &call.input {
        // A model that varies wrong arguments makes no progress either.
        ToolInput::Json(_) if outcome.error_code.as_deref() == Some("invalid_input") => {
            String::new()
        }
        ToolInput::Json(input) => BlobRef::of(input.to_string().as_bytes()).sha256,
        ToolInput::Unparsed(_) => String::new(),
    };
    format!("{} {input}", call.name)
}
