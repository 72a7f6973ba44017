//! How a model call fails.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Diagnose, ErrorData, ErrorKind};

/// What exactly a service did not like, for callers that can do something about it: an
/// [`ErrorKind`] says whose problem it is, this says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// The key is wrong, missing or may not do this.
    BadKey,
    /// There is no such model, or not for this key.
    UnknownModel,
    /// The conversation does not fit into the model's context.
    ContextTooLong,
    /// The request is too large in bytes.
    TooLarge,
    /// Money or a quota is used up; waiting a little does not help.
    Quota,
    /// Too many requests just now.
    RateLimit,
    /// The service refuses the content.
    ContentFilter,
    /// The service has too much to do.
    Overloaded,
    /// The service says that the request is wrong.
    BadRequest,
    /// The service broke.
    Server,
    /// The service was not reached, or the connection broke.
    Connection,
    /// The stream ended too early.
    Truncated,
    /// What came back cannot be read.
    Unreadable,
}

/// A failed model call, in the words of its service where it has any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", .data.message)]
pub struct ProviderError {
    data: ErrorData,
    /// How long the service says to wait.
    pub retry_after: Option<Duration>,
    /// What exactly was wrong, where that is known.
    #[serde(default)]
    pub reason: Option<FailureReason>,
    /// The service's own number of the request, to be told to its support.
    #[serde(default)]
    pub request_id: Option<String>,
}

impl ProviderError {
    /// A failure of that kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            data: ErrorData::new(kind, message),
            retry_after: None,
            reason: None,
            request_id: None,
        }
    }

    /// A stream that ended without a terminal record.
    #[must_use]
    pub fn truncated() -> Self {
        Self::new(
            ErrorKind::Network,
            "the stream ended before the model finished its answer (no terminal record)",
        )
        .with_reason(FailureReason::Truncated)
    }

    /// A stream that went silent.
    #[must_use]
    pub fn idle(timeout: Duration) -> Self {
        Self::new(
            ErrorKind::Provider,
            format!("the model's service sent nothing for {} s", timeout.as_secs_f64()),
        )
        .with_hint("raise the provider's `timeout` if the model needs longer to think")
    }

    /// Takes secrets out of its words.
    pub(crate) fn redact(&mut self, redactor: &crate::redact::Redactor) {
        redactor.error(&mut self.data);
    }

    /// The same failure with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.data = self.data.with_hint(hint);
        self
    }

    /// The same failure, retryable or not whatever its kind says.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.data.retryable = retryable;
        self
    }

    /// The same failure with what exactly was wrong.
    #[must_use]
    pub fn with_reason(mut self, reason: FailureReason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// The same failure with the service's number of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// The same failure with the service's word on when to try again.
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
}
