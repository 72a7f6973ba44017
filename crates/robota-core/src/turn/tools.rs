//! Processes the calls of an answer: judgement, hooks, approval, execution, results.

use std::sync::Arc;
use std::time::Duration;

use super::calls::Stage;
use super::effect::{FailedCall, judge_changed, with_input};
use super::{Effect, Ending, Env, JudgeResult, Out, Phase, SKIPPED_RESULT, Turn, wrong_hook_point};
use crate::approve::{Answer, Question, Scope};
use crate::context::{TOOL_RESULTS, conservative_tokens, exceeds};
use crate::event::{
    DecidedBy, HookFinished, HookStarted, PermissionAsked, PermissionDecided, ToolBatchFinished,
    ToolFinished, ToolResultAdded, ToolStarted, TurnEnd,
};
use crate::gate::{EACH_CALL_NEEDS_A_USER, Judgement, Source};
use crate::hook::{
    AfterChange, HookAnswer, HookInput, HookPoint, HookReply, PostToolDecision, PreToolDecision,
};
use crate::ids::{CallId, MessageId};
use crate::message::{ResultBlock, ToolResult};
use crate::permission::{Class, Verdict};
use crate::state::{join_context, result_chars};
use crate::tool::{DidRun, ToolOutcome};

impl Turn {
    pub(super) fn position(&self, call: &CallId) -> Option<usize> {
        self.calls.iter().position(|state| state.tool_use.call == *call)
    }

    /// Handles the gate's judgement of a call, or invalid arguments.
    pub(super) fn on_judged(&mut self, call: &CallId, judged: JudgeResult, out: &mut Out) {
        let Some(at) = self.position(call) else { return };
        if self.calls[at].stage != Stage::Judging {
            return;
        }
        match judged {
            JudgeResult::Invalid(error) => {
                let text =
                    format!("Error: {error}. Nothing was run; correct the call and try again.");
                self.finish_call(at, ToolOutcome::not_run("invalid_input", text), out);
            }
            // First, and also for a call that was approved with changes: a deny rule counts for
            // what will run, not for what was shown.
            JudgeResult::Judgement(judgement) if judgement.verdict == Verdict::Deny => {
                self.deny(at, DecidedBy::Gate, Some(judgement.class), &judgement.reason, out);
            }
            // The user, or a hook instead, has approved exactly these arguments, so an ask is answered. Nothing is
            // remembered: the rules that were shown were those of the original arguments.
            JudgeResult::Judgement(judgement) if self.calls[at].approved.is_some() => {
                let call = &mut self.calls[at];
                let note = call.approved.take();
                let by = if call.approved_by_hook { DecidedBy::Hook } else { DecidedBy::User };
                self.approve(at, (by, judgement.class), note, (Scope::Once, Vec::new()), out);
            }
            JudgeResult::Judgement(judgement) => {
                let decision = std::mem::take(&mut self.calls[at].then);
                let Some(judgement) = self.apply_hook(at, judgement, decision, out) else { return };
                // Allowed without waiting for the commit, so that a read can start while the answer
                // streams.
                let decided = judgement.verdict == Verdict::Allow && !self.needs_pre_hook(at);
                if decided {
                    self.calls[at].grant = judgement.grant;
                    self.allow(at, DecidedBy::Gate, judgement.class, judgement.reason, out);
                } else {
                    self.calls[at].stage = Stage::Judged(judgement);
                    self.advance_judged(at, out);
                }
            }
        }
    }

    fn needs_pre_hook(&self, at: usize) -> bool {
        self.facts.hooks.contains(HookPoint::PreToolUse) && !self.calls[at].pre_hooks_done
    }

    /// Starts everything that can start now. Hooks and questions of several calls may be open at
    /// the same time; calls run in the order of the answer.
    pub(super) fn work_calls(&mut self, out: &mut Out) {
        for at in 0..self.calls.len() {
            self.advance_judged(at, out);
            if let Stage::Allowed(class) = self.calls[at].stage
                && self.may_start(at, class)
            {
                let call = &mut self.calls[at];
                // The stage and the event are set together with the effect: the driver performs it
                // only after the event is durable.
                call.stage = Stage::Running(class);
                call.class = Some(class);
                out.emit(ToolStarted {
                    call: call.tool_use.call.clone(),
                    class,
                    input: call.input.clone(),
                });
                let tool_use = with_input(&call.tool_use, call.input.as_ref());
                let grant = call.grant;
                out.push(Effect::RunTool { tool_use, class, grant });
            }
        }
    }

