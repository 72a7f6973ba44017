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
use crate::guard::guarded;
use crate::hook::{
    CombinedHooks, EventReport, HookAnswer, HookData, HookEvent, HookInput, HookPoint, HookReply,
    Hooks, NoHooks, PromptDecision,
};
use crate::ids::TurnId;

/// The plugins of an agent or a session, in the order in which they run: by priority, then by
/// category, then as they were added. Hooks that are set besides run after them.
pub struct PluginSet {
    plugins: Vec<Arc<dyn Plugin>>,
    /// The plugins, and the hooks that run after them.
    hooks: CombinedHooks,
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
        let hooks = plugins.iter().map(|plugin| Arc::new(PluginHooks(plugin.clone())) as _);
        let hooks = CombinedHooks::new(hooks.chain([next]).collect());
        Self { plugins, hooks, running: Mutex::default() }
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

    /// Calls every plugin. One that panics must not hide the event from those behind it.
    fn each(&self, call: impl Fn(&dyn Plugin)) {
        for plugin in &self.plugins {
            guarded("a plugin", || call(&**plugin));
        }
    }

    fn observe(&self, envelope: &Envelope) {
        self.each(|plugin| plugin.on_event(envelope));
        match &envelope.event {
            Event::TextChunk(chunk) => self.each(|plugin| plugin.on_stream_chunk(&chunk.text)),
            // A retry is an error for plugins: they follow the failures of the service, not only of
            // the turn.
            Event::ModelRetry(retry) => self.each(|plugin| plugin.on_error(&retry.error)),
            Event::ModelFailed(failed) => self.each(|plugin| plugin.on_error(&failed.error)),
            Event::TurnStarted(started) => {
                let start = (envelope.ts, CostSum::new(&started.model));
                self.running().insert(envelope.turn.clone(), start);
            }
            Event::AssistantMessage(_) | Event::CompactionFinished(_) | Event::ModelAsked(_) => {
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
                self.each(|plugin| plugin.after_run(&run));
            }
            _ => {}
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Option<TurnId>, (Timestamp, CostSum)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A plugin as hooks.
struct PluginHooks(Arc<dyn Plugin>);

#[async_trait]
impl Hooks for PluginHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        // A plugin has no method for these points that can decide.
        !matches!(point, HookPoint::PostToolBatch | HookPoint::Stop)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let plugin = &self.0;
        let answer = match input {
            HookInput::UserPromptSubmit { content } => {
                HookAnswer::UserPromptSubmit(match plugin.before_run(&content).await {
                    PromptDecision::Block { reason } => {
                        let reason = format!("the plugin {}: {reason}", plugin.name());
                        PromptDecision::Block { reason }
                    }
                    go_on @ PromptDecision::Continue { .. } => go_on,
                })
            }
            HookInput::PreToolUse { tool_use, verdict } => {
                HookAnswer::PreToolUse(plugin.before_tool(&tool_use, verdict).await)
            }
            HookInput::PostToolUse { tool_use, outcome, .. } => {
                HookAnswer::PostToolUse(plugin.after_tool(&tool_use, &outcome).await)
            }
            other @ (HookInput::PostToolBatch { .. } | HookInput::Stop { .. }) => {
                return NoHooks.run(other).await;
            }
        };
        answer.into()
    }
}

#[async_trait]
impl Hooks for PluginSet {
    fn has_point(&self, point: HookPoint) -> bool {
        self.hooks.has_point(point)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        self.hooks.run(input).await
    }

    fn has_event(&self, event: HookEvent) -> bool {
        self.hooks.has_event(event)
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        self.hooks.run_event(data).await
    }
}
