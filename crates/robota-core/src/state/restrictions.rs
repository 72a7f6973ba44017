//! The permission rules of single turns that deny calls. They are part of the journal, so that a turn
//! that is continued, also by another process, has them again.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, TurnStarted};
use crate::ids::InputId;

/// The rules that deny calls in the last turn, and in those of waiting inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TurnRestrictions {
    /// The rules of the turn that runs, or of the last one; a turn that continues it keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turn: Vec<String>,
    /// The rules of the turns that waiting inputs will start.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub inputs: IndexMap<InputId, Vec<String>>,
}

impl TurnRestrictions {
    /// Returns whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turn.is_empty() && self.inputs.is_empty()
    }

    /// Returns the rules of the turn that the input starts; without an input, those of the turn that
    /// continues the last one.
    #[must_use]
    pub fn of(&self, input: Option<&InputId>) -> &[String] {
        match input {
            Some(input) => self.inputs.get(input).map_or(&[], Vec::as_slice),
            None => &self.turn,
        }
    }

    pub(super) fn fold(&mut self, event: &Event) {
        match event {
            Event::TurnRulesAdded(data) => {
                let rules = match &data.input {
                    Some(input) => self.inputs.entry(input.clone()).or_default(),
                    None => &mut self.turn,
                };
                for rule in &data.deny {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
            // The rules of the input stay until its message is recorded: after a failure of the
            // journal it starts another turn.
            Event::TurnStarted(TurnStarted { input: Some(input), .. }) => {
                self.turn = self.of(Some(input)).to_vec();
            }
            Event::UserMessage(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
            }
            Event::InputBlocked(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
            }
            Event::InputCancelled(data) => {
                self.inputs.shift_remove(&data.input);
            }
            _ => {}
        }
    }
}
