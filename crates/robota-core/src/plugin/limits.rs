//! Blocks runs beyond a rate, a number of tokens or a cost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::{Plugin, PluginCategory, PluginPriority, RunSummary};
use crate::clock::{Clock, SystemClock};
use crate::hook::PromptDecision;
use crate::into_arc::IntoArc;
use crate::message::Block;

/// How much is allowed in a period. None is no limit.
///
/// ```
/// use std::time::Duration;
///
/// use robota_core::plugin::RunLimits;
///
/// let limits = RunLimits { runs: Some(10), ..RunLimits::every(Duration::from_secs(60)) };
/// assert_eq!(limits.tokens, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLimits {
    /// How far back runs count. The period slides: it always ends now.
    pub period: Duration,
    /// The most runs that a period may have; `None` is no limit.
    pub runs: Option<u64>,
    /// The most tokens, input and output together; `None` is no limit.
    pub tokens: Option<u64>,
    /// The most dollars. A model whose price is not known is not used.
    pub dollars: Option<f64>,
}

impl RunLimits {
    /// Returns a period without limits.
    #[must_use]
    pub fn every(period: Duration) -> Self {
        Self { period, runs: None, tokens: None, dollars: None }
    }
}

/// Blocks a run if those of the last period have reached a limit. A run that has started is not
/// stopped: for that, sessions of the SDK have a budget.
///
/// ```
/// use std::time::Duration;
///
/// use robota_core::plugin::{LimitsPlugin, RunLimits};
///
/// let hour = RunLimits::every(Duration::from_secs(3600));
/// let plugin = LimitsPlugin::new(RunLimits { tokens: Some(100_000), ..hour });
/// # drop(plugin);
/// ```
pub struct LimitsPlugin {
    limits: RunLimits,
    clock: Arc<dyn Clock>,
    runs: Mutex<VecDeque<Used>>,
}

#[derive(Debug, Clone, Copy)]
struct Used {
    at: Timestamp,
    tokens: u64,
    dollars: Option<f64>,
}

impl LimitsPlugin {
    /// Creates a plugin that blocks runs above these limits.
    #[must_use]
    pub fn new(limits: RunLimits) -> Self {
        Self { limits, clock: Arc::new(SystemClock), runs: Mutex::default() }
    }

    /// Sets the clock by which the period is measured.
    #[must_use]
    pub fn clock(mut self, clock: impl IntoArc<dyn Clock>) -> Self {
        self.clock = clock.into_arc();
        self
    }

    /// Returns why no run may start now.
    fn refusal(&self) -> Option<String> {
        let period = SignedDuration::try_from(self.limits.period).unwrap_or(SignedDuration::MAX);
        let now = self.clock.now();
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // A sliding period, so that no moment allows twice the limit.
        runs.retain(|run| now.duration_since(run.at) < period);
        let used =
            |what: String| Some(format!("{what} in {} seconds is reached", period.as_secs()));
        if let Some(most) = self.limits.runs.filter(|most| runs.len() as u64 >= *most) {
            return used(format!("the limit of {most} runs"));
        }
        let tokens: u64 = runs.iter().map(|run| run.tokens).sum();
        if let Some(most) = self.limits.tokens.filter(|most| tokens >= *most) {
            return used(format!("the limit of {most} tokens"));
        }
        let most = self.limits.dollars?;
        // One run without a price makes the sum unknown, and an unknown sum cannot keep a limit.
        match runs.iter().map(|run| run.dollars).sum::<Option<f64>>() {
            None => Some("the cost is limited, and the price of the model is not known".to_owned()),
            Some(dollars) if dollars >= most => used(format!("the limit of ${most}")),
            Some(_) => None,
        }
    }
}

#[async_trait]
impl Plugin for LimitsPlugin {
    fn name(&self) -> &str {
        "limits"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Limits
    }

    fn priority(&self) -> PluginPriority {
        PluginPriority::HIGH
    }

    async fn before_run(&self, _prompt: &[Block]) -> PromptDecision {
        match self.refusal() {
            None => PromptDecision::Continue { context: None },
            Some(reason) => PromptDecision::Block { reason },
        }
    }

    fn after_run(&self, run: &RunSummary) {
        // A run that was blocked used nothing.
        if run.rounds == 0 {
            return;
        }
        let used = Used { at: self.clock.now(), tokens: run.usage.total(), dollars: run.cost };
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push_back(used);
    }
}
