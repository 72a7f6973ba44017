//! Ends a turn early: the user or a shutdown interrupts it, or the journal cannot be written.
//!
//! The machine cancels everything that runs and waits for the running calls. Then [`close_turn`]
//! closes the rest, as it does for a turn that a crash left open.

use super::calls::Stage;
use super::{Effect, Ending, Env, Out, Phase, PromptPlace, Target, Turn};
use crate::close::{Closing, close_turn, not_run_text};
use crate::error::ErrorData;
use crate::event::{InputCancelled, Interrupted, TurnEnd};
use crate::ids::InputId;
use crate::message::Cause;
use crate::tool::ToolOutcome;

impl Turn {
    pub(super) fn on_abort(
        &mut self,
        cause: Cause,
        note: Option<String>,
        keep_inputs: bool,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        // Before the event: nothing should keep running while a slow journal is written.
        self.cancel_running(out);
        out.emit(Interrupted { cause, note });
        if cause == Cause::User {
            // The user stops the waiting inputs together with the turn, unless one of them is the
            // reason to stop it; the input of the turn itself is stopped in any case. A shutdown keeps
            // all of them for later.
            let taken = env.state.turn.as_ref().and_then(|turn| turn.input.as_ref());
            let inputs = env.state.inputs.keys();
            for input in inputs.filter(|input| !keep_inputs || taken == Some(*input)) {
                out.emit(InputCancelled { input: input.clone(), cause });
            }
        }
        // After the cancellations are queued: what still arrives of cancelled effects is ignored
        // from now on.
        self.begin_closing(Ending::Interrupted(cause), cause, env, out);
    }

    /// Cancels an input whose prompt hooks run. The turn continues, as after a hook that blocked it.
    pub(super) fn on_withdraw(&mut self, input: &InputId, out: &mut Out) {
        let Phase::Prompting(prompt) = &self.phase else { return };
        let next = match prompt.place {
            // The turn is that of the input: it is aborted instead.
            PromptPlace::Start => return,
            PromptPlace::Round => Phase::Preparing,
            PromptPlace::Answer => Phase::Answered,
        };
        if prompt.input.as_ref() != Some(input) {
            return;
        }
        out.push(Effect::Cancel(Target::Hook(None)));
        out.emit(InputCancelled { input: input.clone(), cause: Cause::User });
        self.phase = next;
    }

    pub(super) fn on_append_failed(
        &mut self,
        error: ErrorData,
        dropped: &[Effect],
        env: &Env<'_>,
        out: &mut Out,
    ) {
        for effect in dropped {
            if let Effect::RunTool { tool_use, .. } = effect
                && let Some(at) = self.position(&tool_use.call)
            {
                // The start may not be durable, so the call does not start. Without this event the
                // state would say that it started, and `close_turn` would seal it as a call that
                // may have had effects.
                let text = not_run_text(Cause::Store);
                self.finish_call(at, ToolOutcome::not_run("interrupted", text), out);
            }
        }
        self.cancel_running(out);
        self.begin_closing(Ending::StoreFailed(error), Cause::Store, env, out);
    }

    fn cancel_running(&self, out: &mut Out) {
        match self.phase {
            Phase::Prompting(_) | Phase::Batching | Phase::Stopping => {
                out.push(Effect::Cancel(Target::Hook(None)));
            }
            Phase::Calling => out.push(Effect::Cancel(Target::Model)),
            Phase::Waiting(_) => out.push(Effect::Cancel(Target::Wait)),
            Phase::FindingLimits => out.push(Effect::Cancel(Target::Limits)),
            Phase::Compacting => out.push(Effect::Cancel(Target::Compaction)),
            Phase::Preparing
            | Phase::Working
            | Phase::Answered
            | Phase::Closing
            | Phase::Finished => {}
        }
        // Judgements are not cancelled: they have no effects, and their answers are ignored.
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

    fn begin_closing(&mut self, ending: Ending, cause: Cause, env: &Env<'_>, out: &mut Out) {
        // While the next round waits (`Waiting(false)`), the last answer is already committed.
        if matches!(self.phase, Phase::Calling | Phase::Waiting(true)) {
            self.commit_interrupted(cause, env, out);
        }
        self.ending = Some(ending);
        self.phase = Phase::Closing;
        // With an append, `Appended` calls it again when the state has the new events.
        if !out.has_append() {
            self.close_when_idle(env, out);
        }
    }

    /// Closes the turn, unless a call still runs: its outcome is written first.
    pub(super) fn close_when_idle(&mut self, env: &Env<'_>, out: &mut Out) {
        if self.calls.iter().any(super::CallState::is_running) {
            return;
        }
        let (end, cause, error) = match self.ending.take() {
            Some(Ending::StoreFailed(error)) => (TurnEnd::StoreFailed, Cause::Store, Some(error)),
            Some(Ending::Interrupted(cause)) => (TurnEnd::Interrupted, cause, None),
            // The other endings settle their calls themselves and never get here.
            _ => (TurnEnd::Interrupted, Cause::User, None),
        };
        self.calls.clear();
        self.phase = Phase::Finished;
        let closing = Closing { end, error: error.clone(), ..Closing::of(cause) };
        for event in close_turn(env.state, &closing, env.ids) {
            out.emit(event);
        }
        self.push_report(end, error, out);
    }

    /// Stops the turn for a hook: no more calls start, the machine waits for the running ones, and
    /// then the turn ends. While the answer still streams, this waits for its end.
    pub(super) fn stop_for_hook(&mut self, out: &mut Out) {
        let Some(reason) = self.stopped.clone() else { return };
        if !self.committed || self.ending.is_some() {
            return;
        }
        // Set before the calls are finished, so that none of them starts in between.
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
}
