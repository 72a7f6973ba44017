//! Counts what the model calls of a session cost, and stops a turn at the budget.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use robota_core::catalogue::Catalogue;
use robota_core::driver::Observer;
use robota_core::event::{Cursor, Envelope, Event, TaskChanged};
use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PreToolDecision};
use robota_core::ids::{SessionId, TurnId};
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::ToolResult;
use robota_core::project::ModelCalls;
use robota_core::task::TaskChange;
use robota_core::usage::Usage;
use serde_json::Value;

use super::fallback::ServedModel;
use super::requests::no_price;
use robota_stream_json::{CostBasis, ModelUsage, ServerToolUse, TokenUsage};

/// Counts the model calls of a session. It observes the session's events in the session's own task,
/// so that the cost of an answer is known before a tool call of that answer runs. The budget is that
/// of this run; results also count the runs before it.
pub(crate) struct Meter {
    budget: Option<f64>,
    /// The model that answered, if it was the one of `--fallback-model`.
    served: Option<Arc<ServedModel>>,
    counts: Mutex<Counts>,
    /// The calls of earlier runs, and the lines that they changed.
    earlier: Mutex<(BTreeMap<String, ModelUsage>, ChangedLines)>,
}

/// Counts model calls from events.
#[derive(Default)]
struct Counts {
    calls: ModelCalls,
    requested: Option<Timestamp>,
    /// The time of the model calls since the last result line, in milliseconds.
    api_ms: u64,
    /// The time of the model calls of all earlier result lines, in milliseconds.
    reported_api_ms: u64,
    /// The time of the turns that have ended, in milliseconds.
    turns_ms: u64,
    models: BTreeMap<String, ModelUsage>,
    /// The tokens of the last call.
    last: Option<Usage>,
    /// The calls since the last result line, by model.
    new_models: BTreeMap<String, ModelUsage>,
    /// The lines that tools added to files and removed from them.
    lines: ChangedLines,
    /// The context windows that services have shown, by model.
    windows: BTreeMap<String, u64>,
}

/// How many lines of files were added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

impl ChangedLines {
    /// Adds the change that the result of a call reports.
    fn count(&mut self, result: &ToolResult) {
        let number = |key: &str| result.metadata.get(key).and_then(Value::as_u64).unwrap_or(0);
        self.added += number("lines_added");
        self.removed += number("lines_removed");
    }
}

impl Meter {
    /// Creates a meter with a budget in dollars.
    pub(crate) fn new(budget: Option<f64>, served: Option<Arc<ServedModel>>) -> Self {
        Self { budget, served, counts: Mutex::default(), earlier: Mutex::default() }
    }

    /// Returns the model that answered the last call, if it is not the one of the turn.
    pub(crate) fn served(&self) -> Option<String> {
        self.served.as_ref()?.get()
    }

