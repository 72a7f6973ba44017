//! What a call can do with the host that it came from: progress, log messages, questions to its user
//! and to its model.

#![expect(deprecated, reason = "hosts of older versions have log levels and sampling")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientResult, CreateMessageRequest,
    CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InputRequest, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, SamplingMessage, ServerRequest,
};
use rmcp::service::{
    ElicitationMode, Peer, PeerRequestOptions, RequestHandle, RoleServer, ServiceError,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::rounds::RoundQuestion;

/// How long a host may take to read a notification. One that does not read at all must not hold up the work
/// that is reported to it.
const NOTICE_LIMIT: Duration = Duration::from_secs(10);

/// The host that a call came from. Progress and questions belong to the call, so that they must be
/// sent by the task that runs it.
pub struct McpHost {
    number: u64,
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// The lowest level of the log messages that the host wants.
    level: LogLevel,
    asks: Asks,
    /// Whether the call keeps the HTTP session of the host.
    keeps_session: Arc<AtomicBool>,
    /// Whether the host did not read a notification in time. It gets no more of them for this call.
    stalled: AtomicBool,
}

/// How the server asks the user of a host.
pub(super) enum Asks {
    /// By requests of the server.
    Requests,
    /// By the result of the call, which the host repeats with the answers.
    Rounds {
        /// What the host can do, which each of its requests repeats.
        capabilities: Box<ClientCapabilities>,
        /// Passes the questions to the request that waits for the call.
        questions: mpsc::Sender<RoundQuestion>,
    },
}

/// The answer of a user to a question that the server sent through the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The values of the form, not checked against its schema.
    Accepted(Value),
    /// The user refused, or closed the question.
    Declined,
    /// The host cannot ask its user.
    Unsupported,
    /// The connection ended before an answer came.
    Gone,
}

/// A question that a host shows to its user.
pub struct OpenQuestion(Sent);

enum Sent {
    Request(Box<RequestHandle<RoleServer>>),
    Round(oneshot::Receiver<Value>),
}

impl OpenQuestion {
    /// Waits for the answer. The question is withdrawn if `unneeded` ends first; then there is none.
    pub async fn answer(self, unneeded: impl Future<Output = ()>) -> Option<Asked> {
        let handle = match self.0 {
            Sent::Request(handle) => *handle,
            Sent::Round(answer) => {
                let answer = tokio::select! {
                    biased;
                    answer = answer => answer,
                    () = unneeded => return None,
                };
                return Some(answer.map_or(Asked::Gone, |answer| {
                    serde_json::from_value(answer).map_or(Asked::Unsupported, asked)
                }));
            }
        };
        let (peer, id) = (handle.peer.clone(), handle.id.clone());
        let answer = tokio::select! {
            biased;
            // Biased: an answer that has arrived counts.
            answer = handle.await_response() => answer,
            () = unneeded => {
                let reason = "the answer is no longer needed".to_owned();
                let cancelled = CancelledNotificationParam::new(Some(id), Some(reason));
                // The host may be gone.
                let _ = peer.notify_cancelled(cancelled).await;
                return None;
            }
        };
        Some(match answer {
            Ok(ClientResult::ElicitResult(answer)) => asked(answer),
            Ok(_) | Err(ServiceError::McpError(_)) => Asked::Unsupported,
            Err(_) => Asked::Gone,
        })
    }
}

/// How important a log message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for developers of the server.
    Debug,
    /// Normal events. Hosts get these and higher levels until they choose another one.
    #[default]
    Info,
    /// Events that an administrator may want to see.
    Notice,
    /// Something is not as it should be.
    Warning,
    /// One operation failed; others still work.
    Error,
    /// A part of the server failed.
    Critical,
    /// An administrator must act at once.
    Alert,
    /// The server cannot be used any more.
    Emergency,
}

