//! Budgets: limits of dollars, tokens, turns and time for a session, each turn and each subagent.
//!
//! They come from the settings (`budget`), from flags or from the API; the API wins. Each limit warns
//! once at 80 %, the limits of a turn once in each turn. At 100 % no further tool call starts and no further prompt is accepted; a turn that runs
//! out of time is interrupted. The turn ends cleanly, and the session can be resumed with a larger
//! budget: what it used before counts.

mod deadline;
mod earlier;
mod limits;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use robota_core::event::{Envelope, Event, TurnEnd};
use robota_core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PreToolDecision, PromptDecision,
};
use robota_core::ids::TurnId;
use robota_core::task::TaskUsage;
use robota_core::usage::Usage;
use tokio::sync::watch;

pub use limits::{Budget, BudgetLimits, BudgetUse};
use limits::{Limit, Share};

use crate::costs::{Costs, has_price};
use crate::notice::Notice;

/// The share of a limit at which the user is warned.
const WARN_AT: f64 = 0.8;

/// Counts what a session uses, warns, and stops it at its limits.
#[derive(Clone)]
pub(crate) struct BudgetGuard(Arc<Guarded>);

struct Guarded {
    budget: Budget,
    /// Whether dollars are limited, here or in the session of an agent: then every call needs a price.
    priced: bool,
    state: Mutex<State>,
    on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
    /// Changes when a turn begins or ends.
    turns: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    session: Costs,
    /// The turns that run: that of the session, and those of its forks, which share the budget.
    running: HashMap<TurnId, RunningTurn>,
    turns: u64,
    /// The time of the turns that ended.
    time: Duration,
    /// The limits that have warned.
    warned: HashSet<Warned>,
    /// Why the last turn was stopped.
    stopped: Option<String>,
}

/// A limit that has warned: of the session, or of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Warned {
    turn: Option<TurnId>,
    limit: Limit,
}

/// A warning that a limit is nearly reached.
struct Warning {
    of: Warned,
    text: String,
}

