//! Which process it was: enough to find it again after our own death, and to never mistake
//! another for it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process of one machine, for ever: ids are used again, so the start counts too.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIdentity {
    /// Its id.
    pub pid: u32,
    /// When it started, in the system's ticks since boot.
    pub start_time: u64,
    /// Which boot of which machine.
    pub boot_id: String,
}

/// Is told which processes a running call starts.
#[derive(Clone, Default)]
pub struct ProcessWatch(Option<Arc<dyn Fn(ProcessIdentity) + Send + Sync>>);

impl ProcessWatch {
    /// Nobody watches.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Hands each process to `sink` as soon as it runs.
    pub fn new(sink: impl Fn(ProcessIdentity) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// A process runs.
    pub fn started(&self, process: ProcessIdentity) {
        if let Some(sink) = &self.0 {
            sink(process);
        }
    }
}

impl std::fmt::Debug for ProcessWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ProcessWatch").field(&self.0.is_some()).finish()
    }
}
