//! The end of a turn.

use std::time::Duration;

use super::{Effect, Env, Out, Phase, Turn, TurnReport};
use crate::error::ErrorData;
use crate::event::{Author, HookFinished, HookStarted, InputBlocked, TurnEnd, TurnFinished};
use crate::hook::{HookAnswer, HookInput, HookPoint, HookReply, StopDecision};
use crate::message::Block;

/// A hook may keep a turn going this many times in a row.
const MAX_STOP_CONTINUES: u8 = 8;

impl Turn {
    /// The answer is in the conversation. It is final unless something was sent meanwhile or a
    /// hook wants more.
    pub(super) fn answered_finally(&mut self, env: &Env<'_>, out: &mut Out) {
        if env.state.inputs.values().any(super::prepare::is_due) {
            self.phase = Phase::Preparing;
            self.prepare(env, out);
            return;
        }
        let may_continue = self.stop_continues < MAX_STOP_CONTINUES;
        if self.facts.hooks.contains(HookPoint::Stop) && may_continue {
            self.phase = Phase::Stopping;
            out.emit(HookStarted { point: HookPoint::Stop, call: None });
            out.push(Effect::RunHook(HookInput::Stop {
                text: self.text.clone(),
                active: self.stop_continues > 0,
            }));
            return;
        }
        self.conclude(TurnEnd::Complete, None, out);
    }

    pub(super) fn stop_hooked(&mut self, reply: HookReply, env: &Env<'_>, out: &mut Out) {
        let context = reply.context.filter(|context| !context.trim().is_empty());
        let decision = match (reply.answer, context.clone()) {
            (HookAnswer::Stop(StopDecision::Continue { reason }), Some(context)) => {
                StopDecision::Continue { reason: format!("{reason}\n{context}") }
            }
            // Words for the model are words it can act on: the turn goes on with them.
            (HookAnswer::Stop(StopDecision::Finish), Some(reason)) => {
                StopDecision::Continue { reason }
            }
            (HookAnswer::Stop(decision), None) => decision,
            // Ending is the safe reading of an answer that makes no sense here.
            (_, _) => StopDecision::Finish,
        };
        let (word, reason) = match &decision {
            StopDecision::Finish => ("finish", None),
            StopDecision::Continue { reason } => ("continue", Some(reason.clone())),
        };
        out.emit(HookFinished {
            point: HookPoint::Stop,
            call: None,
            decision: word.to_owned(),
            reason,
            input: None,
            outcome: None,
            context,
            stop: None,
        });
        match decision {
            StopDecision::Finish => self.conclude(TurnEnd::Complete, None, out),
            StopDecision::Continue { reason } => {
                self.stop_continues += 1;
                self.phase = Phase::Preparing;
                self.emit_user_message(vec![Block::text(reason)], Author::StopHook, env, out);
            }
        }
    }

    /// A hook refused the input.
    pub(super) fn blocked(&mut self, reason: &str, out: &mut Out) {
        out.emit(InputBlocked { input: self.input.clone(), reason: reason.to_owned() });
        self.text = format!("Blocked by hook: {reason}");
        self.conclude(TurnEnd::Blocked, None, out);
    }

    /// The turn is over. What was accepted and not delivered stays in the state, for whoever
    /// drives the next turn.
    pub(super) fn conclude(&mut self, end: TurnEnd, error: Option<ErrorData>, out: &mut Out) {
        self.phase = Phase::Finished;
        out.emit(TurnFinished {
            end,
            rounds: self.round,
            tools_executed: self.tools_executed,
            usage: self.usage,
            error: error.clone(),
        });
        self.report(end, error, out);
    }

    /// The last effect of a turn.
    pub(super) fn report(&mut self, end: TurnEnd, error: Option<ErrorData>, out: &mut Out) {
        out.push(Effect::Finish(TurnReport {
            end,
            text: std::mem::take(&mut self.text),
            stop: self.stop.take(),
            rounds: self.round,
            tools_executed: self.tools_executed,
            usage: self.usage,
            // The driver has the clock and the prices.
            cost: None,
            duration: Duration::ZERO,
            error,
        }));
    }
}
