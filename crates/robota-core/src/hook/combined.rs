//! Several hooks that act as one.

use std::sync::Arc;

use super::merge::is_allow;
use super::{
    AfterChange, BatchDecision, EndedCall, EventDecision, EventReport, HookAnswer, HookData,
    HookElicitation, HookEvent, HookInput, HookPermission, HookPoint, HookReply, Hooks,
    PostToolDecision, PreToolDecision, PromptDecision, StopDecision,
};
use crate::guard::{guarded, guarded_async};
use crate::message::{ToolInput, ToolUse};
use crate::permission::Verdict;
use crate::tool::ToolOutcome;

/// Runs several [`Hooks`] in order. Each sees what the hooks before it changed, and the strictest
/// decision wins. A panic of one is its failure: the others still run.
#[derive(Clone, Default)]
pub struct CombinedHooks(Vec<Arc<dyn Hooks>>);

impl CombinedHooks {
    /// Combines hooks, which run in this order.
    #[must_use]
    pub fn new(hooks: Vec<Arc<dyn Hooks>>) -> Self {
        Self(hooks)
    }

    /// Returns the hooks, in the order in which they run.
    #[must_use]
    pub fn as_slice(&self) -> &[Arc<dyn Hooks>] {
        &self.0
    }

    fn at(&self, point: HookPoint) -> impl Iterator<Item = &Arc<dyn Hooks>> {
        self.0.iter().filter(move |hooks| asked(|| hooks.has_point(point)))
    }

    fn of(&self, event: HookEvent) -> impl Iterator<Item = &Arc<dyn Hooks>> {
        self.0.iter().filter(move |hooks| asked(|| hooks.has_event(event)))
    }

