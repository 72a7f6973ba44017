//! Ending a turn before its time: somebody says stop, or the journal cannot be written.

use super::calls::Stage;
use super::{Effect, Ending, Env, INTERRUPTED_TOOL, Out, Phase, Target, Turn};
use crate::error::ErrorData;
use crate::event::{HookFinished, InputCancelled, Interrupted, TurnEnd};
use crate::hook::HookPoint;
use crate::message::Cause;
use crate::tool::{Ran, ToolOutcome};

impl Turn {
    pub(super) fn abort(
        &mut self,
        cause: Cause,
        note: Option<String>,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        // A turn that is already being ended is ended once.
        if matches!(self.ending, Some(Ending::Interrupted(_) | Ending::StoreFailed(_))) {
            return;
        }
        self.cancel_running(out);
        out.emit(Interrupted { cause, note });
        self.end_early(Ending::Interrupted(cause), cause, env, out);
    }

    pub(super) fn store_failed(
        &mut self,
        error: ErrorData,
        dropped: &[Effect],
        env: &Env<'_>,
        out: &mut Out,
    ) {
        for effect in dropped {
            if let Effect::RunTool { tool_use, class } = effect
                && let Some(call) =
                    self.calls.iter_mut().find(|call| call.tool_use.call == tool_use.call)
            {
                // Its start was never durable, so it never started.
                call.stage = Stage::Allowed(*class);
            }
        }
        self.cancel_running(out);
        self.end_early(Ending::StoreFailed(error), Cause::Store, env, out);
    }

    fn cancel_running(&self, out: &mut Out) {
        match self.phase {
            Phase::Prompting(_) | Phase::Stopping => out.push(Effect::Cancel(Target::Hook(None))),
            Phase::Calling => out.push(Effect::Cancel(Target::Model)),
            Phase::Waiting(_) => out.push(Effect::Cancel(Target::Wait)),
            Phase::Compacting => out.push(Effect::Cancel(Target::Compaction)),
            Phase::Preparing | Phase::Working | Phase::Answered | Phase::Finished => {}
        }
        for call in &self.calls {
            let id = call.tool_use.call.clone();
            match call.stage {
                Stage::PreHook(_) | Stage::PostHook(..) => {
                    out.push(Effect::Cancel(Target::Hook(Some(id))));
                }
                Stage::Asking(_) => out.push(Effect::Cancel(Target::Question(id))),
                Stage::Running(_) => out.push(Effect::Cancel(Target::Tool(id))),
                Stage::Judging | Stage::Judged(_) | Stage::Allowed(_) | Stage::Done(_) => {}
            }
        }
    }

    fn end_early(&mut self, ending: Ending, cause: Cause, env: &Env<'_>, out: &mut Out) {
        if matches!(ending, Ending::Interrupted(_)) {
            self.cancel_inputs(cause, out);
        }
        // While a new round waits, the answer of the last one is committed already.
        if matches!(self.phase, Phase::Calling | Phase::Waiting(true)) {
            self.commit_interrupted(cause, env, out);
        }
        for at in 0..self.calls.len() {
            match self.calls[at].stage.clone() {
                Stage::Done(_) | Stage::Running(_) => {}
                Stage::PostHook(_, outcome) => self.withhold(at, outcome.ran, out),
                Stage::Judging
                | Stage::Judged(_)
                | Stage::PreHook(_)
                | Stage::Asking(_)
                | Stage::Allowed(_) => {
                    let outcome = ToolOutcome::not_run("interrupted", not_run_text(cause));
                    self.finish_call(at, outcome, out);
                }
            }
        }
        if !self.calls.is_empty() {
            self.ending = Some(ending);
            self.phase = Phase::Working;
            if !out.has_append() && self.calls.iter().all(super::CallState::is_done) {
                self.settle_calls(env, out);
            }
            return;
        }
        match ending {
            Ending::StoreFailed(error) => self.conclude(TurnEnd::StoreFailed, Some(error), out),
            Ending::Interrupted(_)
            | Ending::ProviderFailed(_)
            | Ending::Forced
            | Ending::Stopped => {
                self.conclude(TurnEnd::Interrupted, None, out);
            }
        }
    }

    /// A hook said that all work is to stop: nothing more starts, what runs is waited for, and
    /// then the turn ends. While the answer still streams it waits for its end.
    pub(super) fn stop_calls(&mut self, out: &mut Out) {
        let Some(reason) = self.stopped.clone() else { return };
        if !self.committed || self.ending.is_some() {
            return;
        }
        self.ending = Some(Ending::Stopped);
        for at in 0..self.calls.len() {
            let id = self.calls[at].tool_use.call.clone();
            match self.calls[at].stage {
                Stage::Running(_) | Stage::PostHook(..) | Stage::Done(_) => continue,
                Stage::PreHook(_) => out.push(Effect::Cancel(Target::Hook(Some(id)))),
                Stage::Asking(_) => out.push(Effect::Cancel(Target::Question(id))),
                Stage::Judging | Stage::Judged(_) | Stage::Allowed(_) => {}
            }
            let text = format!("Not executed: a hook ended the turn ({reason})");
            self.finish_call(at, ToolOutcome::not_run("stopped_by_hook", text), out);
        }
    }

    /// What nobody will deliver any more is told so.
    fn cancel_inputs(&mut self, cause: Cause, out: &mut Out) {
        for (input, _) in std::mem::take(&mut self.queue) {
            out.emit(InputCancelled { input, cause });
        }
        if let (Phase::Prompting(_), Some(input)) = (&self.phase, &self.input) {
            out.emit(InputCancelled { input: input.clone(), cause });
        }
    }

    /// The hook that was to look at a result did not: the model does not get to see it.
    fn withhold(&mut self, at: usize, ran: Ran, out: &mut Out) {
        let text = "The result is withheld: its PostToolUse hook did not finish.";
        let outcome = ToolOutcome { ran, ..ToolOutcome::failed("withheld", text) };
        out.emit(HookFinished {
            point: HookPoint::PostToolUse,
            call: Some(self.calls[at].tool_use.call.clone()),
            decision: "cancelled".to_owned(),
            reason: None,
            input: None,
            outcome: Some(outcome.clone()),
            context: None,
            stop: None,
        });
        self.calls[at].post_hooked = true;
        self.calls[at].stage = Stage::Done(outcome);
    }
}

fn not_run_text(cause: Cause) -> &'static str {
    match cause {
        Cause::User => INTERRUPTED_TOOL,
        Cause::Shutdown => "Execution interrupted by shutdown",
        Cause::Crash => "Execution interrupted by a crash",
        Cause::Provider => "Execution interrupted by a provider error",
        Cause::Store => "Execution interrupted by a storage error",
    }
}