    /// Takes an event of the session.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        self.lock().observe(envelope, || self.served());
    }

    /// Returns an observer for the events of agents: what they use is part of what the run uses.
    pub(crate) fn observe_agents(self: &Arc<Self>) -> Observer {
        let meter = self.clone();
        let agents: Mutex<HashMap<Option<TurnId>, ModelCalls>> = Mutex::default();
        Arc::new(move |envelope: &Arc<Envelope>| {
            let turn = &envelope.turn;
            let mut agents = agents.lock().unwrap_or_else(PoisonError::into_inner);
            // Of each turn, because several agents run at the same time, and only the start of a turn
            // names its model.
            let call = match &envelope.event {
                Event::TurnStarted(_) => {
                    agents.entry(turn.clone()).or_default().push(&envelope.event)
                }
                event => match agents.get_mut(turn) {
                    Some(calls) => calls.push(event),
                    // A call between turns names its model itself.
                    None => ModelCalls::default().push(event).filter(|call| !call.model.is_empty()),
                },
            };
            if let Event::TurnFinished(_) = envelope.event {
                agents.remove(turn);
            }
            // The two locks are never held together.
            drop(agents);
            if let Event::ToolResultAdded(data) = &envelope.event {
                meter.lock().lines.count(&data.result);
            }
            if let Some(call) = call {
                meter.lock().add(&call.model, call.usage);
            }
        })
    }

    /// Counts the calls of earlier runs from the events of the session up to this one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn count_earlier(
        &self,
        store: &dyn JournalStore,
        session: &SessionId,
        last: Cursor,
    ) -> Result<(), JournalError> {
        let mut counts = Counts::default();
        let mut after = 0;
        while after < last.seq {
            let page = store.read(session, after, PAGE).await?;
            let Some(end) = page.last() else { break };
            after = end.seq;
            for envelope in page.iter().filter(|envelope| envelope.seq <= last.seq) {
                // The journal has the model of the turn only: calls that a model of
                // `--fallback-model` answered in an earlier run are counted at the price of that
                // one.
                counts.observe(envelope, || None);
                counts.observe_tasks(envelope);
            }
        }
        *self.earlier() = (counts.models, counts.lines);
        Ok(())
    }

    /// Returns the time of the model calls since the last result line, in milliseconds.
    pub(crate) fn take_turn_api_ms(&self) -> u64 {
        let mut counts = self.lock();
        let api_ms = std::mem::take(&mut counts.api_ms);
        counts.reported_api_ms += api_ms;
        api_ms
    }

    /// Returns the time of all model calls of this run, in milliseconds.
    pub(crate) fn api_ms(&self) -> u64 {
        let counts = self.lock();
        counts.reported_api_ms + counts.api_ms
    }

    /// Returns the tokens of the last model call of this run.
    pub(crate) fn last_usage(&self) -> Option<Usage> {
        self.lock().last
    }

    /// Adds the time of a turn, in milliseconds.
    pub(crate) fn add_turn_ms(&self, millis: u64) {
        self.lock().turns_ms += millis;
    }

    /// Returns the time of the turns of this run, in milliseconds.
    pub(crate) fn turns_ms(&self) -> u64 {
        self.lock().turns_ms
    }

    /// Sets the context window that the service of a model has shown, which the built-in list may not
    /// know.
    pub(crate) fn set_window(&self, model: &str, window: u64) {
        self.lock().windows.insert(model.to_owned(), window);
    }

    /// Returns the tokens and price by model of the calls since the last result line.
    pub(crate) fn take_new_models(&self) -> BTreeMap<String, ModelUsage> {
        let mut counts = self.lock();
        let mut models = std::mem::take(&mut counts.new_models);
        counts.show_windows(&mut models);
        models
    }

    /// Returns the tokens and price by model, of this run and earlier ones.
    pub(crate) fn models(&self) -> BTreeMap<String, ModelUsage> {
        let mut models = self.earlier().0.clone();
        let counts = self.lock();
        for (name, usage) in &counts.models {
            models.entry(name.clone()).or_default().add(*usage);
        }
        counts.show_windows(&mut models);
        models
    }

    /// Returns how many lines of files were changed, by this run and earlier ones.
    pub(crate) fn lines(&self) -> ChangedLines {
        let (earlier, now) = (self.earlier().1, self.lock().lines);
        ChangedLines { added: earlier.added + now.added, removed: earlier.removed + now.removed }
    }

    fn earlier(&self) -> MutexGuard<'_, (BTreeMap<String, ModelUsage>, ChangedLines)> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why the budget stops this run: it is used up, or a model was called, such as that of an
    /// agent, whose price is not known.
    pub(crate) fn exhausted(&self) -> Option<String> {
        let (budget, counts) = (self.budget?, self.lock());
        let unknown = |(model, used): (&String, &ModelUsage)| {
            (used.cost_basis == CostBasis::Unknown).then(|| no_price(model))
        };
        let used_up = (cost(&counts.models) >= budget).then(|| budget_text(budget));
        used_up.or_else(|| counts.models.iter().find_map(unknown))
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the price of all calls in dollars.
pub(crate) fn cost(models: &BTreeMap<String, ModelUsage>) -> f64 {
    // Not `sum`, which begins with -0.0: a run without model calls would cost -0 dollars.
    models.values().fold(0.0, |sum, model| sum + model.cost_usd)
}

/// How many events of a journal are read at once.
const PAGE: usize = 4096;

impl Counts {
    fn observe(&mut self, envelope: &Envelope, served: impl Fn() -> Option<String>) {
        if let Some(call) = self.calls.push(&envelope.event) {
            // Another model may have answered; compactions and other calls have the model that the
            // event names.
            let served = Some(()).filter(|()| call.is_answer).and_then(|()| served());
            self.add(&served.unwrap_or(call.model), call.usage);
        }
        match &envelope.event {
            Event::ModelRequested(_) => self.requested = Some(envelope.ts),
            Event::ModelResponded(data) => {
                self.end_call(envelope.ts);
                self.last = data.usage;
            }
            Event::ModelFailed(_) | Event::ModelRetry(_) => self.end_call(envelope.ts),
            Event::ToolResultAdded(data) => self.lines.count(&data.result),
            _ => {}
        }
    }

    /// Counts what the agents of an earlier run used.
    fn observe_tasks(&mut self, envelope: &Envelope) {
        if let Event::TaskChanged(TaskChanged { change: TaskChange::Finished(end), .. }) =
            &envelope.event
        {
            for used in &end.usage {
                self.add(&used.model, Some(used.usage));
            }
        }
    }

    fn show_windows(&self, models: &mut BTreeMap<String, ModelUsage>) {
        for (name, usage) in models {
            // Not when a call is counted: a service may show the window only after the first calls.
            usage.context_window = self.windows.get(name).copied().unwrap_or(usage.context_window);
        }
    }

    fn end_call(&mut self, now: Timestamp) {
        if let Some(requested) = self.requested.take() {
            self.api_ms += u64::try_from(now.duration_since(requested).as_millis()).unwrap_or(0);
        }
    }

    fn add(&mut self, model: &str, usage: Option<Usage>) {
        let usage = usage.unwrap_or_default();
        let catalogue = Catalogue::builtin();
        let cost = catalogue.cost(model, usage);
        let call = ModelUsage {
            input_tokens: usage.uncached_input(),
            output_tokens: usage.output_tokens,
            cache_read_input_tokens: usage.cache_read_tokens,
            cache_creation_input_tokens: usage.cache_write_tokens,
            web_search_requests: usage.web_searches,
            // Hosts require a number. `cost_basis` says that this one is not known.
            cost_usd: cost.unwrap_or_default(),
            cost_basis: if cost.is_some() { CostBasis::List } else { CostBasis::Unknown },
            context_window: catalogue.context_window(model),
            max_output_tokens: catalogue.max_output(model),
        };
        for models in [&mut self.models, &mut self.new_models] {
            models.entry(model.to_owned()).or_default().add(call);
        }
    }
}

/// Returns the text of a result about a used-up budget.
fn budget_text(budget: f64) -> String {
    format!("Reached maximum budget (${budget})")
}

/// Stops the turn before the first tool call of the answer that used up the budget.
pub(crate) struct BudgetHooks(pub(crate) Arc<Meter>);

#[async_trait::async_trait]
impl Hooks for BudgetHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PreToolUse && self.0.budget.is_some()
    }

    async fn run(&self, _: HookInput) -> HookReply {
        match self.0.exhausted() {
            None => HookAnswer::PreToolUse(PreToolDecision::Continue).into(),
            Some(reason) => HookReply {
                answer: HookAnswer::PreToolUse(PreToolDecision::Deny { reason: reason.clone() }),
                context: None,
                stop: Some(reason),
            },
        }
    }
}

/// Returns token counts in the form of the protocol.
pub(crate) fn token_usage(usage: Usage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.uncached_input(),
        cache_creation_input_tokens: usage.cache_write_tokens,
        cache_read_input_tokens: usage.cache_read_tokens,
        output_tokens: usage.output_tokens,
        server_tool_use: ServerToolUse {
            web_search_requests: usage.web_searches,
            web_fetch_requests: usage.web_fetches,
        },
        ..TokenUsage::default()
    }
}

#[cfg(test)]
mod tests;
