//! Budgets: limits of dollars, tokens, turns and time for a session and for each turn.
//!
//! A warning comes at 80 %. At 100 % no further tool call starts and no further prompt is accepted;
//! the turn ends cleanly, and the session can be resumed with a larger budget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use robota_core::event::{Envelope, Event};
use robota_core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PreToolDecision, PromptDecision,
};
use robota_core::ids::TurnId;
use serde::Serialize;

use crate::costs::Costs;
use crate::notice::Notice;

/// The share of a limit at which the user is warned.
const WARN_AT: f64 = 0.8;

/// Limits of a session or a turn. An absent limit does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BudgetLimits {
    /// The most dollars. Calls of models without a price count as nothing.
    pub usd: Option<f64>,
    /// The most tokens, sent and received.
    pub tokens: Option<u64>,
    /// The most turns. Has no meaning for a single turn.
    pub turns: Option<u64>,
    /// The longest time in which turns run.
    pub time: Option<Duration>,
}

/// The budget of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Budget {
    /// The limits of all turns of this process together, those of forks included.
    pub session: BudgetLimits,
    /// The limits of each turn.
    pub turn: BudgetLimits,
}

/// What was used of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BudgetUse {
    /// Dollars.
    pub usd: f64,
    /// Tokens.
    pub tokens: u64,
    /// Turns.
    pub turns: u64,
    /// The time in which turns ran.
    pub time: Duration,
}