    /// Moves a judged call on: it waits for its answer to be committed, then for its hooks, then
    /// for the approver. A retry may still discard an answer that is not committed.
    fn advance_judged(&mut self, at: usize, out: &mut Out) {
        if !self.committed || self.ending.is_some() {
            return;
        }
        let Stage::Judged(judgement) = &self.calls[at].stage else { return };
        let judgement = judgement.clone();
        let tool_use = with_input(&self.calls[at].tool_use, self.calls[at].input.as_ref());
        if self.needs_pre_hook(at) {
            out.emit(HookStarted {
                point: HookPoint::PreToolUse,
                call: Some(tool_use.call.clone()),
            });
            let verdict = judgement.verdict;
            out.push(Effect::RunHook(HookInput::PreToolUse { tool_use, verdict }));
            self.calls[at].stage = Stage::PreHook(judgement);
            return;
        }
        match judgement.verdict {
            Verdict::Allow => {
                self.calls[at].grant = judgement.grant;
                self.allow(at, DecidedBy::Gate, judgement.class, judgement.reason, out);
            }
            Verdict::Ask => {
                let metadata = std::mem::take(&mut self.calls[at].question_metadata);
                out.emit(PermissionAsked {
                    call: tool_use.call.clone(),
                    reason: judgement.reason.clone(),
                    rules: judgement.rules.clone(),
                    metadata: metadata.clone(),
                });
                out.push(Effect::AskPermission(Question {
                    call: tool_use,
                    class: judgement.class,
                    reason: judgement.reason.clone(),
                    rules: judgement.rules.clone(),
                    needs_user: judgement.source == Source::Tool,
                    metadata,
                    agent: None,
                    task: None,
                }));
                self.calls[at].stage = Stage::Asking(judgement);
            }
            Verdict::Deny => {
                self.deny(at, DecidedBy::Gate, Some(judgement.class), &judgement.reason, out);
            }
        }
    }

    fn may_start(&self, at: usize, class: Class) -> bool {
        // After an ending, calls get their results without running.
        if self.ending.is_some() {
            return false;
        }
        let running = self.calls.iter().filter(|call| call.is_running()).count();
        // Asked for every call again after each append, so a call that finds no place now starts
        // when another one ends.
        if running >= self.rules.concurrency.limit() {
            return false;
        }
        let earlier = &self.calls[..at];
        match class {
            // May start while the answer still streams, since it has no effects.
            Class::Inspect => earlier.iter().all(super::CallState::allows_parallel_reads),
            Class::Modify | Class::Execute => {
                // In the order of the answer, one at a time: the model wrote the second call
                // knowing what the first one does.
                self.committed && earlier.iter().all(super::CallState::is_done)
            }
        }
    }

    /// Handles the merged reply of a call's hooks.
    pub(super) fn on_call_hook(&mut self, call: &CallId, reply: HookReply, out: &mut Out) {
        let Some(at) = self.position(call) else { return };
        let HookReply { answer, context, stop } = reply;
        let extras = HookExtras { context: context.filter(|text| !text.is_empty()), stop };
        match self.calls[at].stage.clone() {
            Stage::PreHook(judgement) => {
                let decision = match (answer, &extras.stop) {
                    (HookAnswer::PreToolUse(decision), None) => decision,
                    // The hook's own reason is more precise than the reason of the stop.
                    (HookAnswer::PreToolUse(decision @ PreToolDecision::Deny { .. }), Some(_)) => {
                        decision
                    }
                    // A hook that stops the turn also prevents this call.
                    (HookAnswer::PreToolUse(_), Some(reason)) => {
                        PreToolDecision::Deny { reason: reason.clone() }
                    }
                    (_, _) => {
                        PreToolDecision::Deny { reason: wrong_hook_point(HookPoint::PreToolUse) }
                    }
                };
                self.on_pre_hook(at, judgement, decision, extras, out);
            }
            Stage::PostHook(_, outcome) => {
                let decision = match answer {
                    HookAnswer::PostToolUse(decision) => decision,
                    _ => {
                        PostToolDecision::Block { reason: wrong_hook_point(HookPoint::PostToolUse) }
                    }
                };
                self.on_post_hook(at, outcome, decision, extras, out);
            }
            _ => {}
        }
    }

    /// Applies what the hooks returned besides their decision: text for the model, and a stop.
    fn apply_extras(&mut self, at: usize, extras: HookExtras, out: &mut Out) {
        join_context(&mut self.calls[at].context, extras.context.as_deref());
        if self.stopped.is_none() && extras.stop.is_some() {
            self.stopped = extras.stop;
            self.stop_for_hook(out);
        }
    }