    async fn prompt(&self, input: &HookInput) -> PromptDecision {
        let mut contexts = Vec::new();
        for hooks in self.at(HookPoint::UserPromptSubmit) {
            match hooks.run(input.clone()).await.answer {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }) => {
                    contexts.extend(context);
                }
                // The first hook that blocks ends it: the others must not act on an input that is
                // never delivered.
                HookAnswer::UserPromptSubmit(block) => return block,
                _ => {
                    return PromptDecision::Block {
                        reason: wrong_hook_point(HookPoint::UserPromptSubmit),
                    };
                }
            }
        }
        PromptDecision::Continue { context: joined(&contexts) }
    }

    async fn pre_tool(&self, mut tool_use: ToolUse, verdict: Verdict) -> HookReply {
        let mut merge = PreToolMerge::default();
        for hooks in self.at(HookPoint::PreToolUse) {
            let input = HookInput::PreToolUse { tool_use: tool_use.clone(), verdict };
            let HookReply { answer, context, stop } = hooks.run(input).await;
            merge.contexts.extend(context);
            merge.stop = merge.stop.take().or(stop);
            let decision = match answer {
                HookAnswer::PreToolUse(decision) => decision,
                _ => PreToolDecision::Deny { reason: wrong_hook_point(HookPoint::PreToolUse) },
            };
            if let Some(end) = merge.apply(decision, &mut tool_use) {
                return merge.reply(end);
            }
        }
        let decision = match (merge.changed.then_some(tool_use.input), merge.then.clone()) {
            (Some(ToolInput::Json(input)), then) => PreToolDecision::Change { input, then },
            (_, AfterChange::Judge) => PreToolDecision::Continue,
            (_, AfterChange::Allow { reason }) => PreToolDecision::Allow { reason },
            (_, AfterChange::Ask(question)) => PreToolDecision::Ask(question),
        };
        merge.reply(decision)
    }

    async fn post_tool(
        &self,
        tool_use: ToolUse,
        outcome: ToolOutcome,
        duration_ms: Option<u64>,
    ) -> HookReply {
        let mut now = outcome.clone();
        let (mut contexts, mut stopped) = (Vec::new(), None);
        let mut blocked = None;
        for hooks in self.at(HookPoint::PostToolUse) {
            let input = HookInput::PostToolUse {
                tool_use: tool_use.clone(),
                outcome: now.clone(),
                duration_ms,
            };
            let Some(reply) = guarded_async("a hook", hooks.run(input)).await else {
                // It may have been meant to withhold the result.
                blocked.get_or_insert_with(|| panicked_at(HookPoint::PostToolUse));
                continue;
            };
            let HookReply { answer, context, stop } = reply;
            contexts.extend(context);
            stopped = stopped.or(stop);
            match answer {
                HookAnswer::PostToolUse(PostToolDecision::Continue) => {}
                // The next hook sees the replaced outcome, and the last replacement reaches the
                // model.
                HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }) => now = outcome,
                HookAnswer::PostToolUse(PostToolDecision::Block { reason }) => {
                    // The remaining hooks still run: they may record the call, which has had its
                    // effect.
                    blocked.get_or_insert(reason);
                }
                _ => {
                    blocked.get_or_insert_with(|| wrong_hook_point(HookPoint::PostToolUse));
                }
            }
        }
        let decision = match blocked {
            Some(reason) => PostToolDecision::Block { reason },
            // Compared instead of counted: a replacement by the same outcome is not worth an event.
            None if now == outcome => PostToolDecision::Continue,
            None => PostToolDecision::Replace { outcome: now },
        };
        let answer = HookAnswer::PostToolUse(decision);
        HookReply { answer, context: joined(&contexts), stop: stopped }
    }

    async fn batch(&self, calls: Vec<EndedCall>) -> HookReply {
        let (mut contexts, mut stopped) = (Vec::new(), None);
        for hooks in self.at(HookPoint::PostToolBatch) {
            let input = HookInput::PostToolBatch { calls: calls.clone() };
            // All hooks run, also after one that stops the turn: they may record the calls.
            let Some(reply) = guarded_async("a hook", hooks.run(input)).await else {
                stopped.get_or_insert_with(|| panicked_at(HookPoint::PostToolBatch));
                continue;
            };
            let HookReply { answer, context, stop } = reply;
            contexts.extend(context);
            stopped = stopped.or(stop);
            match answer {
                HookAnswer::PostToolBatch(BatchDecision::Continue { context }) => {
                    contexts.extend(context);
                }
                HookAnswer::PostToolBatch(BatchDecision::Stop { reason }) => {
                    stopped.get_or_insert(reason);
                }
                _ => {
                    stopped.get_or_insert_with(|| wrong_hook_point(HookPoint::PostToolBatch));
                }
            }
        }
        let context = joined(&contexts);
        match stopped {
            // Of a decision that stops, only the reply can hold what other hooks add for the model.
            Some(reason) => {
                let answer = HookAnswer::PostToolBatch(BatchDecision::Stop { reason });
                HookReply { answer, context, stop: None }
            }
            None => HookAnswer::PostToolBatch(BatchDecision::Continue { context }).into(),
        }
    }

    async fn stop(&self, input: &HookInput) -> HookReply {
        let mut contexts = Vec::new();
        let mut decision = StopDecision::Finish;
        for hooks in self.at(HookPoint::Stop) {
            // A hook that panicked must not keep the turn running.
            let Some(reply) = guarded_async("a hook", hooks.run(input.clone())).await else {
                continue;
            };
            contexts.extend(reply.context);
            if let (StopDecision::Finish, HookAnswer::Stop(answer)) = (&decision, reply.answer) {
                // The first hook that does not let the turn finish wins; its text is what the model
                // receives.
                decision = answer;
            }
        }
        HookReply { answer: HookAnswer::Stop(decision), context: joined(&contexts), stop: None }
    }
}

/// The combined decision of the hooks before a call, so far.
#[derive(Default)]
struct PreToolMerge {
    changed: bool,
    then: AfterChange,
    contexts: Vec<String>,
    stop: Option<String>,
}

impl PreToolMerge {
    /// Applies the decision of one hook. Returns it if it is final.
    fn apply(&mut self, decision: PreToolDecision, call: &mut ToolUse) -> Option<PreToolDecision> {
        match decision {
            PreToolDecision::Continue => {}
            PreToolDecision::Allow { reason } => self.add(AfterChange::Allow { reason }),
            PreToolDecision::Ask(question) => self.add(AfterChange::Ask(question)),
            PreToolDecision::Change { input, then } => {
                call.input = ToolInput::Json(input);
                self.changed = true;
                self.add(then);
            }
            end @ (PreToolDecision::Deny { .. } | PreToolDecision::Answer { .. }) => {
                return Some(end);
            }
        }
        None
    }

