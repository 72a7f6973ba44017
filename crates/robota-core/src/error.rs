//! One classification for every failure. Each crate has one error enum; all of them answer the same
//! three questions: which kind it is, whether a retry may help, and what the user can do.

mod failure_class;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use failure_class::FailureClass;

/// Says who can solve a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Category {
    /// Something that the user provided: settings, keys, names, arguments.
    User,
    /// The model service: its limits and its failures.
    Provider,
    /// The machine, the network, the disk, or this program.
    System,
}

/// Classifies a failure, so that a caller can decide by a stable code. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Settings or the set-up are wrong.
    Configuration,
    /// The caller passed a wrong argument.
    Validation,
    /// The model service answered with an error.
    Provider,
    /// The service refused the key.
    Authentication,
    /// Too many requests, or a quota is used up.
    RateLimit,
    /// The service could not be reached, or the connection broke.
    Network,
    /// A tool returned a failure or could not run.
    ToolExecution,
    /// The model does not exist, or is not available for this key.
    ModelNotAvailable,
    /// Too many consecutive failures; calls are suspended for a while.
    CircuitBreakerOpen,
    /// A plugin, a hook, a provider or another part in code failed or panicked.
    Plugin,
    /// Reading or writing stored data failed.
    Storage,
}

impl ErrorKind {
    /// Lists all kinds, in the order of the table in `docs/guide.md`.
    pub const ALL: [Self; 11] = [
        Self::Configuration,
        Self::Validation,
        Self::Provider,
        Self::Authentication,
        Self::RateLimit,
        Self::Network,
        Self::ToolExecution,
        Self::ModelNotAvailable,
        Self::CircuitBreakerOpen,
        Self::Plugin,
        Self::Storage,
    ];

    /// Returns the stable code, for scripts and logs.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Configuration => "CONFIGURATION_ERROR",
            Self::Validation => "VALIDATION_ERROR",
            Self::Provider => "PROVIDER_ERROR",
            Self::Authentication => "AUTHENTICATION_ERROR",
            Self::RateLimit => "RATE_LIMIT_ERROR",
            Self::Network => "NETWORK_ERROR",
            Self::ToolExecution => "TOOL_EXECUTION_ERROR",
            Self::ModelNotAvailable => "MODEL_NOT_AVAILABLE",
            Self::CircuitBreakerOpen => "CIRCUIT_BREAKER_OPEN",
            Self::Plugin => "PLUGIN_ERROR",
            Self::Storage => "STORAGE_ERROR",
        }
    }

    /// Returns whose problem it is.
    #[must_use]
    pub fn category(self) -> Category {
        match self {
            Self::Configuration
            | Self::Validation
            | Self::Authentication
            | Self::ModelNotAvailable => Category::User,
            Self::Provider | Self::RateLimit => Category::Provider,
            Self::Network
            | Self::ToolExecution
            | Self::CircuitBreakerOpen
            | Self::Plugin
            | Self::Storage => Category::System,
        }
    }

    /// Returns true if the same call may succeed later without a change by the user.
    #[must_use]
    pub fn recoverable(self) -> bool {
        match self {
            Self::Provider
            | Self::RateLimit
            | Self::Network
            | Self::CircuitBreakerOpen
            | Self::Storage => true,
            Self::Configuration
            | Self::Validation
            | Self::Authentication
            | Self::ToolExecution
            | Self::ModelNotAvailable
            | Self::Plugin => false,
        }
    }
}

/// What every error of this workspace answers.
pub trait Diagnose: std::error::Error {
    /// Returns the kind of failure, which has a stable code and a category.
    fn kind(&self) -> ErrorKind;

    /// Returns whose problem it is.
    fn category(&self) -> Category {
        self.kind().category()
    }

    /// Returns true if a retry without any change may help.
    fn retryable(&self) -> bool {
        self.kind().recoverable()
    }

    /// Returns what the user can do about it, if anything.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Returns the HTTP status with which a service failed, if there was one.
    fn http_status(&self) -> Option<u16> {
        None
    }

    /// Returns the failure as plain data, for events and for other processes.
    fn to_data(&self) -> ErrorData {
        ErrorData {
            kind: self.kind(),
            message: error_chain(self),
            hint: self.hint(),
            retryable: self.retryable(),
            http_status: self.http_status(),
        }
    }
}

/// A failure as it is journaled and sent to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ErrorData {
    /// The kind of failure; programs decide by it, not by the message.
    pub kind: ErrorKind,
    /// What failed, and where, in one or two sentences.
    pub message: String,
    /// What the user can do about it; absent if there is no advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether a retry without any change may help.
    #[serde(default)]
    pub retryable: bool,
    /// The HTTP status with which a service failed; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
}

impl ErrorData {
    /// Creates a failure of this kind, retryable if the kind is, without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let (message, retryable) = (message.into(), kind.recoverable());
        Self { kind, message, hint: None, retryable, http_status: None }
    }

    /// Wraps an error of another library. The caller chooses the kind, since it cannot be derived.
    pub fn wrap(kind: ErrorKind, error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new(kind, error_chain(error))
    }

    /// Sets what the user can do about the failure.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Diagnose for ErrorData {
    fn kind(&self) -> ErrorKind {
        self.kind
    }

    fn retryable(&self) -> bool {
        self.retryable
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    fn http_status(&self) -> Option<u16> {
        self.http_status
    }

    fn to_data(&self) -> ErrorData {
        self.clone()
    }
}

/// Returns the messages of an error and of its causes, without repeating what an outer message
/// already contains.
pub fn error_chain<E: std::error::Error + ?Sized>(error: &E) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
