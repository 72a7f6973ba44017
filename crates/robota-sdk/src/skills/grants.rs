//! Permission rules that a skill gets for one turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::event::{Envelope, Event};
use robota_core::ids::InputId;
use robota_session::PolicyGate;

/// The rules of `allowed-tools` and `disallowed-tools`: they apply from the start of the skill's turn
/// to its end.
#[derive(Clone)]
pub(crate) struct TurnGrants {
    gate: Arc<PolicyGate>,
    /// The rules of prompts whose turn has not started.
    waiting: Arc<Mutex<HashMap<InputId, TurnRules>>>,
}

#[derive(Default)]
struct TurnRules {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl TurnGrants {
    pub(crate) fn new(gate: Arc<PolicyGate>) -> Self {
        Self { gate, waiting: Arc::default() }
    }

    /// Keeps rules for the turn of a prompt.
    pub(crate) fn keep(&self, input: InputId, allow: Vec<String>, deny: Vec<String>) {
        if !(allow.is_empty() && deny.is_empty()) {
            self.lock().insert(input, TurnRules { allow, deny });
        }
    }

    /// Adds rules to the running turn. Returns the rules that are not valid.
    pub(crate) fn add(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        self.gate.add_turn_rules(allow, deny)
    }

    /// Takes an event of the session, in the session's own task: the rules apply before a call of the
    /// turn is judged.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        match &envelope.event {
            Event::TurnStarted(data) => {
                let rules = data.input.as_ref().and_then(|input| self.lock().remove(input));
                if let Some(TurnRules { allow, deny }) = rules {
                    self.gate.add_turn_rules(&allow, &deny);
                }
            }
            Event::TurnFinished(_) => self.gate.forget_turn_rules(),
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<InputId, TurnRules>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