    fn on_pre_hook(
        &mut self,
        at: usize,
        judgement: Judgement,
        decision: PreToolDecision,
        extras: HookExtras,
        out: &mut Out,
    ) {
        let (name, reason) = match &decision {
            PreToolDecision::Continue => ("continue", None),
            PreToolDecision::Allow { reason } => ("allow", reason.clone()),
            PreToolDecision::Ask(question) => ("ask", Some(question.reason.clone())),
            PreToolDecision::Deny { reason } => ("deny", Some(reason.clone())),
            PreToolDecision::Change { then, .. } => ("change", then.reason()),
            PreToolDecision::Answer { .. } => ("answer", None),
        };
        let input = match &decision {
            PreToolDecision::Change { input, .. } => Some(input.clone()),
            _ => None,
        };
        out.emit(HookFinished {
            point: HookPoint::PreToolUse,
            call: Some(self.calls[at].tool_use.call.clone()),
            decision: name.to_owned(),
            reason,
            input,
            outcome: None,
            context: extras.context.clone(),
            stop: extras.stop.clone(),
        });
        // Set before the gate judges changed arguments: hooks must not run on their own change.
        self.calls[at].pre_hooks_done = true;
        let decision = match decision {
            PreToolDecision::Continue => AfterChange::Judge,
            PreToolDecision::Allow { reason } => AfterChange::Allow { reason },
            PreToolDecision::Ask(question) => AfterChange::Ask(question),
            PreToolDecision::Deny { reason } => {
                let text = format!("Blocked by hook: {reason}");
                out.emit(PermissionDecided {
                    call: self.calls[at].tool_use.call.clone(),
                    verdict: Verdict::Deny,
                    by: DecidedBy::Hook,
                    class: Some(judgement.class),
                    reason,
                    scope: None,
                    rules: Vec::new(),
                });
                self.finish_call(at, ToolOutcome::not_run("blocked_by_hook", text), out);
                self.apply_extras(at, extras, out);
                return;
            }
            PreToolDecision::Change { input, then } => {
                self.apply_extras(at, extras, out);
                self.calls[at].input = Some(input);
                // What the hook decided about the change is applied after the gate has judged it: a
                // hook cannot allow what a rule denies.
                self.calls[at].then = then;
                self.calls[at].stage = Stage::Judging;
                let call = &self.calls[at];
                out.push(judge_changed(call));
                return;
            }
            PreToolDecision::Answer { outcome } => {
                self.apply_extras(at, extras, out);
                // The answer is the hook's, whatever it claims: recovery must not treat the call as
                // one with effects.
                self.finish_call(at, ToolOutcome { ran: DidRun::No, ..outcome }, out);
                return;
            }
        };
        self.apply_extras(at, extras, out);
        let Some(judgement) = self.apply_hook(at, judgement, decision, out) else { return };
        self.calls[at].stage = Stage::Judged(judgement);
        self.advance_judged(at, out);
    }

    /// Applies a hook's decision to the gate's judgement. Returns `None` if that decided the call.
    /// A hook may make the verdict stricter. It may lift an ask of the mode, but not one of a rule.
    fn apply_hook(
        &mut self,
        at: usize,
        mut judgement: Judgement,
        decision: AfterChange,
        out: &mut Out,
    ) -> Option<Judgement> {
        match decision {
            AfterChange::Judge => {}
            // Only an ask is lifted. An allow stays, and a denial never gets here.
            AfterChange::Allow { reason } => {
                if judgement.verdict == Verdict::Ask && judgement.source == Source::Mode {
                    let reason = reason.unwrap_or_else(|| "a hook allows it".to_owned());
                    self.allow(at, DecidedBy::Hook, judgement.class, reason, out);
                    return None;
                }
            }
            AfterChange::Ask(question) => {
                // A hook can make a verdict stricter, never weaker: `max` keeps a denial.
                judgement.verdict = judgement.verdict.max(Verdict::Ask);
                // So that no later hook can lift the ask that this hook requires.
                if judgement.source == Source::Mode {
                    judgement.source = Source::Rule;
                }
                judgement.reason = question.reason;
                self.calls[at].question_metadata = question.metadata;
            }
        }
        Some(judgement)
    }

