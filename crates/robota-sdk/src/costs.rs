//! Counts the tokens and the price of model calls, by model.

use std::collections::BTreeMap;

use jiff::Timestamp;
use robota_core::catalogue::Catalogue;
use robota_core::event::{Event, TaskChanged};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::project::ModelCalls;
use robota_core::task::{TaskChange, TaskUsage};
use robota_core::usage::Usage;
use robota_session::{Session, SessionError};
use serde::Serialize;

/// How many events are read from the journal at a time.
const PAGE: usize = 4_096;

/// What the calls of one model used.
///
/// ```
/// use robota_sdk::ModelCost;
///
/// assert_eq!(ModelCost::default().calls, 0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ModelCost {
    /// The tokens of all calls together.
    pub usage: Usage,
    /// The price in dollars; none if the catalogue has no price for the model.
    pub cost: Option<f64>,
    /// The number of calls, also of those for which the provider reported no tokens.
    pub calls: u64,
}

/// What the model calls of a session used, by model: a projection of its events.
///
/// ```
/// use robota_sdk::Costs;
///
/// fn dollars(costs: &Costs) -> String {
///     costs.cost().map_or("unknown".to_owned(), |usd| format!("${usd:.2}"))
/// }
/// assert_eq!(dollars(&Costs::default()), "$0.00");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Costs {
    #[serde(skip)]
    calls: ModelCalls,
    /// The totals by the id of the model.
    pub models: BTreeMap<String, ModelCost>,
}

impl Costs {
    /// Takes an event of the session.
    pub fn push(&mut self, event: &Event) {
        if let Some(call) = self.calls.push(event) {
            self.add_calls(&call.model, call.usage.unwrap_or_default(), 1);
        }
        // What an agent used is part of what its parent used.
        if let Event::TaskChanged(TaskChanged { change: TaskChange::Finished(end), .. }) = event {
            for used in &end.usage {
                self.add_calls(&used.model, used.usage, used.calls);
            }
        }
    }

    /// Adds a model call that no event records.
    pub(crate) fn count(&mut self, model: &str, usage: Usage) {
        self.add_calls(model, usage, 1);
    }

    /// Returns the tokens of all models.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.models.values().fold(Usage::default(), |sum, model| sum + model.usage)
    }

    /// Returns the price of all calls in dollars; none if the price of a model is not known.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.models.values().try_fold(0.0, |sum, model| Some(sum + model.cost?))
    }

    /// Returns the price of the calls whose price is known, in dollars.
    #[must_use]
    pub fn known_cost(&self) -> f64 {
        // An empty sum of floats is -0.0.
        self.models.values().filter_map(|model| model.cost).sum::<f64>() + 0.0
    }

    /// Returns a model that was called and whose price is not known.
    pub(crate) fn called_without_price(&self) -> Option<&str> {
        let called = self.models.iter().find(|(_, model)| model.cost.is_none());
        called.map(|(model, _)| model.as_str())
    }

    /// Returns the model of the last turn, if its price is not known.
    pub(crate) fn turn_without_price(&self) -> Option<&str> {
        let model = self.calls.model();
        let known = model.is_empty() || has_price(model);
        (!known).then_some(model)
    }

    /// Adds calls of a model. A model without a price makes its whole cost unknown.
    pub(crate) fn add_calls(&mut self, model: &str, usage: Usage, calls: u64) {
        let model = model.to_owned();
        let price = Catalogue::builtin().cost(&model, usage);
        let entry = self
            .models
            .entry(model)
            .or_insert_with(|| ModelCost { cost: Some(0.0), ..ModelCost::default() });
        entry.usage += usage;
        entry.cost = entry.cost.zip(price).map(|(sum, price)| sum + price);
        entry.calls += calls;
    }
}

/// Returns whether the catalogue has a price for a model.
pub(crate) fn has_price(model: &str) -> bool {
    Catalogue::builtin().cost(model, Usage::default()).is_some()
}

/// Counts the calls in the journal of an agent since a time: an agent that continues has earlier calls
/// in it, which the end of its earlier task has counted.
pub(crate) async fn of_agent(
    store: &dyn JournalStore,
    session: &SessionId,
    since: Timestamp,
) -> Vec<TaskUsage> {
    let (mut costs, mut after) = (Costs::default(), 0);
    loop {
        // What cannot be read cannot be counted; the end of the task is recorded all the same.
        let page = store.read(session, after, PAGE).await.unwrap_or_default();
        for envelope in &page {
            // The start of a turn names the model of its later calls.
            if envelope.ts >= since || matches!(envelope.event, Event::TurnStarted(_)) {
                costs.push(&envelope.event);
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.seq,
            _ => break,
        }
    }
    let models = costs.models.into_iter();
    models.map(|(model, it)| TaskUsage { model, usage: it.usage, calls: it.calls }).collect()
}

/// Counts the calls of a session from its journal.
pub(crate) async fn read(session: &Session) -> Result<Costs, SessionError> {
    let (journal, mut costs, mut after) = (session.journal(), Costs::default(), None);
    loop {
        let page = journal.read(after, PAGE).await?;
        page.iter().for_each(|event| costs.push(event.event()));
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.cursor()),
            _ => return Ok(costs),
        }
    }
}
