//! Follows one input through the journal.

use std::time::Duration;

use jiff::Timestamp;
use robota_core::catalogue::CostSum;
use robota_core::error::ErrorData;
use robota_core::event::{Envelope, Event, TurnEnd};
use robota_core::ids::{InputId, TurnId};
use robota_core::project::AnswerText;
use robota_core::provider::StopReason;
use robota_core::usage::Usage;

/// How an input ended: each input ends in exactly one of these ways.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InputEnd {
    /// The turn that took the input ended.
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
    started: Option<Timestamp>,
    pub(super) answer: AnswerText,
    /// Why the model stopped that answer.
    pub(super) stop: Option<StopReason>,
    /// What the turn cost; none if it ran before it took the input.
    pub(super) cost: Option<CostSum>,
    pub(super) usage: Usage,
    pub(super) rounds: u32,
    pub(super) tools_executed: u32,
    pub(super) duration: Duration,
}

impl InputFollower {
    pub(super) fn new(input: InputId) -> Self {
        Self {
            input,
            turn: None,
            started: None,
            answer: AnswerText::default(),
            stop: None,
            cost: None,
            usage: Usage::default(),
            rounds: 0,
            tools_executed: 0,
            duration: Duration::ZERO,
        }
    }

    /// Returns whether this is the turn that works on the input.
    pub(super) fn is_in(&self, turn: Option<&TurnId>) -> bool {
        self.turn.is_some() && self.turn.as_ref() == turn
    }

    /// Takes an event; returns how the input ended, once it has.
    pub(super) fn on_event(&mut self, envelope: &Envelope) -> Option<InputEnd> {
        let turn = envelope.turn.as_ref();
        if self.is_in(turn) {
            self.answer.push(&envelope.event);
            if let Some(cost) = &mut self.cost {
                cost.add_event(&envelope.event);
            }
        }
        match &envelope.event {
            Event::TurnStarted(data) if data.input.as_ref() == Some(&self.input) => {
                self.turn = turn.cloned();
                self.started = Some(envelope.ts);
                self.cost = Some(CostSum::new(&data.model));
            }
            // A turn that was running took the input: the duration counts from here, but rounds, calls
            // and tokens are those of the whole turn.
            Event::UserMessage(data) if data.input.as_ref() == Some(&self.input) => {
                self.turn = turn.cloned();
                self.started.get_or_insert(envelope.ts);
            }
            Event::InputBlocked(data) if data.input.as_ref() == Some(&self.input) => {
                return Some(InputEnd::Blocked(data.reason.clone()));
            }
            Event::InputCancelled(data) if data.input == self.input => {
                return Some(InputEnd::Cancelled);
            }
            Event::ModelResponded(data) if self.is_in(turn) => self.stop = Some(data.stop.clone()),
            Event::TurnFinished(data) if self.is_in(turn) => {
                (self.rounds, self.tools_executed) = (data.rounds, data.tools_executed);
                self.usage = data.usage;
                let started = self.started.unwrap_or(envelope.ts);
                self.duration = envelope.ts.duration_since(started).try_into().unwrap_or_default();
                return Some(InputEnd::Turn { end: data.end, error: data.error.clone() });
            }
            _ => {}
        }
        None
    }
}
