//! Raw payloads of a provider's API, for replay and debugging (CORE-06).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The part of a call that a payload belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// The body of the request that was sent.
    Request,
    /// The complete response, as one value.
    Response,
    /// One event of a streamed response.
    StreamEvent,
}

/// Holds one payload, as the provider's adapter sent or received it.
#[derive(Debug, Clone, PartialEq)]
pub struct NativePayload {
    /// The provider's API that was used, for example `chat-completions`.
    pub api_surface: Option<String>,
    /// Whether this is the request, the response or one event of a stream.
    pub kind: PayloadKind,
    /// The position among the payloads of the call; `None` numbers it by arrival.
    pub sequence: Option<u64>,
    /// The payload as JSON. The session removes secrets before it records it.
    pub payload: Value,
    /// Facts about the payload, each a single value.
    pub metadata: Map<String, Value>,
}

type SinkFn = dyn Fn(NativePayload, u64) + Send + Sync;

/// Receives the payloads of one model call. Two calls never share a sink, so that two sessions on
/// one provider never receive each other's payloads.
#[derive(Clone)]
pub struct PayloadSink {
    sink: Option<Arc<SinkFn>>,
    next: Arc<AtomicU64>,
}

impl PayloadSink {
    /// Creates a sink that ignores payloads.
    #[must_use]
    pub fn none() -> Self {
        Self { sink: None, next: Arc::default() }
    }

    /// Creates a sink that passes each payload and its number to `sink`.
    pub fn new(sink: impl Fn(NativePayload, u64) + Send + Sync + 'static) -> Self {
        Self { sink: Some(Arc::new(sink)), next: Arc::default() }
    }

    /// Returns false if payloads are ignored, so that an adapter need not build them.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.sink.is_some()
    }

    /// Passes a payload to the sink, with the next sequence number of the call.
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
        f.debug_struct("PayloadSink").field("enabled", &self.is_enabled()).finish()
    }
}
