//! What went over the wire, for replay and for people who must see it (CORE-06).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which phase of a call a payload belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// What was sent.
    Request,
    /// What came back, whole.
    Response,
    /// One event of a stream.
    StreamEvent,
}

/// One payload, as the provider's adapter saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct NativePayload {
    /// Which of the provider's interfaces, for example `chat-completions`.
    pub api_surface: Option<String>,
    /// Which phase.
    pub kind: PayloadKind,
    /// Its place among the payloads of the call; numbered by arrival when left out.
    pub sequence: Option<u64>,
    /// The payload.
    pub payload: Value,
    /// Scalars about it.
    pub metadata: Map<String, Value>,
}

type Sink = dyn Fn(NativePayload, u64) + Send + Sync;

/// Where a provider reports payloads of one call. Two calls never share one, so two sessions
/// on one provider never see each other's.
#[derive(Clone)]
pub struct PayloadSink {
    sink: Option<Arc<Sink>>,
    next: Arc<AtomicU64>,
}

impl PayloadSink {
    /// Nobody wants them.
    #[must_use]
    pub fn none() -> Self {
        Self { sink: None, next: Arc::default() }
    }

    /// Hands each payload and its number to `sink`.
    pub fn new(sink: impl Fn(NativePayload, u64) + Send + Sync + 'static) -> Self {
        Self { sink: Some(Arc::new(sink)), next: Arc::default() }
    }

    /// Whether anybody wants them: an adapter need not build what nobody reads.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.sink.is_some()
    }

    /// Reports a payload.
    pub fn report(&self, payload: NativePayload) {
        let Some(sink) = &self.sink else { return };
        let sequence = match payload.sequence {
            Some(sequence) => {
                self.next.fetch_max(sequence.saturating_add(1), Ordering::Relaxed);
                sequence
            }
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        sink(payload, sequence);
    }
}

impl std::fmt::Debug for PayloadSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PayloadSink").field("wanted", &self.is_enabled()).finish()
    }
}
