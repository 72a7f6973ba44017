//! Runs the plugins of an agent or a session as its hooks, and as an observer of its events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Plugin, RunSummary};
use crate::catalogue::CostSum;
use crate::driver::Observer;
use crate::event::{Envelope, Event};
use crate::hook::{
    AfterChange, HookAnswer, HookInput, HookPoint, HookReply, Hooks, NoHooks, PostToolDecision,
    PreToolDecision, PromptDecision,
};
use crate::ids::TurnId;
use crate::message::{Block, ToolInput, ToolUse};
use crate::permission::Verdict;
use crate::tool::ToolOutcome;

/// The plugins of an agent or a session, in the order in which they run: by priority, then by
/// category, then as they were added. Hooks that are set besides run after them.
pub struct PluginSet {
    plugins: Vec<Arc<dyn Plugin>>,
    next: Arc<dyn Hooks>,
    /// The running turns: when they started, and the cost of their calls.
    running: Mutex<HashMap<Option<TurnId>, (Timestamp, CostSum)>>,
}

impl PluginSet {
    /// Creates a set, ordered by priority and then by category.
    #[must_use]
    pub fn new(plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Self {
        Self::before(plugins, Arc::new(NoHooks))
    }

    /// Creates a set whose plugins run before these hooks.
    #[must_use]
    pub fn before(
        plugins: impl IntoIterator<Item = Arc<dyn Plugin>>,
        next: Arc<dyn Hooks>,
    ) -> Self {
        let mut plugins: Vec<_> = plugins.into_iter().collect();
        // A stable sort: plugins with the same rank keep the order in which they were added.
        plugins.sort_by_key(|plugin| (std::cmp::Reverse(plugin.priority()), plugin.category()));
        Self { plugins, next, running: Mutex::default() }
    }

    /// Returns the names of the plugins, in the order in which they run.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.plugins.iter().map(|plugin| plugin.name())
    }

    /// Returns what passes events to the plugins.
    #[must_use]
    pub fn observer(self: &Arc<Self>) -> Observer {
        let set = self.clone();
        Arc::new(move |envelope| set.observe(envelope))
    }

    fn observe(&self, envelope: &Envelope) {
        for plugin in &self.plugins {
            plugin.on_event(envelope);
        }
        match &envelope.event {
            Event::TextChunk(chunk) => {
                self.plugins.iter().for_each(|plugin| plugin.on_stream_chunk(&chunk.text));
            }
            // A retry is an error for plugins: they follow the failures of the service, not only of
            // the turn.
            Event::ModelRetry(retry) => {
                self.plugins.iter().for_each(|plugin| plugin.on_error(&retry.error));
            }
            Event::ModelFailed(failed) => {
                self.plugins.iter().for_each(|plugin| plugin.on_error(&failed.error));
            }
            Event::TurnStarted(started) => {
                let start = (envelope.ts, CostSum::new(&started.model));
                self.running().insert(envelope.turn.clone(), start);
            }
            Event::AssistantMessage(_) | Event::CompactionFinished(_) => {
                if let Some((_, cost)) = self.running().get_mut(&envelope.turn) {
                    cost.add_event(&envelope.event);
                }
            }
            Event::TurnFinished(finished) => {
                // Removed, so that the map has only the turns that run.
                let started = self.running().remove(&envelope.turn);
                // The turn began before the plugins were added, or its start was not observed.
                let (start, cost) = started.unwrap_or((envelope.ts, CostSum::default()));
                let took = envelope.ts.duration_since(start);
                let run = RunSummary {
                    turn: envelope.turn.clone(),
                    model: cost.model().to_owned(),
                    at: envelope.ts,
                    took: Duration::try_from(took).unwrap_or_default(),
                    end: finished.end,
                    rounds: finished.rounds,
                    tools: finished.tools_executed,
                    usage: finished.usage,
                    cost: cost.dollars(),
                    error: finished.error.clone(),
                };
                self.plugins.iter().for_each(|plugin| plugin.after_run(&run));
            }
            _ => {}
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Option<TurnId>, (Timestamp, CostSum)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn before_run(&self, content: Vec<Block>) -> HookReply {
        let mut texts = Vec::new();
        for plugin in &self.plugins {
            match plugin.before_run(&content).await {
                PromptDecision::Continue { context } => texts.extend(context),
                PromptDecision::Block { reason } => {
                    let reason = format!("the plugin {}: {reason}", plugin.name());
                    return HookAnswer::UserPromptSubmit(PromptDecision::Block { reason }).into();
                }
            }
        }
        // The plugins decide first, so that a run that they block does not cost the hooks.
        let mut reply = match self.next.has_point(HookPoint::UserPromptSubmit) {
            true => self.next.run(HookInput::UserPromptSubmit { content }).await,
            false => {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context: None }).into()
            }
        };
        if let HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }) =
            &mut reply.answer
        {
            texts.extend(context.take());
            *context = (!texts.is_empty()).then(|| texts.join("\n"));
        }
        reply
    }

    async fn before_tool(&self, mut call: ToolUse, verdict: Verdict) -> HookReply {
        let mut merged = Merged::default();
        for plugin in &self.plugins {
            let decision = plugin.before_tool(&call, verdict).await;
            // Each plugin gets the arguments as the ones before it changed them.
            if let Some(end) = merged.add(decision, &mut call) {
                return HookAnswer::PreToolUse(end).into();
            }
        }
        if !self.next.has_point(HookPoint::PreToolUse) {
            return HookAnswer::PreToolUse(merged.decision()).into();
        }
        let input = HookInput::PreToolUse { tool_use: call.clone(), verdict };
        let mut reply = self.next.run(input).await;
        if let HookAnswer::PreToolUse(decision) = reply.answer {
            let end = merged.add(decision, &mut call);
            reply.answer = HookAnswer::PreToolUse(end.unwrap_or_else(|| merged.decision()));
        }
        reply
    }

    async fn after_tool(
        &self,
        call: ToolUse,
        mut outcome: ToolOutcome,
        duration_ms: Option<u64>,
    ) -> HookReply {
        let mut replaced = false;
        for plugin in &self.plugins {
            match plugin.after_tool(&call, &outcome).await {
                PostToolDecision::Continue => {}
                PostToolDecision::Replace { outcome: other } => {
                    outcome = other;
                    replaced = true;
                }
                block @ PostToolDecision::Block { .. } => {
                    return HookAnswer::PostToolUse(block).into();
                }
            }
        }
        let own = match replaced {
            true => PostToolDecision::Replace { outcome: outcome.clone() },
            false => PostToolDecision::Continue,
        };
        if !self.next.has_point(HookPoint::PostToolUse) {
            return HookAnswer::PostToolUse(own).into();
        }
        let mut reply =
            self.next.run(HookInput::PostToolUse { tool_use: call, outcome, duration_ms }).await;
        // The hooks got the outcome that the plugins replaced; only if they leave it as it is, the
        // plugins' change is the answer.
        if reply.answer == HookAnswer::PostToolUse(PostToolDecision::Continue) {
            reply.answer = HookAnswer::PostToolUse(own);
        }
        reply
    }
}

