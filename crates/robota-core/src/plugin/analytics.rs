//! Counts how runs and tool calls end.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::storage::store;
use super::{Plugin, PluginCategory, PluginStorage, RunSummary, StorageError};
use crate::error::ErrorData;
use crate::event::{Envelope, Event};
use crate::ids::CallId;

/// Stores how runs and tool calls end, and which failures occur.
pub struct AnalyticsPlugin {
    storage: Box<dyn PluginStorage>,
    /// The tools of calls that have not ended.
    calls: Mutex<HashMap<CallId, String>>,
}

/// How often things happened.
///
/// ```
/// use robota_core::plugin::Counts;
///
/// assert!(Counts::default().tools.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs by how they ended, such as `complete`.
    pub runs: BTreeMap<String, u64>,
    /// Tool calls by tool: those that succeeded, and the others.
    pub tools: BTreeMap<String, (u64, u64)>,
    /// Failures of model calls by code.
    pub errors: BTreeMap<String, u64>,
}

impl AnalyticsPlugin {
    /// Creates a plugin that keeps its counts in this storage.
    pub fn new(storage: impl PluginStorage + 'static) -> Self {
        Self { storage: Box::new(storage), calls: Mutex::default() }
    }

    /// Returns the counts of all records.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn counts(&self) -> Result<Counts, StorageError> {
        let mut counts = Counts::default();
        for record in self.storage.records()? {
            let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(end) = text("run") {
                *counts.runs.entry(end).or_default() += 1;
            }
            if let Some(code) = text("error") {
                *counts.errors.entry(code).or_default() += 1;
            }
            if let Some(tool) = text("tool") {
                let (good, bad) = counts.tools.entry(tool).or_default();
                *if record.get("ok") == Some(&Value::Bool(true)) { good } else { bad } += 1;
            }
        }
        Ok(counts)
    }

    fn add(&self, record: &Value) {
        store(&*self.storage, self.name(), record);
    }
}

impl Plugin for AnalyticsPlugin {
    fn name(&self) -> &str {
        "execution-analytics"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Monitoring
    }

    fn after_run(&self, run: &RunSummary) {
        self.add(&json!({"run": run.end, "rounds": run.rounds}));
    }

    fn on_error(&self, error: &ErrorData) {
        self.add(&json!({"error": error.kind.code()}));
    }

    fn on_event(&self, event: &Envelope) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.event {
            Event::ToolCalled(called) => {
                calls.insert(called.tool_use.call.clone(), called.tool_use.name.clone());
            }
            Event::ToolFinished(finished) => {
                if let Some(tool) = calls.remove(&finished.call) {
                    self.add(&json!({"tool": tool, "ok": finished.outcome.ok}));
                }
            }
            _ => {}
        }
    }
}
