//! The rules of a turn, and the facts it starts from.

use serde::{Deserialize, Serialize};

use crate::catalogue::{DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT};
use crate::context::COMPACT;
use crate::hook::HookPoint;
use crate::provider::RetryPolicy;

/// The default limit of model/tool rounds.
pub const DEFAULT_MAX_ROUNDS: u32 = 10;

/// The user's rules for turns. A turn keeps those it started with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRules {
    /// Which model.
    pub model: String,
    /// At most this many rounds; zero is no limit.
    pub max_rounds: u32,
    /// The model's context window, in tokens.
    pub context_window: u64,
    /// The model's longest answer, in tokens.
    pub max_output: u64,
    /// Compact above this share of the window; none never does.
    pub compact_at: Option<f64>,
    /// How calls of one answer run.
    pub concurrency: ToolConcurrency,
    /// How failed model calls are tried again.
    pub retry: RetryPolicy,
}

impl TurnRules {
    /// The defaults, for that model.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            max_rounds: DEFAULT_MAX_ROUNDS,
            context_window: DEFAULT_CONTEXT_WINDOW,
            max_output: DEFAULT_MAX_OUTPUT,
            compact_at: Some(COMPACT),
            concurrency: ToolConcurrency::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// What the driver found when the turn started. It is frozen for the turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnFacts {
    /// The provider's name, for events only.
    pub provider: String,
    /// Whether there is a compactor.
    pub has_compactor: bool,
    /// Where hooks stand.
    pub hooks: HookPoints,
    /// The tools that exist, sorted.
    pub tools: Vec<String>,
    /// Hash of the tools offered.
    pub tools_sha256: Option<String>,
    /// Hash of the system prompt.
    pub prompt_sha256: Option<String>,
}

/// How the calls of one answer run. Calls that only look may overlap; a call with effects runs
/// alone, and no call overtakes one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolConcurrency {
    /// One after the other.
    Sequential,
    /// At most this many at once; none is no limit, and zero counts as one.
    Parallel {
        /// The limit.
        max: Option<u32>,
    },
}

impl Default for ToolConcurrency {
    fn default() -> Self {
        Self::Parallel { max: Some(8) }
    }
}

impl ToolConcurrency {
    /// How many calls may run at once.
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
    /// These points.
    pub fn new(points: impl IntoIterator<Item = HookPoint>) -> Self {
        Self(points.into_iter().collect())
    }

    /// Whether a hook stands there.
    #[must_use]
    pub fn contains(&self, point: HookPoint) -> bool {
        self.0.contains(&point)
    }
}