fn asked(answer: ElicitResult) -> Asked {
    match answer.action {
        ElicitationAction::Accept => Asked::Accepted(answer.content.unwrap_or_default()),
        _ => Asked::Declined,
    }
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
        number: u64,
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        level: LogLevel,
        asks: Asks,
    ) -> Self {
        let keeps_session = Arc::new(AtomicBool::new(true));
        let stalled = AtomicBool::new(false);
        Self { number, peer, token, level, asks, keeps_session, stalled }
    }

    /// Returns whether the call keeps the HTTP session of the host now.
    pub(super) fn keeps_session(&self) -> Arc<AtomicBool> {
        self.keeps_session.clone()
    }

    /// Sets whether the call keeps the HTTP session of a host that says nothing, as it does from its start
    /// on. A call that only waits should not: if the host is gone, the end of the session ends the call.
    pub fn keep_session(&self, keep: bool) {
        self.keeps_session.store(keep, Ordering::Relaxed);
    }

    /// Returns the number of the connection. Calls over other connections, which may be of other hosts, have
    /// other numbers. Hosts of version 2026-07-28 have no connection over HTTP; those of one program have one
    /// number.
    #[must_use]
    pub fn connection(&self) -> u64 {
        self.number
    }

    /// Returns whether questions are in the result of the call. The host can drop it, and shows no question
    /// then, and the server does not learn of it.
    #[must_use]
    pub fn may_drop_questions(&self) -> bool {
        matches!(self.asks, Asks::Rounds { .. })
    }

    /// Returns whether the host shows forms to its user.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        match &self.asks {
            Asks::Requests => {
                self.peer.supported_elicitation_modes().contains(&ElicitationMode::Form)
            }
            Asks::Rounds { capabilities, .. } => {
                let modes = capabilities.elicitation.as_ref();
                // A host that names no mode has forms.
                modes.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
            }
        }
    }

    /// Returns whether the host lets servers ask its model.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        match &self.asks {
            Asks::Requests => {
                self.peer.peer_info().is_some_and(|info| info.capabilities.sampling.is_some())
            }
            Asks::Rounds { capabilities, .. } => capabilities.sampling.is_some(),
        }
    }

    /// Reports how far the call is, out of `total` if that is known. `step` must grow. Nothing is sent to
    /// a host that did not ask for it.
    pub async fn progress(&self, step: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.token.clone() else { return };
        let mut params = ProgressNotificationParam::new(token, step);
        params.total = total;
        params.message = message;
        self.notify(self.peer.notify_progress(params)).await;
    }

    /// Sends a log message, if the host wants messages of this level.
    pub async fn log(&self, level: LogLevel, message: impl Into<String>) {
        if level < self.level {
            return;
        }
        let params = LoggingMessageNotificationParam::new(level.wire(), message.into().into());
        self.notify(self.peer.notify_logging_message(params)).await;
    }

    /// Sends a notification to a host that reads them.
    async fn notify(&self, sending: impl Future<Output = Result<(), ServiceError>>) {
        if self.stalled.load(Ordering::Relaxed) {
            return;
        }
        // The host may be gone; the call ends by itself then.
        if tokio::time::timeout(NOTICE_LIMIT, sending).await.is_err() {
            self.stalled.store(true, Ordering::Relaxed);
        }
    }

    /// Asks the user of the host. `schema` is a flat object of simple fields.
    pub async fn ask(&self, message: &str, schema: Value) -> Asked {
        let answer = match self.begin_ask(message, schema).await {
            Some(question) => question.answer(std::future::pending()).await,
            None => None,
        };
        answer.unwrap_or(Asked::Unsupported)
    }

    /// Sends a question to the user of the host. Its answer can be awaited by another task and after the
    /// end of the call. Returns none if the host cannot ask.
    pub async fn begin_ask(&self, message: &str, schema: Value) -> Option<OpenQuestion> {
        if !self.can_ask() {
            return None;
        }
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        let params = serde_json::from_value::<ElicitRequestParams>(params).ok()?;
        let request = ElicitRequest::new(params);
        if let Asks::Rounds { questions, .. } = &self.asks {
            let answer = round(questions, InputRequest::Elicitation(request)).await?;
            return Some(OpenQuestion(Sent::Round(answer)));
        }
        let (request, options) =
            (ServerRequest::ElicitRequest(request), PeerRequestOptions::no_options());
        let handle = self.peer.send_request_with_option(request, options).await.ok()?;
        Some(OpenQuestion(Sent::Request(Box::new(handle))))
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
        let answer = match &self.asks {
            Asks::Requests => {
                self.peer.create_message(params).await.map_err(|error| error.to_string())?
            }
            Asks::Rounds { questions, .. } => {
                let request = InputRequest::CreateMessage(CreateMessageRequest::new(params));
                let gone = || "the host did not answer".to_owned();
                let answer = round(questions, request).await.ok_or_else(gone)?;
                let answer = answer.await.map_err(|_| gone())?;
                serde_json::from_value(answer).map_err(|error| error.to_string())?
            }
        };
        let parts = answer.message.content.into_vec();
        let texts = parts.iter().filter_map(|part| part.as_text().map(|text| text.text.as_str()));
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }
}

/// Asks by the result of the call; none if no caller waits for it.
async fn round(
    questions: &mpsc::Sender<RoundQuestion>,
    request: InputRequest,
) -> Option<oneshot::Receiver<Value>> {
    let (answer, given) = oneshot::channel();
    questions.send(RoundQuestion { request, answer }).await.ok()?;
    Some(given)
}

#[cfg(test)]
mod tests;
