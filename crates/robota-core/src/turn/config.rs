//! The rules of a turn, and the facts that it starts from.

use serde::{Deserialize, Serialize};

use crate::catalogue::{DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT};
use crate::context::COMPACT;
use crate::hook::HookPoint;
use crate::provider::RetryPolicy;

/// The default limit of rounds.
pub const DEFAULT_MAX_ROUNDS: u32 = 10;

/// The user's settings for turns. A turn uses those it started with until it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRules {
    /// The model's id.
    pub model: String,
    /// The maximum number of rounds; 0 means no limit.
    pub max_rounds: u32,
    /// What happens when that number is reached and the model asks for more tool calls.
    #[serde(default)]
    pub at_limit: AtLimit,
    /// The model's context window, in tokens.
    pub context_window: u64,
    /// The model's longest answer, in tokens.
    pub max_output: u64,
    /// Compact above this share of the window (0 to 1); `None` compacts only when it is full.
    pub compact_at: Option<f64>,
    /// How the calls of one answer run.
    pub concurrency: ToolConcurrency,
    /// How failed model calls are retried.
    pub retry: RetryPolicy,
}

impl TurnRules {
    /// Creates the default rules for a model.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            max_rounds: DEFAULT_MAX_ROUNDS,
            at_limit: AtLimit::default(),
            context_window: DEFAULT_CONTEXT_WINDOW,
            max_output: DEFAULT_MAX_OUTPUT,
            compact_at: Some(COMPACT),
            concurrency: ToolConcurrency::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// What a turn does at its round limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AtLimit {
    /// It calls the model once more, without tools, for a summary.
    #[default]
    Summarise,
    /// It ends.
    Stop,
}

/// What the driver determined when the turn started. It does not change during the turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnFacts {
    /// The provider's name, for events only.
    pub provider: String,
    /// Whether a compactor is configured.
    pub has_compactor: bool,
    /// The hook points that have hooks.
    pub hooks: HookPoints,
    /// The names of the registered tools, sorted.
    pub tools: Vec<String>,
    /// SHA-256 of the offered tools; `None` if there are none.
    pub tools_sha256: Option<String>,
    /// SHA-256 of the system prompt; `None` if there is none.
    pub prompt_sha256: Option<String>,
}

/// How the calls of one answer run. They start in the order of the answer. Read-only calls may run
/// at the same time; a call with effects runs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolConcurrency {
    /// One call after the other.
    Sequential,
    /// At most this many calls at the same time.
    Parallel {
        /// The limit; `None` means no limit, and 0 counts as 1.
        max: Option<u32>,
    },
}

impl Default for ToolConcurrency {
    fn default() -> Self {
        Self::Parallel { max: Some(8) }
    }
}

impl ToolConcurrency {
    /// Returns how many calls may run at the same time.
    #[must_use]
    pub fn limit(self) -> usize {
        match self {
            Self::Sequential => 1,
            Self::Parallel { max: None } => usize::MAX,
            Self::Parallel { max: Some(max) } => max.max(1) as usize,
        }
    }
}

/// A set of hook points.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HookPoints(Vec<HookPoint>);

impl HookPoints {
    /// Creates the set of these points.
    pub fn new(points: impl IntoIterator<Item = HookPoint>) -> Self {
        Self(points.into_iter().collect())
    }

    /// Returns true if the point has hooks.
    #[must_use]
    pub fn contains(&self, point: HookPoint) -> bool {
        self.0.contains(&point)
    }
}