/// The decisions of several parts about one call, so far.
#[derive(Default)]
struct Merged {
    changed: Option<serde_json::Value>,
    then: AfterChange,
}

impl Merged {
    /// Adds a decision; returns one that nothing after it can change.
    fn add(&mut self, decision: PreToolDecision, call: &mut ToolUse) -> Option<PreToolDecision> {
        let then = match decision {
            PreToolDecision::Continue => AfterChange::Judge,
            PreToolDecision::Allow { reason } => AfterChange::Allow { reason },
            PreToolDecision::Ask(question) => AfterChange::Ask(question),
            PreToolDecision::Change { input, then } => {
                call.input = ToolInput::Json(input.clone());
                self.changed = Some(input);
                then
            }
            end @ (PreToolDecision::Deny { .. } | PreToolDecision::Answer { .. }) => {
                return Some(end);
            }
        };
        // To ask is stricter than to allow, and an opinion counts more than none.
        match (&self.then, &then) {
            (AfterChange::Ask(_), _) | (_, AfterChange::Judge) => {}
            (AfterChange::Judge | AfterChange::Allow { .. }, _) => self.then = then,
        }
        None
    }

    fn decision(self) -> PreToolDecision {
        match (self.changed, self.then) {
            (Some(input), then) => PreToolDecision::Change { input, then },
            (None, AfterChange::Judge) => PreToolDecision::Continue,
            (None, AfterChange::Allow { reason }) => PreToolDecision::Allow { reason },
            (None, AfterChange::Ask(question)) => PreToolDecision::Ask(question),
        }
    }
}

#[async_trait]
impl Hooks for PluginSet {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::Stop => self.next.has_point(point),
            HookPoint::UserPromptSubmit | HookPoint::PreToolUse | HookPoint::PostToolUse => {
                !self.plugins.is_empty() || self.next.has_point(point)
            }
        }
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::UserPromptSubmit { content } => self.before_run(content).await,
            HookInput::PreToolUse { tool_use, verdict } => {
                self.before_tool(tool_use, verdict).await
            }
            HookInput::PostToolUse { tool_use, outcome, duration_ms } => {
                self.after_tool(tool_use, outcome, duration_ms).await
            }
            stop @ HookInput::Stop { .. } => self.next.run(stop).await,
        }
    }

    fn has_event(&self, event: crate::hook::HookEvent) -> bool {
        let of_plugins = HookPoint::ALL
            .into_iter()
            .any(|point| crate::hook::HookEvent::from(point) == event && self.has_point(point));
        of_plugins || self.next.has_event(event)
    }

    async fn run_event(&self, data: crate::hook::HookData) -> crate::hook::EventReport {
        self.next.run_event(data).await
    }
}
