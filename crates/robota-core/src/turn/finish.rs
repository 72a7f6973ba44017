//! How a turn ends.

use std::time::Duration;

use super::{Effect, Env, Out, Phase, PromptPlace, Turn, TurnReport, emit_user_message};
use crate::error::ErrorData;
use crate::event::{Author, HookFinished, HookStarted, TurnEnd, TurnFinished};
use crate::hook::{HookAnswer, HookInput, HookPoint, HookReply, StopDecision};
use crate::message::Block;
use crate::provider::AnswerEnd;

/// A Stop hook may continue a turn this many times. The limit prevents an endless loop.
// A hook that never lets a turn end would spend money without end.
const MAX_STOP_CONTINUES: u8 = 8;

impl Turn {
    /// Handles an answer without calls, which is in the conversation now. It is final unless an
    /// input for the next round is waiting or a Stop hook continues the turn.
    pub(super) fn on_final_answer(&mut self, env: &Env<'_>, out: &mut Out) {
        // Before the hooks: an input that arrived in time continues the turn, so this is not its
        // end.
        if self.deliver_inputs(PromptPlace::Answer, env, out) {
            return;
        }
        // At the limit the hooks are not asked at all: their answer could not count.
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
        self.finish(TurnEnd::Complete, None, out);
    }

    pub(super) fn on_stop_hook(&mut self, reply: HookReply, env: &Env<'_>, out: &mut Out) {
        let context = reply.context.filter(|context| !context.trim().is_empty());
        let decision = match (reply.answer, context.clone()) {
            (HookAnswer::Stop(StopDecision::Continue { reason }), Some(context)) => {
                StopDecision::Continue { reason: format!("{reason}\n{context}") }
            }
            // Context is for the model to act on, so a hook that returns some continues the turn.
            (HookAnswer::Stop(StopDecision::Finish), Some(reason)) => {
                StopDecision::Continue { reason }
            }
            (HookAnswer::Stop(decision), None) => decision,
            // Finishing is the safe interpretation of a reply for another hook point.
            (_, _) => StopDecision::Finish,
        };
        let (name, reason) = match &decision {
            StopDecision::Finish => ("finish", None),
            StopDecision::Continue { reason } => ("continue", Some(reason.clone())),
        };
        out.emit(HookFinished {
            point: HookPoint::Stop,
            call: None,
            decision: name.to_owned(),
            reason,
            input: None,
            outcome: None,
            context,
            stop: None,
        });
        match decision {
            StopDecision::Finish => self.finish(TurnEnd::Complete, None, out),
            StopDecision::Continue { reason } => {
                self.stop_continues += 1;
                self.phase = Phase::Preparing;
                emit_user_message(vec![Block::text(reason)], None, Author::StopHook, env, out);
            }
        }
    }

    /// Ends the turn whose input a hook blocked.
    pub(super) fn finish_blocked(&mut self, reason: &str, out: &mut Out) {
        self.text = format!("Blocked by hook: {reason}");
        self.finish(TurnEnd::Blocked, None, out);
    }

    /// Ends the turn. Inputs that were accepted and not delivered stay in the state for the next
    /// turn.
    pub(super) fn finish(&mut self, end: TurnEnd, error: Option<ErrorData>, out: &mut Out) {
        self.phase = Phase::Finished;
        out.emit(TurnFinished {
            end,
            rounds: self.round,
            tools_executed: self.tools_executed,
            usage: self.usage,
            error: error.clone(),
            stop: self.stop.clone().filter(|stop| stop.answer() != AnswerEnd::Whole),
        });
        self.push_report(end, error, out);
    }

    /// Pushes the last effect of the turn.
    pub(super) fn push_report(&mut self, end: TurnEnd, error: Option<ErrorData>, out: &mut Out) {
        out.push(Effect::Finish(TurnReport {
            end,
            text: std::mem::take(&mut self.text),
            stop: self.stop.take(),
            rounds: self.round,
            tools_executed: self.tools_executed,
            failed_calls: std::mem::take(&mut self.failed_calls),
            usage: self.usage,
            cost: self.cost.dollars(),
            // The driver has the clock.
            duration: Duration::ZERO,
            error,
        }));
    }
}
