//! The context of a call: what a session passes to the tools, providers and compactors it calls.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::blob::{Blobs, NoBlobs};
use crate::error::ErrorData;
use crate::ids::{SessionId, TurnId};
use crate::provider::PayloadSink;
use crate::redact::Redactor;

/// The session and turn a call belongs to, and what it may use of them. Cloning is cheap.
#[derive(Clone)]
pub struct CallContext {
    /// The session; none outside of one.
    pub session: Option<SessionId>,
    /// The turn; none between turns.
    pub turn: Option<TurnId>,
    /// The session's blobs: images and other large payloads of its messages.
    pub blobs: Arc<dyn Blobs>,
    /// Cancelled when the result is no longer wanted.
    pub cancel: CancellationToken,
    /// Removes secrets from what is stored or shown.
    pub redactor: Redactor,
    /// Receives the raw payloads of a model call.
    pub payloads: PayloadSink,
    /// Receives failed attempts of a model call that are tried again.
    pub retries: RetryWatch,
}

/// A failed attempt of a model call that is tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// Which attempt failed, from one.
    pub attempt: u32,
    /// Why.
    pub error: ErrorData,
    /// How long the next attempt waits.
    pub delay: Duration,
}

/// Receives failed attempts that are tried again.
#[derive(Clone, Default)]
pub struct RetryWatch(Option<Arc<dyn Fn(Retry) + Send + Sync>>);

impl RetryWatch {
    /// Hands each to `sink`.
    pub fn new(sink: impl Fn(Retry) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// Reports one.
    pub fn report(&self, retry: Retry) {
        if let Some(sink) = &self.0 {
            sink(retry);
        }
    }
}

impl CallContext {
    /// The context of a call outside of any session.
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
        }
    }

    /// The same context with that receiver of raw payloads.
    #[must_use]
    pub fn with_payloads(self, payloads: PayloadSink) -> Self {
        Self { payloads, ..self }
    }

    /// The same context with those blobs.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs, ..self }
    }

    /// The same context, cancelled on its own as well as with the original.
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