    fn on_post_hook(
        &mut self,
        at: usize,
        outcome: Arc<ToolOutcome>,
        decision: PostToolDecision,
        extras: HookExtras,
        out: &mut Out,
    ) {
        let ran = outcome.ran;
        let (name, reason, replaced) = match decision {
            PostToolDecision::Continue => ("continue", None, None),
            PostToolDecision::Replace { outcome } => ("replace", None, Some(outcome)),
            PostToolDecision::Block { reason } => {
                let text = format!("Blocked by hook: {reason}");
                ("block", Some(reason), Some(ToolOutcome::failed("blocked_by_hook", text)))
            }
        };
        // A hook may hide the outcome from the model; the call ran nevertheless.
        let replaced = replaced.map(|replaced| ToolOutcome { ran, ..replaced });
        out.emit(HookFinished {
            point: HookPoint::PostToolUse,
            call: Some(self.calls[at].tool_use.call.clone()),
            decision: name.to_owned(),
            reason,
            input: None,
            outcome: replaced.clone(),
            context: extras.context.clone(),
            stop: extras.stop.clone(),
        });
        self.calls[at].post_hooked = true;
        self.calls[at].stage = Stage::Done(replaced.map_or(outcome, Arc::new));
        self.apply_extras(at, extras, out);
    }

    /// Handles the approver's answer to the question about a call.
    pub(super) fn on_permission_answer(&mut self, call: &CallId, answer: Answer, out: &mut Out) {
        let Some(at) = self.position(call) else { return };
        let Stage::Asking(judgement) = &self.calls[at].stage else { return };
        let class = judgement.class;
        let needs_user = judgement.source == Source::Tool;
        let (mut answer, by_hook) = answer.without_hook();
        if by_hook && needs_user && answer.allows() {
            // Approvers ask the user instead; this one did not.
            answer = Answer::Unanswered { reason: EACH_CALL_NEEDS_A_USER.to_owned() };
        }
        let by = if by_hook { DecidedBy::Hook } else { DecidedBy::User };
        match answer {
            Answer::Allow { note } => {
                self.approve(at, (by, class), note, (Scope::Once, Vec::new()), out);
            }
            Answer::Remember { scope, rules, note } => {
                self.approve(at, (by, class), note, (scope, rules), out);
            }
            // Changes of permissions are for the session, which has made them.
            Answer::Update { input: None, note, updates: _ } => {
                self.approve(at, (by, class), note, (Scope::Once, Vec::new()), out);
            }
            Answer::AllowChanged { input, note }
            | Answer::Update { input: Some(input), note, updates: _ } => {
                let call = &mut self.calls[at];
                call.input = Some(input);
                let note = note.unwrap_or_else(|| "approved with changes".to_owned());
                call.approved = Some(note);
                call.approved_by_hook = by_hook;
                call.stage = Stage::Judging;
                out.push(judge_changed(call));
            }
            Answer::Deny { note } => {
                let reason = note.unwrap_or_else(|| "not approved".to_owned());
                self.deny(at, by, Some(class), &reason, out);
            }
            Answer::DenyAndStop { reason } => {
                self.deny(at, by, Some(class), &reason, out);
                self.apply_extras(at, HookExtras { context: None, stop: Some(reason) }, out);
            }
            Answer::Unanswered { reason } => {
                // Recorded as a decision of the gate: no person has denied it.
                self.deny(at, DecidedBy::Gate, Some(class), &reason, out);
            }
            // Taken off above.
            Answer::ByHook { .. } => {}
        }
    }

    fn approve(
        &mut self,
        at: usize,
        (by, class): (DecidedBy, Class),
        note: Option<String>,
        (scope, rules): (Scope, Vec<String>),
        out: &mut Out,
    ) {
        out.emit(PermissionDecided {
            call: self.calls[at].tool_use.call.clone(),
            verdict: Verdict::Allow,
            by,
            class: Some(class),
            reason: note.unwrap_or_else(|| "approved".to_owned()),
            // Once is the meaning of an absent scope in journals of format 1.
            scope: (scope != Scope::Once).then_some(scope),
            rules,
        });
        self.calls[at].stage = Stage::Allowed(class);
    }

    fn allow(&mut self, at: usize, by: DecidedBy, class: Class, reason: String, out: &mut Out) {
        out.emit(PermissionDecided {
            call: self.calls[at].tool_use.call.clone(),
            verdict: Verdict::Allow,
            by,
            class: Some(class),
            reason,
            scope: None,
            rules: Vec::new(),
        });
        self.calls[at].stage = Stage::Allowed(class);
    }

    fn deny(
        &mut self,
        at: usize,
        by: DecidedBy,
        class: Option<Class>,
        reason: &str,
        out: &mut Out,
    ) {
        out.emit(PermissionDecided {
            call: self.calls[at].tool_use.call.clone(),
            verdict: Verdict::Deny,
            by,
            class,
            reason: reason.to_owned(),
            scope: None,
            rules: Vec::new(),
        });
        let text = format!("Permission denied: {reason}");
        self.finish_call(at, ToolOutcome::not_run("denied", text), out);
    }

