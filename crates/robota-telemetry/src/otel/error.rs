//! Errors of the export.

use std::time::Duration;

use robota_core::error::{Diagnose, ErrorKind};

/// Why an export failed. An export error never affects the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtelError {
    /// An option is invalid.
    #[error("{name} is invalid: {reason}")]
    Option {
        /// The option or the environment variable.
        name: &'static str,
        /// What is wrong with it; never the value of a header, which may be a key.
        reason: String,
    },
    /// The exporter could not be started.
    #[error("the OpenTelemetry exporter could not be started: {0}")]
    Start(String),
    /// The collector could not be reached or rejected the data.
    #[error("the OpenTelemetry collector did not accept the data: {0}")]
    Collector(String),
    /// The collector did not answer in time.
    #[error("the OpenTelemetry collector did not answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The exporting thread has ended, so a flush cannot be done.
    #[error("the OpenTelemetry exporter has ended")]
    Stopped,
}

impl Diagnose for OtelError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Option { .. } => ErrorKind::Configuration,
            Self::Start(_) | Self::Stopped => ErrorKind::Plugin,
            Self::Collector(_) | Self::Timeout(_) => ErrorKind::Network,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Collector(_) | Self::Timeout(_) => Some(
                "check OTEL_EXPORTER_OTLP_ENDPOINT; OTLP over HTTP usually listens on port 4318"
                    .to_owned(),
            ),
            Self::Option { .. } | Self::Start(_) | Self::Stopped => None,
        }
    }
}
