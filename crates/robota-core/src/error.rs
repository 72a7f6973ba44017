//! One taxonomy for every failure. Each crate has one error enum; all of them answer the same
//! three questions: which kind, would trying again help, and what can the user do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose problem a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Something the user gave: settings, keys, names, arguments.
    User,
    /// The model's service.
    Provider,
    /// The machine, the network, the disk, or a part of this program.
    System,
}

/// What kind of failure it is. The table of codes is contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Settings or set-up are wrong.
    Configuration,
    /// An argument is wrong.
    Validation,
    /// The model's service failed.
    Provider,
    /// The key was refused.
    Authentication,
    /// Too many requests, or a quota is used up.
    RateLimit,
    /// The network failed.
    Network,
    /// A tool failed.
    ToolExecution,
    /// The model does not exist or cannot be used with this key.
    ModelNotAvailable,
    /// Too many failures in a row; calls are held back for a while.
    CircuitBreakerOpen,
    /// A plugin failed.
    Plugin,
    /// Reading or writing stored data failed.
    Storage,
}

impl ErrorKind {
    /// Every kind, in the order of the table in `docs/guide.md`.
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

    /// The stable code that scripts and logs match on.
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

    /// Whose problem it is.
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

    /// Whether the same call may succeed later, with nothing changed by the user.
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

/// What every error of ours answers.
pub trait Diagnose: std::error::Error {
    /// Which kind of failure it is.
    fn kind(&self) -> ErrorKind;

    /// Whether trying again, with nothing changed, may help.
    fn retryable(&self) -> bool {
        self.kind().recoverable()
    }

    /// What the user can do about it.
    fn hint(&self) -> Option<String> {
        None
    }

    /// The failure as plain data, for events and for other processes.
    fn to_data(&self) -> ErrorData {
        ErrorData {
            kind: self.kind(),
            message: error_chain(self),
            hint: self.hint(),
            retryable: self.retryable(),
        }
    }
}

/// A failure as it is journaled and sent to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ErrorData {
    /// Which kind of failure it was.
    pub kind: ErrorKind,
    /// What failed, and where.
    pub message: String,
    /// What the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether trying again may help.
    #[serde(default)]
    pub retryable: bool,
}

impl ErrorData {
    /// A failure of this kind, retryable as the kind says, without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, retryable: kind.recoverable() }
    }

    /// Wraps any error that is not ours. What it is cannot be known, so the caller says.
    pub fn wrap(kind: ErrorKind, error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new(kind, error_chain(error))
    }

    /// The same failure with advice.
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

    fn to_data(&self) -> ErrorData {
        self.clone()
    }
}

/// The message of an error and of everything that caused it, without repeating what an outer
/// message already says.
fn error_chain<E: std::error::Error + ?Sized>(error: &E) -> String {
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