    /// Records the outcome of a call that does not run.
    pub(super) fn finish_call(&mut self, at: usize, outcome: ToolOutcome, out: &mut Out) {
        let (call, outcome) = (&mut self.calls[at], Arc::new(outcome));
        out.emit(ToolFinished {
            call: call.tool_use.call.clone(),
            class: None,
            outcome: outcome.clone(),
            duration_ms: 0,
        });
        call.stage = Stage::Done(outcome);
    }

    /// Records the outcome of a call that ran.
    pub(super) fn on_tool_finished(
        &mut self,
        call: &CallId,
        outcome: ToolOutcome,
        duration: Duration,
        out: &mut Out,
    ) {
        let Some(at) = self.position(call) else { return };
        // A call that is not running has an outcome already; a late report is ignored.
        let Stage::Running(class) = self.calls[at].stage else { return };
        // Counted here and not at the start: a call that a crash interrupted has no place in a
        // report.
        self.tools_executed += 1;
        let (call, outcome) = (call.clone(), Arc::new(outcome));
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        out.emit(ToolFinished {
            call: call.clone(),
            class: Some(class),
            outcome: outcome.clone(),
            duration_ms,
        });
        // A turn that closes because of an interrupt or a failure runs no more hooks.
        let run_hook = matches!(self.ending, None | Some(Ending::Stopped | Ending::Withheld));
        if self.facts.hooks.contains(HookPoint::PostToolUse) && run_hook {
            out.emit(HookStarted { point: HookPoint::PostToolUse, call: Some(call) });
            let state = &self.calls[at];
            let tool_use = with_input(&state.tool_use, state.input.as_ref());
            out.push(Effect::RunHook(HookInput::PostToolUse {
                tool_use,
                outcome: ToolOutcome::clone(&outcome),
                duration_ms: Some(duration_ms),
            }));
            self.calls[at].stage = Stage::PostHook(class, outcome);
        } else {
            self.calls[at].stage = Stage::Done(outcome);
        }
    }

    /// Adds all results, once every call is done, in one append, in the order of the calls, as far
    /// as they fit. One append, because a conversation with only some of the results is one that
    /// providers refuse (see decision 4).
    pub(super) fn emit_results(&mut self, env: &Env<'_>, out: &mut Out) {
        let message = MessageId::mint(env.ids);
        let mut chars = env.state.view.chars;
        let (mut added, mut skipped, mut failed) = (0, 0, 0);
        self.repeats.next_round();
        for call in std::mem::take(&mut self.calls) {
            // All calls are done here; the pattern only avoids a panic.
            let Stage::Done(outcome) = call.stage else { continue };
            self.repeats.record(&call.tool_use, call.class, &outcome);
            if !outcome.ok {
                failed += 1;
                self.failed_calls.push(FailedCall::new(&call.tool_use, &outcome));
            }
            // Measured after the previous result, with two characters per token: results are code
            // and data, which need more tokens than prose.
            let full = exceeds(conservative_tokens(chars), self.rules.context_window, TOOL_RESULTS);
            // The first result is always added: omitting all of them would not help the model.
            let result = if full && added > 0 {
                skipped += 1;
                ToolResult::text(&call.tool_use, SKIPPED_RESULT, true)
            } else {
                added += 1;
                let mut result = outcome.to_result(&call.tool_use);
                result.content.extend(call.context.map(ResultBlock::text));
                result
            };
            chars += result_chars(&result);
            let (message, result) = (message.clone(), result.into());
            out.emit(ToolResultAdded { round: self.round, message, result });
        }
        out.emit(ToolBatchFinished { round: self.round, added, skipped, failed });
        // The state has the results only after this append; the next step waits for it.
        self.phase = Phase::Preparing;
        match self.ending.take() {
            None => self.next_round_or_wait(out),
            Some(Ending::Interrupted(_)) => self.finish(TurnEnd::Interrupted, None, out),
            Some(Ending::StoreFailed(error)) => {
                self.finish(TurnEnd::StoreFailed, Some(error), out);
            }
            Some(Ending::ProviderFailed(error)) => self.finish_provider_failed(error, env, out),
            Some(Ending::Forced) => {
                let end = self.summary_end();
                self.finish(end, None, out);
            }
            Some(Ending::Withheld) => self.finish(TurnEnd::Complete, None, out),
            Some(Ending::Stopped) => {
                let reason = self.stopped.take().unwrap_or_default();
                self.text = format!("Stopped by hook: {reason}");
                self.finish(TurnEnd::Stopped, None, out);
            }
        }
    }
}

/// What hooks return besides their decision about a call.
struct HookExtras {
    context: Option<String>,
    stop: Option<String>,
}
