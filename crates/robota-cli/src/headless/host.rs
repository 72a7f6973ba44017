//! The host: the program that started this one and answers its control requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use robota_core::ids::TaskId;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::line_room::{self, MAX_LINE};
use super::writer::LineWriter;
use robota_stream_json::{
    ControlCancelLine, ControlErrorCode, ControlRequestLine, ControlResponse, ControlResponseLine,
    HostRequest, SessionStateText,
};

/// Why the host did not answer a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostError {
    /// It closed standard input.
    Gone,
    /// It did not answer in time.
    TimedOut(Duration),
    /// It answered with an error.
    Refused(String),
    /// The request has this many bytes, more than hosts read in a line.
    TooLong(usize),
}

impl std::fmt::Display for HostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone => f.write_str("the host closed standard input"),
            Self::TimedOut(limit) => {
                write!(f, "the host did not answer within {:.1} s", limit.as_secs_f64())
            }
            Self::Refused(error) => write!(f, "the host failed: {error}"),
            Self::TooLong(bytes) => write!(
                f,
                "the request to the host is {bytes} bytes long, and hosts read {MAX_LINE} at most: \
                 make the arguments of the call shorter"
            ),
        }
    }
}

type HostAnswer = Result<Value, String>;

/// The answer to a request of the host.
pub(crate) type Reply = Result<Value, (ControlErrorCode, String)>;

/// Sends control requests to the host and waits for its answers.
pub(crate) struct Host {
    writer: Arc<LineWriter>,
    waiting: Mutex<HashMap<String, Waiting>>,
    requests: AtomicU64,
    gone: CancellationToken,
    /// Notified when a question was asked.
    asked: Notify,
}

/// A request that waits for the answer of the host.
struct Waiting {
    answer: oneshot::Sender<HostAnswer>,
    /// Who asks, if it is a question that a person answers.
    asker: Option<Asker>,
}

/// Who asks a question that a person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asker {
    /// A call of the session itself.
    Session,
    /// A call of the agent that runs as this task.
    Agent(TaskId),
    /// A server, because of a call of the session or of an agent.
    Server,
}

impl Host {
    /// Creates the link. `gone` is cancelled when the host closes standard input.
    pub(crate) fn new(writer: Arc<LineWriter>, gone: CancellationToken) -> Self {
        let (waiting, requests, asked) = (Mutex::default(), AtomicU64::new(0), Notify::new());
        Self { writer, waiting, requests, gone, asked }
    }

    /// Asks the host and waits for the answer. Dropping the future withdraws the request.
    pub(crate) async fn ask(
        &self,
        request: HostRequest<'_>,
        limit: Duration,
    ) -> Result<Value, HostError> {
        if self.gone.is_cancelled() {
            return Err(HostError::Gone);
        }
        // With the name of the program, because hosts number their own requests and may compare the
        // ids.
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let request_id = format!("robota-{number}");
        let (sender, answer) = oneshot::channel();
        let asker = match &request {
            HostRequest::CanUseTool { agent_id: None, .. } => Some(Asker::Session),
            HostRequest::CanUseTool { agent_id: Some(task), .. } => {
                Some(Asker::Agent(TaskId::from(*task)))
            }
            HostRequest::Elicitation { .. } => Some(Asker::Server),
            HostRequest::HookCallback { .. } | HostRequest::McpMessage { .. } => None,
        };
        let is_question = asker.is_some();
        // Its type has one value, the name of this kind of line, so that the schema has it too.
        let kind = Default::default();
        let line = ControlRequestLine { kind, request_id: &request_id, request };
        // What the host decides about is never shortened: it would decide about something else.
        let bytes = line_room::bytes_of(&line);
        if bytes > MAX_LINE {
            return Err(HostError::TooLong(bytes));
        }
        // Before the line is printed: the host may answer from another thread immediately.
        self.lock().insert(request_id.clone(), Waiting { answer: sender, asker });
        let _withdraw = Withdraw { host: self, request_id: request_id.clone(), is_question };
        if is_question {
            self.asked.notify_one();
            self.writer.state(SessionStateText::RequiresAction);
        }
        self.writer.print(&line);
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(HostError::Refused(error)),
                Err(_) => Err(HostError::Gone),
            },
            // After the answer, so that an answer counts even if the host closes its output right after it.
            () = self.gone.cancelled() => Err(HostError::Gone),
            () = tokio::time::sleep(limit) => Err(HostError::TimedOut(limit)),
        }
    }

    /// Passes on an answer of the host. An answer that nothing waits for is ignored.
    pub(crate) fn on_answer(&self, request_id: &str, answer: HostAnswer) {
        if let Some(waiting) = self.lock().remove(request_id) {
            let _ = waiting.answer.send(answer);
        }
    }

    /// Returns who waits for an answer of the host. Callbacks of hooks and messages for MCP servers are no
    /// questions: hosts answer them at once.
    pub(super) fn asking(&self) -> Vec<Asker> {
        self.lock().values().filter_map(|waiting| waiting.asker.clone()).collect()
    }

    /// Waits until a question is asked. Cancel safe.
    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Answers a request of the host.
    pub(crate) fn reply(&self, request_id: &str, reply: &Reply) {
        let kind = Default::default();
        let response = match reply {
            Ok(response) => ControlResponse::Success { request_id, response },
            Err((error_code, error)) => {
                ControlResponse::Error { request_id, error, error_code: *error_code }
            }
        };
        self.writer.print(&ControlResponseLine { kind, response });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a request: withdraws it and notifies the host if it was not answered.
struct Withdraw<'a> {
    host: &'a Host,
    request_id: String,
    is_question: bool,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        // False after an answer: then there is nothing to withdraw.
        let waiting = self.host.lock().remove(&self.request_id).is_some();
        if waiting && !self.host.gone.is_cancelled() {
            let request_id = &self.request_id;
            self.host.writer.print(&ControlCancelLine { kind: Default::default(), request_id });
        }
        if self.is_question && self.host.asking().is_empty() {
            self.host.writer.state_without_questions();
        }
    }
}
