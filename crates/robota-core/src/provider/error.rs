//! How a model call fails.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Diagnose, ErrorData, ErrorKind};

/// A failed model call, in the words of its service where it has any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", .data.message)]
pub struct ProviderError {
    data: ErrorData,
    /// How long the service says to wait.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// A failure of that kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { data: ErrorData::new(kind, message), retry_after: None }
    }

    /// A stream that ended without a terminal record.
    #[must_use]
    pub fn truncated() -> Self {
        Self::new(
            ErrorKind::Network,
            "the stream ended before the model finished its answer (no terminal record)",
        )
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
