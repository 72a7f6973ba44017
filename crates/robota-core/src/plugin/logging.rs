//! Writes a log of runs, without their content.

use serde_json::{Value, json};

use super::storage::store;
use super::{Plugin, PluginCategory, PluginStorage, RunSummary};
use crate::error::ErrorData;
use crate::event::{Envelope, Event};

/// Writes one record when a run starts or ends, a tool call ends, or something fails: what it was and
/// how it ended, without prompts, answers, arguments and results.
///
/// ```
/// use robota_core::plugin::{LoggingPlugin, MemoryStorage};
///
/// let log = LoggingPlugin::new(MemoryStorage::default());
/// assert!(log.records()?.is_empty());
/// # Ok::<(), robota_core::plugin::StorageError>(())
/// ```
pub struct LoggingPlugin {
    storage: Box<dyn PluginStorage>,
}

impl LoggingPlugin {
    /// Creates a plugin that keeps its log in this storage.
    pub fn new(storage: impl PluginStorage + 'static) -> Self {
        Self { storage: Box::new(storage) }
    }

    /// Returns the records, oldest first.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn records(&self) -> Result<Vec<Value>, super::StorageError> {
        self.storage.records()
    }

    fn log(&self, level: &str, what: &str, fields: Value) {
        let mut record = json!({"level": level, "what": what});
        if let (Value::Object(record), Value::Object(fields)) = (&mut record, fields) {
            record.extend(fields);
        }
        store(&*self.storage, self.name(), &record);
    }
}

impl Plugin for LoggingPlugin {
    fn name(&self) -> &str {
        "logging"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Logging
    }

    fn after_run(&self, run: &RunSummary) {
        let level = if run.error.is_some() { "error" } else { "info" };
        let fields = json!({
            "at": run.at.to_string(), "end": run.end, "rounds": run.rounds, "tools": run.tools,
            "tokens": run.usage.total(), "ms": run.took.as_millis().min(u64::MAX.into()) as u64,
        });
        self.log(level, "run ended", fields);
    }

    fn on_error(&self, error: &ErrorData) {
        let fields = json!({"code": error.kind.code(), "retryable": error.retryable});
        self.log("warn", "model call failed", fields);
    }

    fn on_event(&self, event: &Envelope) {
        let at = event.ts.to_string();
        match &event.event {
            Event::TurnStarted(turn) => {
                self.log("info", "run started", json!({"at": at, "model": turn.model}));
            }
            Event::ToolFinished(call) => {
                let outcome = &call.outcome;
                let level = if outcome.ok { "info" } else { "warn" };
                let fields = json!({
                    "at": at, "call": call.call.as_str(), "ok": outcome.ok, "ms": call.duration_ms,
                });
                self.log(level, "tool call ended", fields);
            }
            _ => {}
        }
    }
}
