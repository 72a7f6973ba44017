//! The context that a session passes to the tools, providers and compactors that it calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use tokio_util::sync::CancellationToken;

use crate::blob::{Blobs, NoBlobs};
use crate::error::ErrorData;
use crate::event::ModelAsked;
use crate::hook::{Hooks, NoHooks};
use crate::ids::{SessionId, TurnId};
use crate::provider::PayloadSink;
use crate::redact::Redactor;
use crate::usage::Usage;

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
    /// Counts the tokens of model calls as they are used.
    pub meter: UsageMeter,
    /// The hooks of the session, for events that the call causes, such as the use of another model.
    pub hooks: Arc<dyn Hooks>,
}

/// Counts the tokens of model calls while they run. What they cost is known although a call fails, or is
/// cancelled together with the future that waits for it. Clones share the count.
///
/// ```
/// use robota_core::call::UsageMeter;
/// use robota_core::usage::Usage;
///
/// let meter = UsageMeter::default();
/// meter.begin("a-model").set(Usage::new(100, 20));
/// meter.begin("a-model").set(Usage::new(100, 5));
/// // The result says that it took the tokens of the first call; those of the second would be lost.
/// let lost = meter.take_beyond(Usage::new(100, 20));
/// assert_eq!(lost[0].usage, Some(Usage::new(100, 5)));
/// ```
#[derive(Clone, Default)]
pub struct UsageMeter(Arc<Mutex<Vec<(String, Usage)>>>);

impl UsageMeter {
    /// Begins to count a call of a model.
    #[must_use]
    pub fn begin(&self, model: &str) -> CallMeter {
        let mut calls = self.lock();
        calls.push((model.to_owned(), Usage::default()));
        CallMeter { meter: self.clone(), call: calls.len() - 1 }
    }

    /// Returns the tokens beyond those that a result counts itself, by model, and begins again with
    /// nothing. They are recorded as calls of the session.
    #[must_use]
    pub fn take_beyond(&self, mut counted: Usage) -> Vec<ModelAsked> {
        let mut models: IndexMap<String, Usage> = IndexMap::new();
        for (model, usage) in std::mem::take(&mut *self.lock()) {
            *models.entry(model).or_default() += usage;
        }
        let beyond = models.into_iter().filter_map(|(model, used)| {
            let usage = used.less(counted);
            counted = counted.less(used);
            (!usage.is_zero()).then_some(ModelAsked { model, usage: Some(usage), error: None })
        });
        beyond.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Usage)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the tokens of one model call.
pub struct CallMeter {
    meter: UsageMeter,
    call: usize,
}

impl CallMeter {
    /// Sets what the call has used so far: services report running totals.
    pub fn set(&self, usage: Usage) {
        // Nothing, if the count was taken: the call was given up.
        if let Some((_, used)) = self.meter.lock().get_mut(self.call) {
            *used = usage;
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
            meter: UsageMeter::default(),
            hooks: Arc::new(NoHooks),
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
