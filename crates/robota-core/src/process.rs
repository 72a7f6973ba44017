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

type Sink = dyn Fn(ProcessIdentity, bool) + Send + Sync;

/// Receives the processes that a running call starts.
#[derive(Clone, Default)]
pub struct ProcessWatch {
    sink: Option<Arc<Sink>>,
    background: bool,
}

impl ProcessWatch {
    /// Nobody watches.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Hands each process to `sink` as soon as it runs, with whether it outlives its call.
    pub fn new(sink: impl Fn(ProcessIdentity, bool) + Send + Sync + 'static) -> Self {
        Self { sink: Some(Arc::new(sink)), background: false }
    }

    /// The same watch for processes that outlive the call.
    #[must_use]
    pub fn background(self) -> Self {
        Self { background: true, ..self }
    }

    /// Reports that a process runs.
    pub fn started(&self, process: ProcessIdentity) {
        if let Some(sink) = &self.sink {
            sink(process, self.background);
        }
    }
}

impl std::fmt::Debug for ProcessWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ProcessWatch").field(&self.sink.is_some()).finish()
    }
}
