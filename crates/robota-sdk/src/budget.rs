//! Budgets: limits of dollars, tokens, turns and time for a session and for each turn.
//!
//! A warning comes at 80 %. At 100 % no further tool call starts and no further prompt is accepted;
//! the turn ends cleanly, and the session can be resumed with a larger budget.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use robota_core::event::{Envelope, Event};
use robota_core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PreToolDecision, PromptDecision,
};
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
    /// The limits of all turns of this process together.
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
    /// Returns the limit that is used most: its name, the share in use, and how it reads.
    fn nearest(&self, used: &BudgetUse) -> Option<(f64, String)> {
        let shares = [
            self.usd.map(|limit| (used.usd / limit, format!("${:.2} of ${limit:.2}", used.usd))),
            self.tokens.map(|limit| {
                (used.tokens as f64 / limit as f64, format!("{} of {limit} tokens", used.tokens))
            }),
            self.turns.map(|limit| {
                (used.turns as f64 / limit as f64, format!("{} of {limit} turns", used.turns))
            }),
            self.time.map(|limit| {
                let (used, limit) = (used.time.as_secs_f64(), limit.as_secs_f64());
                (used / limit, format!("{used:.0} of {limit:.0} s"))
            }),
        ];
        shares.into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
    }
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
    turn: Costs,
    turns: u64,
    /// The time of the turns that ended.
    time: Duration,
    turn_started: Option<Timestamp>,
    /// The time of the last event.
    now: Option<Timestamp>,
    warned: bool,
}

impl BudgetGuard {
    pub(crate) fn new(budget: Budget, on_notice: Arc<dyn Fn(Notice) + Send + Sync>) -> Self {
        Self { budget, state: Arc::default(), on_notice }
    }

    /// Takes an event of the session, in the session's own task: what an answer cost is known before
    /// its calls run.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        let warning = {
            let mut state = self.lock();
            state.take(envelope);
            let near = self.nearest(&state).filter(|(share, _)| *share >= WARN_AT);
            let warning = near.filter(|_| !state.warned);
            state.warned |= warning.is_some();
            warning
        };
        if let Some((_, text)) = warning {
            (self.on_notice)(Notice::Note(format!("the budget is nearly used up: {text}")));
        }
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
            .or_else(|| over(&self.budget.turn, &state.turn_use()))
            .map(|text| format!("The budget is used up: {text}."))
    }

    fn nearest(&self, state: &State) -> Option<(f64, String)> {
        let session = self.budget.session.nearest(&state.session_use());
        let turn = self.budget.turn.nearest(&state.turn_use());
        session.into_iter().chain(turn).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, envelope: &Envelope) {
        self.now = Some(envelope.ts);
        match &envelope.event {
            Event::TurnStarted(_) => {
                self.turn = Costs::default();
                self.turns += 1;
                self.turn_started = Some(envelope.ts);
            }
            Event::TurnFinished(_) => {
                self.time += self.turn_time();
                self.turn_started = None;
            }
            _ => {}
        }
        self.session.push(&envelope.event);
        self.turn.push(&envelope.event);
    }

    fn turn_time(&self) -> Duration {
        let elapsed = self.turn_started.zip(self.now).map(|(from, to)| to.duration_since(from));
        elapsed.and_then(|time| time.try_into().ok()).unwrap_or_default()
    }

    fn session_use(&self) -> BudgetUse {
        let time = self.time + self.turn_time();
        BudgetUse { turns: self.turns, ..used(&self.session, time) }
    }

    fn turn_use(&self) -> BudgetUse {
        used(&self.turn, self.turn_time())
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
