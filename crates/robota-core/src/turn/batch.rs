//! After the last call of an answer: the PostToolBatch hooks run on all calls together, before the model
//! receives the results.

use super::effect::with_input;
use super::{Effect, Ending, Env, Out, Phase, Turn, wrong_hook_point};
use crate::event::{HookFinished, HookStarted};
use crate::hook::{BatchDecision, EndedCall, HookAnswer, HookInput, HookPoint, HookReply};
use crate::state::join_context;
use crate::tool::ToolOutcome;

use super::calls::Stage;

impl Turn {
    /// Handles an answer whose calls have all ended: its hooks run, or the results are added at once.
    pub(super) fn end_batch(&mut self, env: &Env<'_>, out: &mut Out) {
        // A turn that ends makes no further model call, and these hooks decide only about that.
        let hooked = self.facts.hooks.contains(HookPoint::PostToolBatch) && self.ending.is_none();
        if !hooked {
            self.emit_results(env, out);
            return;
        }
        let ended = self.calls.iter().filter_map(|call| match &call.stage {
            Stage::Done(outcome) => Some(EndedCall {
                tool_use: with_input(&call.tool_use, call.input.as_ref()),
                outcome: ToolOutcome::clone(outcome),
            }),
            _ => None,
        });
        let calls = ended.collect();
        self.phase = Phase::Batching;
        self.batch_hook = true;
        out.emit(HookStarted { point: HookPoint::PostToolBatch, call: None });
        out.push(Effect::RunHook(HookInput::PostToolBatch { calls }));
    }

    pub(super) fn on_batch_hook(&mut self, reply: &HookReply, env: &Env<'_>, out: &mut Out) {
        let event = batch_hook_finished(Some(reply));
        self.batch_hook = false;
        if let Some(call) = self.calls.last_mut() {
            join_context(&mut call.context, event.context.as_deref());
        }
        if let Some(reason) = event.stop.clone() {
            self.stopped = Some(reason);
            self.ending = Some(Ending::Stopped);
        }
        out.emit(event);
        // The same append as the event: after a crash either the hooks have to run again, or the
        // results have what the hooks added.
        self.emit_results(env, out);
    }
}

/// Returns the event of PostToolBatch hooks that ended with that reply; without one they were cancelled.
pub(crate) fn batch_hook_finished(reply: Option<&HookReply>) -> HookFinished {
    let decision = reply.map(|reply| match (&reply.answer, &reply.stop) {
        (_, Some(reason)) => BatchDecision::Stop { reason: reason.clone() },
        (HookAnswer::PostToolBatch(decision), None) => decision.clone(),
        (_, None) => BatchDecision::Stop { reason: wrong_hook_point(HookPoint::PostToolBatch) },
    });
    let mut context = reply.and_then(|reply| reply.context.clone());
    let (name, stop) = match decision {
        None => ("cancelled", None),
        Some(BatchDecision::Continue { context: text }) => {
            join_context(&mut context, text.as_deref());
            ("continue", None)
        }
        Some(BatchDecision::Stop { reason }) => ("block", Some(reason)),
    };
    HookFinished {
        point: HookPoint::PostToolBatch,
        call: None,
        decision: name.to_owned(),
        reason: stop.clone(),
        input: None,
        outcome: None,
        context: context.filter(|text| !text.is_empty()),
        stop,
    }
}
