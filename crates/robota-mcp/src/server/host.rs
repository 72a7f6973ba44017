//! What a call can do with the host that it came from: progress, log messages, questions to its user
//! and to its model.

#![expect(deprecated, reason = "hosts of older versions have log levels and sampling")]

use rmcp::model::{
    CreateMessageRequestParams, ElicitRequestParams, ElicitationAction, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, SamplingMessage,
};
use rmcp::service::{ElicitationMode, Peer, RoleServer};
use serde_json::{Value, json};

/// The host that a call came from. Progress and questions belong to the call, so that they must be
/// sent by the task that runs it.
pub struct McpHost {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// The lowest level of the log messages that the host wants.
    level: LogLevel,
}

/// What a user answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The values of the form.
    Accepted(Value),
    /// The user did not want to answer.
    Declined,
    /// The host cannot ask its user.
    Unsupported,
}

/// How important a log message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// Details for developers.
    Debug,
    /// Normal events.
    #[default]
    Info,
    /// Notable events.
    Notice,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
    /// A part of the server failed.
    Critical,
    /// It needs attention at once.
    Alert,
    /// The server cannot be used.
    Emergency,
}

impl LogLevel {
    pub(super) fn of(level: LoggingLevel) -> Self {
        match level {
            LoggingLevel::Debug => Self::Debug,
            LoggingLevel::Info => Self::Info,
            LoggingLevel::Notice => Self::Notice,
            LoggingLevel::Warning => Self::Warning,
            LoggingLevel::Error => Self::Error,
            LoggingLevel::Critical => Self::Critical,
            LoggingLevel::Alert => Self::Alert,
            LoggingLevel::Emergency => Self::Emergency,
        }
    }

    fn wire(self) -> LoggingLevel {
        match self {
            Self::Debug => LoggingLevel::Debug,
            Self::Info => LoggingLevel::Info,
            Self::Notice => LoggingLevel::Notice,
            Self::Warning => LoggingLevel::Warning,
            Self::Error => LoggingLevel::Error,
            Self::Critical => LoggingLevel::Critical,
            Self::Alert => LoggingLevel::Alert,
            Self::Emergency => LoggingLevel::Emergency,
        }
    }
}

impl McpHost {
    pub(super) fn new(
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        level: LogLevel,
    ) -> Self {
        Self { peer, token, level }
    }

    /// Returns whether the host shows forms to its user.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.peer.supported_elicitation_modes().contains(&ElicitationMode::Form)
    }

    /// Returns whether the host lets servers ask its model.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| info.capabilities.sampling.is_some())
    }

    /// Reports how far the call is, out of `total` if that is known. `step` must grow. Nothing is sent to
    /// a host that did not ask for it.
    pub async fn progress(&self, step: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.token.clone() else { return };
        let mut params = ProgressNotificationParam::new(token, step);
        params.total = total;
        params.message = message;
        // The host may be gone; the call ends by itself then.
        let _ = self.peer.notify_progress(params).await;
    }

    /// Sends a log message, if the host wants messages of this level.
    pub async fn log(&self, level: LogLevel, message: impl Into<String>) {
        if level < self.level {
            return;
        }
        let params = LoggingMessageNotificationParam::new(level.wire(), message.into().into());
        let _ = self.peer.notify_logging_message(params).await;
    }

    /// Asks the user of the host. `schema` is a flat object of simple fields.
    pub async fn ask(&self, message: &str, schema: Value) -> Asked {
        if !self.can_ask() {
            return Asked::Unsupported;
        }
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        let Ok(params) = serde_json::from_value::<ElicitRequestParams>(params) else {
            return Asked::Unsupported;
        };
        match self.peer.create_elicitation(params).await {
            Ok(answer) => match answer.action {
                ElicitationAction::Accept => Asked::Accepted(answer.content.unwrap_or_default()),
                _ => Asked::Declined,
            },
            Err(_) => Asked::Unsupported,
        }
    }

    /// Asks the model of the host. Returns the text of its answer.
    ///
    /// # Errors
    /// If the host has no model for servers, or refuses.
    pub async fn sample(&self, prompt: &str, max_tokens: u32) -> Result<String, String> {
        if !self.can_sample() {
            return Err("the host does not let servers ask its model".to_owned());
        }
        let messages = vec![SamplingMessage::user_text(prompt)];
        let params = CreateMessageRequestParams::new(messages, max_tokens);
        let answer = self.peer.create_message(params).await.map_err(|error| error.to_string())?;
        let parts = answer.message.content.into_vec();
        let texts = parts.iter().filter_map(|part| part.as_text().map(|text| text.text.as_str()));
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }
}
