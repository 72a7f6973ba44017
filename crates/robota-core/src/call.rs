//! The context that a session passes to the tools, providers and compactors that it calls.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::blob::{Blobs, NoBlobs};
use crate::error::ErrorData;
use crate::event::ModelAsked;
use crate::ids::{SessionId, TurnId};
use crate::provider::PayloadSink;
use crate::redact::Redactor;

/// The session and turn of a call, and what it may use of them. Cloning is cheap.
#[derive(Clone)]
pub struct CallContext {
    /// The session; `None` outside a session.
    pub session: Option<SessionId>,
    /// The turn that makes the call; `None` between turns.
    pub turn: Option<TurnId>,
    /// The session's blobs: images and other large content of its messages.
    pub blobs: Arc<dyn Blobs>,
    /// Cancelled when the result is no longer needed.
    pub cancel: CancellationToken,
    /// Removes secrets from what is stored or shown.
    pub redactor: Redactor,
    /// Receives the raw payloads of a model call.
    pub payloads: PayloadSink,
    /// Receives failed attempts of a model call that will be retried.
    pub retries: RetryWatch,
    /// Receives model calls that cost something and whose tokens no result contains.
    pub asked: AskedWatch,
}

/// Receives model calls whose tokens no result contains, such as the calls of a summary that failed
/// in the end. They count for the session.
#[derive(Clone, Default)]
pub struct AskedWatch(Option<Arc<dyn Fn(ModelAsked) + Send + Sync>>);

impl AskedWatch {
    /// Creates a watch that passes each call to `sink`.
    pub fn new(sink: impl Fn(ModelAsked) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// Reports a model call.
    pub fn report(&self, asked: ModelAsked) {
        if let Some(sink) = &self.0 {
            sink(asked);
        }
    }
}

/// A failed attempt of a model call that will be retried.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// Why the attempt failed; the service's own message where it has one.
    pub error: ErrorData,
    /// The wait before the next attempt.
    pub delay: Duration,
}

/// Receives failed attempts that will be retried.
#[derive(Clone, Default)]
pub struct RetryWatch(Option<Arc<dyn Fn(Retry) + Send + Sync>>);

impl RetryWatch {
    /// Creates a watch that passes each attempt to `sink`.
    pub fn new(sink: impl Fn(Retry) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    fn report(&self, retry: Retry) {
        if let Some(sink) = &self.0 {
            sink(retry);
        }
    }
}

impl CallContext {
    /// Creates a context for a call outside a session.
    #[must_use]
    pub fn detached() -> Self {
        Self {
            session: None,
            turn: None,
            blobs: Arc::new(NoBlobs),
            cancel: CancellationToken::new(),
            redactor: Redactor::default(),
            payloads: PayloadSink::none(),
            retries: RetryWatch::default(),
            asked: AskedWatch::default(),
        }
    }

    /// Sets the receiver of raw payloads.
    #[must_use]
    pub fn with_payloads(self, payloads: PayloadSink) -> Self {
        Self { payloads, ..self }
    }

    /// Sets where the call reads and writes large content.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs, ..self }
    }

    /// Reports that a model call failed and is tried again. What is reported contains no secrets.
    pub fn report_retry(&self, mut retry: Retry) {
        self.redactor.error(&mut retry.error);
        self.retries.report(retry);
    }

    /// Returns a copy that can be cancelled alone and is cancelled together with the original.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { cancel: self.cancel.child_token(), ..self.clone() }
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("session", &self.session)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}
