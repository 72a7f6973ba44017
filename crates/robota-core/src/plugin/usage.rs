//! Counts tokens and their cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::storage::store;
use super::{Plugin, PluginCategory, PluginStorage, RunSummary, StorageError};
use crate::catalogue::Catalogue;
use crate::usage::Usage;

/// Stores the tokens of each run.
pub struct UsagePlugin {
    storage: Box<dyn PluginStorage>,
}

/// What all stored runs used.
///
/// ```
/// use robota_core::plugin::UsageTotals;
///
/// assert_eq!(UsageTotals::default().usage.total(), 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageTotals {
    /// The number of runs in the storage.
    pub runs: u64,
    /// The tokens of all these runs.
    pub usage: Usage,
    /// The tokens of each model, by its id.
    pub models: BTreeMap<String, Usage>,
    /// The cost in dollars; none if the price of a model is not known.
    pub dollars: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    model: String,
    usage: Usage,
    /// Records of earlier versions do not have it.
    #[serde(default)]
    cost: Option<f64>,
}

impl UsagePlugin {
    /// Creates a plugin that keeps the token counts in this storage.
    pub fn new(storage: impl PluginStorage + 'static) -> Self {
        Self { storage: Box::new(storage) }
    }

    /// Returns what all stored runs used.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn totals(&self) -> Result<UsageTotals, StorageError> {
        let mut totals = UsageTotals { dollars: Some(0.0), ..UsageTotals::default() };
        let records = self.storage.records()?.into_iter();
        for record in records.filter_map(|it| serde_json::from_value::<Record>(it).ok()) {
            totals.runs += 1;
            totals.usage += record.usage;
            // The sum of the calls was not stored then. Their summed usage gives the cost too, except
            // that several calls may count as one with a long prompt.
            let summed = || Catalogue::builtin().cost(&record.model, record.usage);
            let cost = record.cost.or_else(summed);
            totals.dollars = totals.dollars.zip(cost).map(|(sum, cost)| sum + cost);
            *totals.models.entry(record.model).or_default() += record.usage;
        }
        Ok(totals)
    }
}

impl Plugin for UsagePlugin {
    fn name(&self) -> &str {
        "usage"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Monitoring
    }

    fn after_run(&self, run: &RunSummary) {
        let (at, RunSummary { model, usage, cost, .. }) = (run.at.to_string(), run);
        let record = json!({"at": at, "model": model, "usage": usage, "cost": cost});
        store(&*self.storage, self.name(), &record);
    }
}
