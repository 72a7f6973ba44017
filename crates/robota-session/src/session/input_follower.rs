//! Follows one input through the journal.

use robota_core::error::ErrorData;
use robota_core::event::{Envelope, Event, TurnEnd};
use robota_core::ids::{InputId, TurnId};

/// How an input ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InputEnd {
    /// Its turn ended.
    Turn { end: TurnEnd, error: Option<ErrorData> },
    /// A hook blocked it, for this reason.
    Blocked(String),
    /// It was cancelled before it was delivered.
    Cancelled,
}

/// Follows one input: to the turn that takes it, and to the end of that turn.
pub(super) struct InputFollower {
    input: InputId,
    turn: Option<TurnId>,
    /// The last answer of the turn.
    pub(super) text: String,
}

impl InputFollower {
    pub(super) fn new(input: InputId) -> Self {
        Self { input, turn: None, text: String::new() }
    }

    /// Returns whether this is the turn that works on the input.
    pub(super) fn is_in(&self, turn: Option<&TurnId>) -> bool {
        self.turn.is_some() && self.turn.as_ref() == turn
    }

    /// Takes an event; returns how the input ended, once it has.
    pub(super) fn on_event(&mut self, envelope: &Envelope) -> Option<InputEnd> {
        let turn = envelope.turn.as_ref();
        match &envelope.event {
            Event::TurnStarted(data) if data.input.as_ref() == Some(&self.input) => {
                self.turn = turn.cloned();
            }
            Event::UserMessage(data) if data.input.as_ref() == Some(&self.input) => {
                self.turn = turn.cloned();
            }
            Event::InputBlocked(data) if data.input.as_ref() == Some(&self.input) => {
                return Some(InputEnd::Blocked(data.reason.clone()));
            }
            Event::InputCancelled(data) if data.input == self.input => {
                return Some(InputEnd::Cancelled);
            }
            Event::AssistantMessage(data) if self.is_in(turn) => self.text = data.message.text(),
            Event::TurnFinished(data) if self.is_in(turn) => {
                return Some(InputEnd::Turn { end: data.end, error: data.error.clone() });
            }
            _ => {}
        }
        None
    }
}