impl BudgetLimits {
    /// Returns the share in use of the limit that is used most, and how it reads.
    fn nearest(&self, used: &BudgetUse) -> Option<(f64, String)> {
        let shares = [
            self.usd
                .map(|limit| (share(used.usd, limit), format!("${:.2} of ${limit:.2}", used.usd))),
            self.tokens.map(|limit| {
                (
                    share(used.tokens as f64, limit as f64),
                    format!("{} of {limit} tokens", used.tokens),
                )
            }),
            self.turns.map(|limit| {
                (share(used.turns as f64, limit as f64), format!("{} of {limit} turns", used.turns))
            }),
            self.time.map(|limit| {
                let (used, limit) = (used.time.as_secs_f64(), limit.as_secs_f64());
                (share(used, limit), format!("{used:.0} of {limit:.0} s"))
            }),
        ];
        shares.into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Returns the share of a limit in use; a limit of zero is used up.
fn share(used: f64, limit: f64) -> f64 {
    if limit > 0.0 { used / limit } else { 1.0 }
}

/// Counts what a session uses, warns, and stops it at its limits.
#[derive(Clone)]
pub(crate) struct BudgetGuard {
    budget: Budget,
    state: Arc<Mutex<State>>,
    on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
}

#[derive(Default)]
struct State {
    session: Costs,
    /// The turns that run: that of the session, and those of its forks, which share the budget.
    running: HashMap<TurnId, RunningTurn>,
    turns: u64,
    /// The time of the turns that ended.
    time: Duration,
    warned: bool,
}

#[derive(Default)]
struct RunningTurn {
    costs: Costs,
    started: Option<Timestamp>,
    /// The time of its last event.
    now: Option<Timestamp>,
}

impl RunningTurn {
    fn time(&self) -> Duration {
        let elapsed = self.started.zip(self.now).map(|(from, to)| to.duration_since(from));
        elapsed.and_then(|time| time.try_into().ok()).unwrap_or_default()
    }
}

impl BudgetGuard {
    pub(crate) fn new(budget: Budget, on_notice: Arc<dyn Fn(Notice) + Send + Sync>) -> Self {
        Self { budget, state: Arc::default(), on_notice }
    }

    /// Takes an event of the session, in the session's own task: what an answer cost is known before
    /// its calls run.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        self.lock().take(envelope);
        self.warn();
    }

    /// Warns once when the budget is nearly used up.
    fn warn(&self) {
        let warning = {
            let mut state = self.lock();
            let near = self.nearest(&state).filter(|(share, _)| *share >= WARN_AT);
            let warning = near.filter(|_| !state.warned);
            state.warned |= warning.is_some();
            warning
        };
        if let Some((_, text)) = warning {
            (self.on_notice)(Notice::Note(format!("the budget is nearly used up: {text}")));
        }
    }

    /// Returns what counts the events of an agent of the session.
    pub(crate) fn child(&self) -> ChildMeter {
        ChildMeter { guard: self.clone(), costs: Mutex::default() }
    }

    /// Returns what this process used of the session's budget.
    pub(crate) fn used(&self) -> BudgetUse {
        self.lock().session_use()
    }

    /// Returns why nothing more may start; none while the budget lasts.
    fn exhausted(&self) -> Option<String> {
        let state = self.lock();
        let over = |limits: &BudgetLimits, used: &BudgetUse| {
            // The turn that is the last one may run to its end.
            let turns = limits.turns.filter(|limit| used.turns > *limit);
            let turns = turns.map(|limit| format!("{limit} turns"));
            let limits = BudgetLimits { turns: None, ..*limits };
            let nearest = limits.nearest(used).filter(|(share, _)| *share >= 1.0);
            turns.or(nearest.map(|(_, text)| text))
        };
        over(&self.budget.session, &state.session_use())
            .or_else(|| state.turn_uses().find_map(|used| over(&self.budget.turn, &used)))
            .map(|text| format!("The budget is used up: {text}."))
    }

    fn nearest(&self, state: &State) -> Option<(f64, String)> {
        let session = self.budget.session.nearest(&state.session_use());
        let turns = state.turn_uses().filter_map(|used| self.budget.turn.nearest(&used));
        session.into_iter().chain(turns).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the model calls of an agent into the budget of its session, as they happen.
pub(crate) struct ChildMeter {
    guard: BudgetGuard,
    costs: Mutex<Costs>,
}

impl ChildMeter {
    /// Takes an event of the agent's session.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.push(&envelope.event);
        let used = std::mem::take(&mut costs.models);
        drop(costs);
        if used.is_empty() {
            return;
        }
        let mut state = self.guard.lock();
        for (model, cost) in used {
            state.session.add_calls(&model, cost.usage, cost.calls);
            // The turn that waits for the agent pays for it.
            for turn in state.running.values_mut() {
                turn.costs.add_calls(&model, cost.usage, cost.calls);
            }
        }
        drop(state);
        self.guard.warn();
    }
}

impl State {
    fn take(&mut self, envelope: &Envelope) {
        // What agents use is counted while they run.
        if matches!(envelope.event, Event::TaskChanged(_)) {
            return;
        }
        self.session.push(&envelope.event);
        let Some(id) = &envelope.turn else { return };
        if let Event::TurnStarted(_) = envelope.event {
            self.turns += 1;
            self.running.insert(id.clone(), RunningTurn::default());
        }
        if let Some(turn) = self.running.get_mut(id) {
            turn.costs.push(&envelope.event);
            turn.started.get_or_insert(envelope.ts);
            turn.now = Some(envelope.ts);
        }
        if let Event::TurnFinished(_) = envelope.event {
            self.time += self.running.remove(id).map(|turn| turn.time()).unwrap_or_default();
        }
    }

    fn session_use(&self) -> BudgetUse {
        let running: Duration = self.running.values().map(RunningTurn::time).sum();
        BudgetUse { turns: self.turns, ..used(&self.session, self.time + running) }
    }

    fn turn_uses(&self) -> impl Iterator<Item = BudgetUse> + '_ {
        self.running.values().map(|turn| used(&turn.costs, turn.time()))
    }
}

fn used(costs: &Costs, time: Duration) -> BudgetUse {
    BudgetUse { usd: costs.known_cost(), tokens: costs.usage().total(), turns: 0, time }
}

#[async_trait::async_trait]
impl Hooks for BudgetGuard {
    fn has_point(&self, point: HookPoint) -> bool {
        let limited = self.budget != Budget::default();
        limited && matches!(point, HookPoint::PreToolUse | HookPoint::UserPromptSubmit)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let prompt = matches!(input, HookInput::UserPromptSubmit { .. });
        match (self.exhausted(), prompt) {
            (None, true) => {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context: None }).into()
            }
            (None, false) => HookAnswer::PreToolUse(PreToolDecision::Continue).into(),
            (Some(reason), true) => {
                HookAnswer::UserPromptSubmit(PromptDecision::Block { reason }).into()
            }
            (Some(reason), false) => HookReply {
                answer: HookAnswer::PreToolUse(PreToolDecision::Deny { reason: reason.clone() }),
                context: None,
                stop: Some(reason),
            },
        }
    }
}
