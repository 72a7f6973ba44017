//! The rules of a turn, and the facts that it starts from.

use serde::{Deserialize, Serialize};

use crate::catalogue::{Catalogue, DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT};
use crate::context::{COMPACT, ContextEstimate};
use crate::hook::HookPoint;
use crate::provider::{ModelLimits, RetryPolicy};
use crate::tool::AwaitedTools;

/// An agent in memory ends a turn after this many rounds. Sessions have none by default.
pub const DEFAULT_MAX_ROUNDS: u32 = 10;

/// The smallest output limit that a request sets, in tokens.
const MIN_OUTPUT: u64 = 256;

/// How often a turn continues an answer that reached the output limit, by default.
pub const DEFAULT_MAX_CONTINUES: u32 = 3;
/// How often the same call may fail before the turn ends, by default.
pub const DEFAULT_MAX_REPEATS: u32 = 5;

/// Holds the user's settings for turns. A turn uses those it started with until it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRules {
    /// The id of the model, as the service names it.
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
    /// How often an answer that a limit cut short is continued; 0 never continues one.
    #[serde(default = "default_max_continues")]
    pub max_continues: u32,
    /// After this many rounds in which the same call failed, the model has to answer without tools; 0
    /// means no limit. A call that changed something in between starts a new count.
    #[serde(default = "default_max_repeats")]
    pub max_repeats: u32,
}

fn default_max_continues() -> u32 {
    DEFAULT_MAX_CONTINUES
}

fn default_max_repeats() -> u32 {
    DEFAULT_MAX_REPEATS
}

/// The output limit in tokens for a model whose limit is not known. Servers refuse a limit above their
/// own, and an answer that reaches a lower one is continued.
// Services refuse a request that asks for more output than the model has. A small number works
// everywhere, and a cut answer is continued.
pub const CAREFUL_MAX_OUTPUT: u64 = 8_192;

impl TurnRules {
    /// Creates the default rules for a model, with the limits of the built-in catalogue.
    #[must_use]
    pub fn of_model(model: impl Into<String>) -> Self {
        let mut rules = Self::new(model);
        let known = Catalogue::builtin().find(&rules.model).map(|found| found.model);
        rules.context_window =
            known.and_then(|model| model.context_window).unwrap_or(DEFAULT_CONTEXT_WINDOW);
        rules.max_output = known.and_then(|model| model.max_output).unwrap_or(CAREFUL_MAX_OUTPUT);
        rules
    }

    /// Returns true if the limits are assumed and no caller has set them: the service may report others.
    #[must_use]
    pub fn has_assumed_limits(&self) -> bool {
        let assumed = Self::of_model(self.model.clone());
        // A server of one's own may run a model with open weights with a smaller window than the
        // model has.
        let known = Catalogue::builtin().get(&self.model).is_some_and(|model| !model.open_weights);
        !known
            && self.context_window == assumed.context_window
            && self.max_output == assumed.max_output
    }

    /// Uses another model, with the limits of the built-in catalogue.
    pub fn set_model(&mut self, model: impl Into<String>) {
        let Self { model, context_window, max_output, .. } = Self::of_model(model);
        (self.model, self.context_window, self.max_output) = (model, context_window, max_output);
    }

    /// Uses the limits that a service reports.
    pub fn set_limits(&mut self, limits: ModelLimits) {
        self.context_window = limits.context_window.unwrap_or(self.context_window);
        self.max_output = limits.max_output.unwrap_or(self.max_output);
    }

    /// Returns how long the answer to a short request may be: at most half of the window. Some models
    /// may answer with as many tokens as their window has, and services refuse a request that leaves
    /// no room for the prompt.
    #[must_use]
    pub fn short_request_output(&self) -> u64 {
        match self.context_window {
            0 => self.max_output,
            window => self.max_output.min(window / 2),
        }
    }

    /// Returns how long the next answer may be: never so long that it could not fit into the window
    /// together with the conversation.
    pub(super) fn output_limit(&self, estimate: &ContextEstimate) -> u64 {
        if estimate.max == 0 {
            return self.max_output;
        }
        // The estimate may be too low; a request that exceeds the window is refused as a whole.
        let margin = estimate.max / 50;
        let room = estimate.max.saturating_sub(estimate.effective.saturating_add(margin));
        self.short_request_output().min(room.max(MIN_OUTPUT))
    }

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
            max_continues: DEFAULT_MAX_CONTINUES,
            max_repeats: DEFAULT_MAX_REPEATS,
        }
    }
}

/// What a turn does at its round limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AtLimit {
    /// It calls the model once more, without tools, for a summary.
    #[default]
    Summarise,
    /// It ends without another model call.
    Stop,
}

/// What the driver determined when the turn started. Only the hook points can change during the turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnFacts {
    /// The provider's name, for events only.
    pub provider: String,
    /// Whether a compactor is configured; without one, a full window ends the turn.
    pub has_compactor: bool,
    /// Whether the limits of the model are assumed. The driver then asks the service for them when the
    /// conversation gets long.
    #[serde(default)]
    pub assumed_limits: bool,
    /// The hook points that have hooks.
    pub hooks: HookPoints,
    /// The names of the registered tools, sorted.
    pub tools: Vec<String>,
    /// Tools that do not exist yet and may soon.
    #[serde(default)]
    pub awaited: Vec<AwaitedTools>,
    /// SHA-256 of the offered tools; `None` if there are none.
    pub tools_sha256: Option<String>,
    /// SHA-256 of the system prompt; `None` if there is none.
    pub prompt_sha256: Option<String>,
}

/// How the calls of one answer run. They start in the order of the answer. Read-only calls may run
/// at the same time; a call with effects runs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolConcurrency {
    /// Each call waits for the end of the call before it.
    Sequential,
    /// At most this many calls at the same time.
    Parallel {
        /// The limit; `None` means no limit, and 0 counts as 1.
        max: Option<u32>,
    },
}

impl Default for ToolConcurrency {
    fn default() -> Self {
        // More parallel reads than this do not finish sooner on one disk.
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

/// The hook points of a turn that have hooks.
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
