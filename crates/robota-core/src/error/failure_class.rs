//! The classes of failed model calls by the names that hooks and hosts for Claude Code compare.

use super::{ErrorData, ErrorKind};

/// The class of a failed model call.
///
/// ```
/// use robota_core::error::{ErrorData, ErrorKind, FailureClass};
///
/// let error = ErrorData::new(ErrorKind::RateLimit, "too many requests");
/// assert_eq!(FailureClass::of(&error).name(), "rate_limit");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The service refused the key or the login.
    AuthenticationFailed,
    /// The account has to be paid.
    BillingError,
    /// Too many requests were sent, or a quota is used up.
    RateLimit,
    /// The service is overloaded; a later call can succeed.
    Overloaded,
    /// The service rejected the request; the same request fails again.
    InvalidRequest,
    /// The model does not exist, or the key may not use it.
    ModelNotFound,
    /// The service failed, or could not be reached.
    ServerError,
    /// A failure that has no class of its own.
    Unknown,
}

impl FailureClass {
    /// Lists all classes.
    pub const ALL: [Self; 8] = [
        Self::AuthenticationFailed,
        Self::BillingError,
        Self::RateLimit,
        Self::Overloaded,
        Self::InvalidRequest,
        Self::ModelNotFound,
        Self::ServerError,
        Self::Unknown,
    ];

    /// Returns the class of a failure.
    #[must_use]
    pub fn of(error: &ErrorData) -> Self {
        match (error.http_status, error.kind) {
            (Some(402), _) => Self::BillingError,
            (Some(529), _) => Self::Overloaded,
            (_, ErrorKind::Authentication) => Self::AuthenticationFailed,
            (_, ErrorKind::RateLimit) => Self::RateLimit,
            (_, ErrorKind::ModelNotAvailable) => Self::ModelNotFound,
            (_, ErrorKind::Validation | ErrorKind::Configuration) => Self::InvalidRequest,
            (_, ErrorKind::Provider | ErrorKind::Network | ErrorKind::CircuitBreakerOpen) => {
                Self::ServerError
            }
            (_, ErrorKind::ToolExecution | ErrorKind::Plugin | ErrorKind::Storage) => Self::Unknown,
        }
    }

    /// Returns the name that hooks and lines have for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthenticationFailed => "authentication_failed",
            Self::BillingError => "billing_error",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::InvalidRequest => "invalid_request",
            Self::ModelNotFound => "model_not_found",
            Self::ServerError => "server_error",
            Self::Unknown => "unknown",
        }
    }
}
