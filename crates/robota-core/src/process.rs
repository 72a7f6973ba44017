//! The identity of a process: enough to find it after a crash of our own process, and never to
//! confuse it with another one.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies one process of one machine. The system reuses process ids, so the start time and the
/// boot id are part of the identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIdentity {
    /// The id that the system gave the process, and may give again after its end.
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start_time: u64,
    /// The kernel's random id of the current boot; differs for each boot and each machine.
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
    /// Returns a watch that ignores all processes.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns a watch that calls `sink` for each process as soon as it runs. The second argument
    /// says whether the process outlives its call.
    pub fn new(sink: impl Fn(ProcessIdentity, bool) + Send + Sync + 'static) -> Self {
        Self { sink: Some(Arc::new(sink)), background: false }
    }

    /// Marks the processes of this watch as outliving the call.
    #[must_use]
    pub fn background(self) -> Self {
        Self { background: true, ..self }
    }

    /// Reports that a process has started.
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