impl Warning {
    fn new(turn: Option<&TurnId>, share: &Share) -> Self {
        let of = if turn.is_some() { " of the turn" } else { "" };
        let text = format!("the budget{of} is nearly used up: {}", share.text);
        Self { of: Warned { turn: turn.cloned(), limit: share.limit }, text }
    }
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
        let priced = budget.session.usd.or(budget.turn.usd).is_some();
        Self::with_prices(budget, priced, on_notice)
    }

    fn with_prices(
        budget: Budget,
        priced: bool,
        on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
    ) -> Self {
        let (turns, state) = (watch::Sender::new(0), Mutex::default());
        Self(Arc::new(Guarded { budget, priced, state, on_notice, turns }))
    }

    /// Returns the limits: those of the caller, completed by those of the settings.
    pub(crate) fn budget(&self) -> Budget {
        self.0.budget
    }

    /// Returns why the last turn was stopped or the last prompt refused.
    pub(crate) fn stopped(&self) -> Option<String> {
        self.lock().stopped.clone()
    }

    /// Counts what an agent used that ran when an earlier process ended: its end was not in the journal
    /// when the journal was counted.
    pub(crate) fn count_agent(&self, used: &[TaskUsage]) {
        if self.0.budget.session == BudgetLimits::default() {
            return;
        }
        let mut state = self.lock();
        for used in used {
            state.session.add_calls(&used.model, used.usage, used.calls);
        }
    }

    /// Counts a model call that no event records.
    pub(crate) fn count(&self, model: &str, usage: Usage) {
        self.lock().session.count(model, usage);
    }

    /// Returns how long turns may still run; none if no turn runs or the time is not limited.
    fn time_left(&self) -> Option<Duration> {
        let (state, budget) = (self.lock(), self.0.budget);
        let running = !state.running.is_empty();
        // No turn, no deadline: only the time in which turns run counts.
        let session = budget.session.time.filter(|_| running);
        let session = session.map(|limit| limit.saturating_sub(state.session_use().time));
        let turns = state
            .turn_uses()
            .filter_map(|(_, used)| Some(budget.turn.time?.saturating_sub(used.time)));
        session.into_iter().chain(turns).min()
    }

    /// Returns the warnings about the time, and how long turns may run before each; the next one
    /// first.
    fn time_warnings(&self) -> Vec<(Duration, Warning)> {
        let (state, budget) = (self.lock(), self.0.budget);
        let session = (None, budget.session, state.session_use().time);
        let turns = state.turn_uses().map(|(turn, used)| (Some(turn), budget.turn, used.time));
        let warnings = std::iter::once(session).chain(turns).filter_map(|(turn, limits, used)| {
            let at = limits.time?.mul_f64(WARN_AT);
            let warning = Warning::new(turn, &limits.time_share(at.max(used))?);
            let new = !state.running.is_empty() && !state.warned.contains(&warning.of);
            new.then(|| (at.saturating_sub(used), warning))
        });
        let mut warnings: Vec<_> = warnings.collect();
        warnings.sort_by_key(|(after, _)| *after);
        warnings
    }

    /// Records that the time is used up, and returns the text about it.
    fn stop_for_time(&self) -> String {
        let budget = self.0.budget;
        let limit = [budget.session.time, budget.turn.time].into_iter().flatten().min();
        let seconds = limit.unwrap_or_default().as_secs_f64();
        let reason = format!("The budget is used up: {seconds:.0} s of running turns.");
        self.lock().stopped = Some(reason.clone());
        reason
    }

    /// Takes an event of the session, in the session's own task: what an answer cost is known before
    /// its calls run.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        self.lock().take(envelope);
        // The deadline depends on which turns run, so its watch must start again.
        if matches!(envelope.event, Event::TurnStarted(_) | Event::TurnFinished(_)) {
            self.0.turns.send_modify(|count| *count += 1);
        }
        self.warn();
    }

    /// Warns about the limits that are nearly reached.
    fn warn(&self) {
        let warnings: Vec<_> = {
            let (state, budget) = (self.lock(), self.0.budget);
            let session = (None, budget.session.shares(&state.session_use()));
            let turns = state.turn_uses().map(|(id, used)| (Some(id), budget.turn.shares(&used)));
            let near = |(turn, shares): (Option<&TurnId>, Vec<Share>)| -> Vec<Warning> {
                let near = shares.into_iter().filter(|share| share.share >= WARN_AT);
                near.map(|share| Warning::new(turn, &share)).collect()
            };
            std::iter::once(session).chain(turns).flat_map(near).collect()
        };
        warnings.into_iter().for_each(|warning| self.warn_once(warning));
    }

    /// Shows a warning, unless its limit has warned before.
    fn warn_once(&self, warning: Warning) {
        // The handler runs without the lock: it may ask for the budget.
        let new = self.lock().warned.insert(warning.of);
        if new {
            (self.0.on_notice)(Notice::Note(warning.text));
        }
    }

    /// Returns the guard of one agent of the session, with the limits of agents. What the agent uses
    /// counts for the session too ([`Self::child`]).
    pub(crate) fn of_agent(&self) -> Self {
        let budget = Budget { session: self.0.budget.subagent, ..Budget::default() };
        let priced = self.0.priced || budget.session.usd.is_some();
        Self::with_prices(budget, priced, self.0.on_notice.clone())
    }

    /// Returns what counts the events of an agent of the session.
    pub(crate) fn child(&self) -> ChildMeter {
        ChildMeter { guard: self.clone(), costs: Mutex::default() }
    }

    /// Returns what the session used of its budget.
    pub(crate) fn used(&self) -> BudgetUse {
        self.lock().session_use()
    }

    /// Returns why nothing more may start in the turns that run; none while the budget lasts.
    pub(crate) fn exhausted(&self) -> Option<String> {
        // Only the turn in which it was called: the next one may have a model with a price.
        let called = self.lock().turn_called_without_price().filter(|_| self.0.priced);
        called
            .map(|model| self.stop(without_price(&model, "this turn is stopped, because ")))
            .or_else(|| self.used_up())
    }

    /// Returns why a prompt is refused; none if its turn may start.
    fn refuses_prompt(&self) -> Option<String> {
        let model = self.lock().turn_without_price().filter(|_| self.0.priced);
        model.map(|model| self.stop(without_price(&model, ""))).or_else(|| self.used_up())
    }

    /// Returns why a call outside of turns may not start; none if it may.
    pub(crate) fn refuses_call(&self, model: &str) -> Option<String> {
        let unknown = self.0.priced && !has_price(model);
        self.exhausted().or_else(|| unknown.then(|| without_price(model, "")))
    }

    /// Records why the last turn was stopped.
    fn stop(&self, reason: String) -> String {
        self.lock().stopped = Some(reason.clone());
        reason
    }

    /// Returns which limit is reached; none while the budget lasts.
    fn used_up(&self) -> Option<String> {
        let (mut state, budget) = (self.lock(), self.0.budget);
        let over = |limits: &BudgetLimits, used: &BudgetUse| {
            // The turn that is the last one may run to its end.
            let turns = limits.turns.filter(|limit| used.turns > *limit);
            let turns = turns.map(|limit| format!("{limit} turns"));
            let limits = BudgetLimits { turns: None, ..*limits };
            let nearest = limits.nearest(used).filter(|nearest| nearest.share >= 1.0);
            turns.or(nearest.map(|nearest| nearest.text))
        };
        let reason = over(&budget.session, &state.session_use())
            .or_else(|| state.turn_uses().find_map(|(_, used)| over(&budget.turn, &used)))
            .map(|text| {
                format!("The budget is used up: {text}. A larger budget continues the session.")
            });
        if reason.is_some() {
            state.stopped.clone_from(&reason);
        }
        reason
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        // Taken out, so that each call is added to the parent once.
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
        // A hook's model call is part of no turn; it counts for the turn that runs.
        if let (Event::ModelAsked(_), None, 1) =
            (&envelope.event, &envelope.turn, self.running.len())
        {
            self.running.values_mut().for_each(|turn| turn.costs.push(&envelope.event));
        }
        let Some(id) = &envelope.turn else { return };
        if let Event::TurnStarted(_) = envelope.event {
            self.stopped = None;
            // The running turn is one of them; it is taken back if the prompt is refused.
            self.turns += 1;
            self.running.insert(id.clone(), RunningTurn::default());
        }
        if let Some(turn) = self.running.get_mut(id) {
            turn.costs.push(&envelope.event);
            turn.started.get_or_insert(envelope.ts);
            turn.now = Some(envelope.ts);
        }
        if let Event::TurnFinished(end) = &envelope.event {
            if end.end == TurnEnd::Blocked {
                self.turns = self.turns.saturating_sub(1);
            }
            self.time += self.running.remove(id).map(|turn| turn.time()).unwrap_or_default();
            self.warned.retain(|warned| warned.turn.as_ref() != Some(id));
        }
    }

    /// Returns a model whose price is not known, which a running turn has or has called.
    fn turn_called_without_price(&self) -> Option<String> {
        let called = self.running.values().find_map(|turn| turn.costs.called_without_price());
        called.map(str::to_owned).or_else(|| self.turn_without_price())
    }

    /// Returns the model of a running turn whose price is not known.
    fn turn_without_price(&self) -> Option<String> {
        let found = self.running.values().find_map(|turn| turn.costs.turn_without_price());
        found.map(str::to_owned)
    }

    fn session_use(&self) -> BudgetUse {
        let running: Duration = self.running.values().map(RunningTurn::time).sum();
        BudgetUse { turns: self.turns, ..used(&self.session, self.time + running) }
    }

    fn turn_uses(&self) -> impl Iterator<Item = (&TurnId, BudgetUse)> {
        self.running.iter().map(|(id, turn)| (id, used(&turn.costs, turn.time())))
    }
}

/// Returns why a model without a price is not called: its calls would count as nothing, and the limit would
/// not limit anything.
fn without_price(model: &str, called: &str) -> String {
    format!(
        "The budget in dollars cannot be kept: {called}the price of the model `{model}` is not known. \
         Use another model, or a budget of tokens."
    )
}

fn used(costs: &Costs, time: Duration) -> BudgetUse {
    BudgetUse { usd: costs.known_cost(), tokens: costs.usage().total(), turns: 0, time }
}

#[async_trait::async_trait]
impl Hooks for BudgetGuard {
    fn has_point(&self, point: HookPoint) -> bool {
        // Without limits no hook point exists, and the calls of the session skip this hook.
        let limited = self.0.priced || self.0.budget != Budget::default();
        limited && matches!(point, HookPoint::PreToolUse | HookPoint::UserPromptSubmit)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let prompt = matches!(input, HookInput::UserPromptSubmit { .. });
        let refused = if prompt { self.refuses_prompt() } else { self.exhausted() };
        match (refused, prompt) {
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