    /// Keeps the stricter of two decisions: ask, then allow, then none.
    fn add(&mut self, decision: AfterChange) {
        let strictness = |decision: &AfterChange| match decision {
            AfterChange::Judge => 0,
            AfterChange::Allow { .. } => 1,
            AfterChange::Ask(_) => 2,
        };
        if strictness(&decision) > strictness(&self.then) {
            self.then = decision;
        }
    }

    fn reply(self, decision: PreToolDecision) -> HookReply {
        let context = joined(&self.contexts);
        HookReply { answer: HookAnswer::PreToolUse(decision), context, stop: self.stop }
    }
}

/// Asks whether there is a hook. A panic counts as a yes: hooks never fail open.
fn asked(has_hook: impl FnOnce() -> bool) -> bool {
    guarded("a hook", has_hook).unwrap_or(true)
}

fn panicked_at(point: HookPoint) -> String {
    format!("the {point:?} hook failed: it panicked")
}

fn wrong_hook_point(point: HookPoint) -> String {
    format!("the {point:?} hook returned an answer for another hook point")
}

/// Joins the contexts of several hooks, which the model receives as one text.
fn joined(contexts: &[String]) -> Option<String> {
    (!contexts.is_empty()).then(|| contexts.join("\n"))
}

#[async_trait::async_trait]
impl Hooks for CombinedHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        self.at(point).next().is_some()
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::UserPromptSubmit { .. } => {
                HookAnswer::UserPromptSubmit(self.prompt(&input).await).into()
            }
            HookInput::PreToolUse { tool_use, verdict } => self.pre_tool(tool_use, verdict).await,
            HookInput::PostToolUse { tool_use, outcome, duration_ms } => {
                self.post_tool(tool_use, outcome, duration_ms).await
            }
            HookInput::PostToolBatch { calls } => self.batch(calls).await,
            HookInput::Stop { .. } => self.stop(&input).await,
        }
    }

    fn has_event(&self, event: HookEvent) -> bool {
        self.of(event).next().is_some()
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        let mut all = EventReport::default();
        let mut contexts = Vec::new();
        let (event, mut panicked) = (data.event(), false);
        for hooks in self.of(event) {
            let Some(report) = guarded_async("a hook", hooks.run_event(data.clone())).await else {
                panicked = true;
                continue;
            };
            all.stop = all.stop.or(report.stop);
            all.worktree_path = all.worktree_path.or(report.worktree_path);
            all.session_title = all.session_title.or(report.session_title);
            all.initial_user_message = all.initial_user_message.or(report.initial_user_message);
            if is_allow(report.permission.as_ref()) {
                all.updated_permissions.extend(report.updated_permissions);
            }
            all.notices.extend(report.notices);
            let stricter = |new: &HookPermission| {
                all.permission.as_ref().is_none_or(|kept| new.verdict > kept.verdict)
            };
            if let Some(permission) = report.permission.filter(stricter) {
                all.permission = Some(permission);
            }
            all.updated_input = all.updated_input.or(report.updated_input);
            all.elicitation = match (all.elicitation, report.elicitation) {
                // Hooks that refuse win, whichever runs first.
                (Some(HookElicitation::Accept(_)), Some(second)) => Some(second),
                (first, second) => first.or(second),
            };
            match report.decision {
                EventDecision::Continue { context } => contexts.extend(context),
                block @ EventDecision::Block { .. } => {
                    // Notices of the hooks before it are kept; the hooks behind it do not run.
                    all.decision = block;
                    return all;
                }
            }
        }
        if panicked && event.is_gate() {
            let reason = format!("the {} hook failed: it panicked", event.name());
            all.decision = EventDecision::Block { reason };
            return all;
        }
        all.decision = EventDecision::Continue { context: joined(&contexts) };
        all
    }
}

#[cfg(test)]
mod tests;
