//! Failures of model calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Diagnose, ErrorData, ErrorKind};

/// The specific reason of a failure, for callers that can react to it. [`ErrorKind`] only says
/// whose problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// The key is wrong or missing, or lacks a permission.
    BadKey,
    /// The model does not exist, or is not available for this key.
    UnknownModel,
    /// The conversation does not fit into the model's context window.
    ContextTooLong,
    /// The request is too large in bytes.
    TooLarge,
    /// Credit or a quota is used up; a short wait does not help.
    Quota,
    /// Too many requests at the moment.
    RateLimit,
    /// The service refuses the content of the request.
    ContentFilter,
    /// The service has no capacity at the moment; a retry can help.
    Overloaded,
    /// The service says that the request is not valid.
    BadRequest,
    /// The service had an internal error.
    Server,
    /// The name of the service's host does not exist.
    UnknownHost,
    /// The service could not be reached, or the connection broke.
    Connection,
    /// The stream ended before the answer was complete.
    Truncated,
    /// The response could not be parsed.
    Unreadable,
}

/// A failed model call, with the service's own message where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", .data.message)]
pub struct ProviderError {
    data: ErrorData,
    /// How long the service asks to wait before a retry; `None` if it does not say.
    pub retry_after: Option<Duration>,
    /// The specific reason; `None` if the adapter did not recognise it.
    #[serde(default)]
    pub reason: Option<FailureReason>,
    /// The service's id of the request, to give to its support.
    #[serde(default)]
    pub request_id: Option<String>,
    /// The context window in tokens that the message names, when the conversation does not fit into
    /// it.
    #[serde(default)]
    pub context_window: Option<u64>,
}

impl ProviderError {
    /// Creates a failure of that kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            data: ErrorData::new(kind, message),
            retry_after: None,
            reason: None,
            request_id: None,
            context_window: None,
        }
    }

    /// Creates the failure of a stream that ended without a terminal record.
    #[must_use]
    pub fn truncated() -> Self {
        Self::new(
            ErrorKind::Network,
            "the stream ended before the model finished its answer (no terminal record)",
        )
        .with_reason(FailureReason::Truncated)
    }

    /// Creates the failure of a stream that sent nothing for too long.
    #[must_use]
    pub fn idle(timeout: Duration) -> Self {
        Self::new(
            ErrorKind::Provider,
            format!("the model's service sent nothing for {} s", timeout.as_secs_f64()),
        )
        .with_hint("raise the provider's `timeout` if the model needs longer to think")
    }

    /// Removes secrets from the message and the hint.
    pub(crate) fn redact(&mut self, redactor: &crate::redact::Redactor) {
        redactor.error(&mut self.data);
    }

    /// Sets what the user can do about the failure.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.data = self.data.with_hint(hint);
        self
    }

    /// Sets whether a retry may help, regardless of the kind.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.data.retryable = retryable;
        self
    }

    /// Sets the HTTP status of the response.
    #[must_use]
    pub fn with_http_status(mut self, status: Option<u16>) -> Self {
        self.data.http_status = status;
        self
    }

    /// Sets the specific reason, which decides about retries and hints.
    #[must_use]
    pub fn with_reason(mut self, reason: FailureReason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Sets the service's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Creates the error of a provider whose code panicked.
    #[must_use]
    pub(crate) fn panicked() -> Self {
        Self::new(ErrorKind::Plugin, "the provider panicked")
            .with_hint("this is a bug of the provider's adapter; please report it")
    }

    /// Sets the context window that the message names.
    #[must_use]
    pub fn with_context_window(mut self, tokens: Option<u64>) -> Self {
        self.context_window = tokens;
        self
    }

    /// Returns true if a shorter conversation may succeed.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        matches!(self.reason, Some(FailureReason::ContextTooLong | FailureReason::TooLarge))
    }

    /// Sets how long the service asks to wait before a retry.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }
}

impl Diagnose for ProviderError {
    fn kind(&self) -> ErrorKind {
        self.data.kind
    }

    fn retryable(&self) -> bool {
        self.data.retryable
    }

    fn hint(&self) -> Option<String> {
        self.data.hint.clone()
    }

    fn http_status(&self) -> Option<u16> {
        self.data.http_status
    }
}
