//! Plugins (CORE-27): parts that follow the runs of an agent or a session, and can stop them.
//!
//! A plugin has methods for the points of a run. They are no mechanism of their own: a
//! [`PluginSet`] is the [`Hooks`](crate::hook::Hooks) of a session for what can decide
//! ([`Plugin::before_run`], [`Plugin::before_tool`], [`Plugin::after_tool`]), and an
//! [`Observer`](crate::driver::Observer) of its events for everything else. So a plugin sees what is
//! in the journal, and runs only after it was written.
//!
//! ```
//! use std::sync::Arc;
//!
//! use robota_core::agent::Agent;
//! use robota_core::plugin::{MemoryStorage, UsagePlugin};
//! use robota_core::scripted::{Script, ScriptedProvider};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let usage = Arc::new(UsagePlugin::new(MemoryStorage::default()));
//! let model = ScriptedProvider::new(Script::new().text("Hello!"));
//! let mut agent = Agent::builder(model, "any-model").plugin(usage.clone()).build()?;
//! agent.run("Hi").await;
//! assert_eq!(usage.totals()?.runs, 1);
//! # Ok(()) }
//! ```

mod analytics;
mod emitter;
mod errors;
mod history;
mod limits;
mod logging;
mod performance;
mod set;
mod storage;
mod usage;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

pub use analytics::{AnalyticsPlugin, Counts};
pub use emitter::EventEmitter;
pub use errors::CircuitBreaker;
pub use history::HistoryPlugin;
pub use limits::{LimitsPlugin, RunLimits};
pub use logging::LoggingPlugin;
pub use performance::{PerformancePlugin, Timing};
pub use set::PluginSet;
pub use storage::{MemoryStorage, PluginStorage, StorageError};
pub use usage::{UsagePlugin, UsageTotals};

use crate::error::ErrorData;
use crate::event::{Envelope, TurnEnd};
use crate::hook::{PostToolDecision, PreToolDecision, PromptDecision};
use crate::ids::TurnId;
use crate::message::{Block, ToolUse};
use crate::permission::Verdict;
use crate::tool::ToolOutcome;
use crate::usage::Usage;

/// What a plugin is for. Plugins of the same priority run in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PluginCategory {
    /// Refuses runs beyond a limit. First, so that no other plugin prepares a run that is refused.
    Limits,
    /// Reacts to failures of model calls and turns.
    ErrorHandling,
    /// Passes events to other parts of the program.
    EventProcessing,
    /// Stores the messages of a conversation.
    Storage,
    /// Writes what happens to a log.
    Logging,
    /// Measures times, tokens or costs of runs.
    Monitoring,
    /// Notifies other programs, for example by a request.
    Notification,
    /// Anything else; runs after the other categories of its priority.
    Custom,
}

/// When a plugin runs, compared with others: a higher number runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginPriority(pub u16);

impl PluginPriority {
    /// Runs before all plugins of the other named priorities.
    pub const CRITICAL: Self = Self(1000);
    /// Runs before plugins of the default priority; [`LimitsPlugin`] has it.
    pub const HIGH: Self = Self(800);
    /// The priority of a plugin that defines none.
    pub const NORMAL: Self = Self(500);
    /// Runs after plugins of the default priority.
    pub const LOW: Self = Self(200);
}

/// A run that ended: one turn, from the prompt to the answer.
///
/// ```
/// use robota_core::plugin::RunSummary;
///
/// fn tokens_per_round(run: &RunSummary) -> u64 {
///     run.usage.total() / u64::from(run.rounds.max(1))
/// }
/// # let _ = tokens_per_round;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The turn that the run was; `None` in journals that do not record turn ids.
    pub turn: Option<TurnId>,
    /// The model that the turn started with.
    pub model: String,
    /// When the turn ended, by its `turn_finished`.
    pub at: Timestamp,
    /// The time from `turn_started` to `turn_finished`, by the clock that stamps events.
    pub took: Duration,
    /// How the turn ended; see [`TurnEnd`].
    pub end: TurnEnd,
    /// The number of model calls, without retries; 0 for a run that was blocked.
    pub rounds: u32,
    /// The number of tool calls that ran.
    pub tools: u32,
    /// The tokens of its model calls.
    pub usage: Usage,
    /// The cost of these calls in dollars; none if the price of the model is not known.
    pub cost: Option<f64>,
    /// The failure that ended it; none if it did not end with one.
    pub error: Option<ErrorData>,
}

/// A part that follows runs, and can stop them. Every method has a default that does nothing.
///
/// ```
/// use robota_core::hook::PreToolDecision;
/// use robota_core::message::ToolUse;
/// use robota_core::permission::Verdict;
/// use robota_core::plugin::Plugin;
///
/// /// Keeps an agent from one tool.
/// struct Without(&'static str);
///
/// #[async_trait::async_trait]
/// impl Plugin for Without {
///     fn name(&self) -> &str {
///         "without"
///     }
///
///     async fn before_tool(&self, call: &ToolUse, _: Verdict) -> PreToolDecision {
///         match call.name == self.0 {
///             true => PreToolDecision::Deny { reason: format!("{} is off", self.0) },
///             false => PreToolDecision::Continue,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Plugin: Send + Sync {
    /// Returns the name that messages and logs use for the plugin.
    fn name(&self) -> &str;

    /// Returns what the plugin is for.
    fn category(&self) -> PluginCategory {
        PluginCategory::Custom
    }

    /// When it runs, compared with other plugins.
    fn priority(&self) -> PluginPriority {
        PluginPriority::NORMAL
    }

    /// Runs before a prompt becomes a message. It can add text for the model, or block the run.
    async fn before_run(&self, _prompt: &[Block]) -> PromptDecision {
        PromptDecision::Continue { context: None }
    }

    /// Runs after a run ended, however it ended.
    fn after_run(&self, _run: &RunSummary) {}

    /// Runs after a model call or a run failed, and before a failed model call is tried again.
    fn on_error(&self, _error: &ErrorData) {}

    /// Runs for each piece of text that the model streams.
    fn on_stream_chunk(&self, _text: &str) {}

    /// Runs before a tool call that was judged and not denied. The strictest decision of all plugins
    /// counts.
    async fn before_tool(&self, _call: &ToolUse, _verdict: Verdict) -> PreToolDecision {
        PreToolDecision::Continue
    }

    /// Runs after a tool call. It can change what the model sees of the result.
    async fn after_tool(&self, _call: &ToolUse, _outcome: &ToolOutcome) -> PostToolDecision {
        PostToolDecision::Continue
    }

    /// Runs for every event of the journal, in order, after it was written.
    fn on_event(&self, _event: &Envelope) {}
}

#[cfg(test)]
mod tests;
