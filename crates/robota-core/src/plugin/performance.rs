//! Measures how long runs, model calls and tools take.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::storage::store;
use super::{Plugin, PluginCategory, PluginStorage, RunSummary, StorageError};
use crate::event::{Envelope, Event};
use crate::ids::CallId;

/// Stores how long runs, model calls and tool calls take, by the times of the journal.
pub struct PerformancePlugin {
    storage: Box<dyn PluginStorage>,
    open: Mutex<Open>,
}

/// What has begun and not ended.
#[derive(Default)]
struct Open {
    model: Option<Timestamp>,
    tools: HashMap<CallId, String>,
}

/// How long something took, each time.
///
/// ```
/// use robota_core::plugin::Timing;
///
/// let timing = Timing { count: 2, total_ms: 30, longest_ms: 20 };
/// assert_eq!(timing.total_ms / timing.count, 15);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// How many measurements the sum contains.
    pub count: u64,
    /// The sum of all times, in milliseconds.
    pub total_ms: u64,
    /// The longest of the times, in milliseconds.
    pub longest_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Record {
    what: String,
    ms: u64,
}

impl PerformancePlugin {
    /// Creates a plugin that keeps its timings in this storage.
    pub fn new(storage: impl PluginStorage + 'static) -> Self {
        Self { storage: Box::new(storage), open: Mutex::default() }
    }

    /// Returns the times by what they were taken of: `run`, `model`, and `tool NAME`.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn timings(&self) -> Result<BTreeMap<String, Timing>, StorageError> {
        let mut timings: BTreeMap<String, Timing> = BTreeMap::new();
        let records = self.storage.records()?.into_iter();
        for record in records.filter_map(|it| serde_json::from_value::<Record>(it).ok()) {
            let timing = timings.entry(record.what).or_default();
            timing.count += 1;
            timing.total_ms += record.ms;
            timing.longest_ms = timing.longest_ms.max(record.ms);
        }
        Ok(timings)
    }

    fn took(&self, what: String, ms: u64) {
        if let Ok(record) = serde_json::to_value(Record { what, ms }) {
            store(&*self.storage, self.name(), &record);
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Plugin for PerformancePlugin {
    fn name(&self) -> &str {
        "performance"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Monitoring
    }

    fn after_run(&self, run: &RunSummary) {
        self.took("run".to_owned(), milliseconds(run.took));
    }

    fn on_event(&self, event: &Envelope) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.event {
            // A retry comes before the next request, so one start is open at a time.
            Event::ModelRequested(_) => open.model = Some(event.ts),
            Event::ModelResponded(_) | Event::ModelFailed(_) | Event::ModelRetry(_) => {
                if let Some(start) = open.model.take() {
                    let took = Duration::try_from(event.ts.duration_since(start));
                    self.took("model".to_owned(), milliseconds(took.unwrap_or_default()));
                }
            }
            Event::ToolCalled(called) => {
                open.tools.insert(called.tool_use.call.clone(), called.tool_use.name.clone());
            }
            Event::ToolFinished(finished) => {
                if let Some(tool) = open.tools.remove(&finished.call) {
                    self.took(format!("tool {tool}"), finished.duration_ms);
                }
            }
            _ => {}
        }
    }
}
