//! Calls that a server works on as a task: it answers at once, and the client asks for the result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestLimits};
use super::rounds::{Rounds, answer};
use crate::error::McpError;
use crate::text::clean_line;

/// How long to wait between two questions, unless the server says otherwise.
const POLL: Duration = Duration::from_secs(1);
/// The shortest and the longest of these waits that a server can choose.
const POLL_LIMITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));

/// Waits for the result of a task. `started` is the answer that named the task. If the wait ends before the
/// task does, the client asks the server to cancel it.
pub(super) async fn finish(rounds: &Rounds<'_>, started: &Value) -> Result<Value, McpError> {
    let id = started.get("taskId").and_then(Value::as_str);
    let id = id.ok_or_else(|| rounds.connection.invalid("a task without an id"))?;
    let running = RunningTask { connection: rounds.connection.clone(), id: Some(id.to_owned()) };
    match wait(rounds, id, started).await {
        Ok(result) => {
            running.ended();
            result
        }
        Err(error) => {
            running.cancel().await;
            Err(error)
        }
    }
}

/// Waits until a task ends. The inner result is the one of the task.
async fn wait(
    rounds: &Rounds<'_>,
    id: &str,
    started: &Value,
) -> Result<Result<Value, McpError>, McpError> {
    let Rounds { connection, limits, cancel, progress } = *rounds;
    let params = json!({"taskId": id});
    let mut deadline = Instant::now() + limits.total;
    let mut state = started.clone();
    let mut said = String::new();
    let mut answered: Vec<String> = Vec::new();
    loop {
        let message = state.get("statusMessage").and_then(Value::as_str).unwrap_or_default();
        let message = clean_line(message, 500);
        if let Some(progress) = progress.filter(|_| !message.is_empty() && message != said) {
            progress.show(format!("{message}\n"));
        }
        said = message;
        match state.get("status").and_then(Value::as_str).unwrap_or_default() {
            "completed" => {
                let result = state.get("result").cloned();
                let none = || connection.invalid("a task that ended without a result");
                return Ok(result.ok_or_else(none));
            }
            "failed" => return Ok(Err(failure(connection, state.get("error")))),
            "cancelled" => return Ok(Err(connection.cancelled())),
            "input_required" => {
                let asked = unanswered(state.get("inputRequests"), &answered);
                if !asked.is_empty() {
                    // Noted before the answer is sent: the state may still list the question when
                    // it is read next, and the user must not be asked twice.
                    answered.extend(asked.keys().cloned());
                    let asked_at = Instant::now();
                    let asked = Value::Object(asked);
                    let answering = answer(connection, Some(&asked));
                    let answers = cancel.run_until_cancelled(answering).await;
                    let answers = answers.unwrap_or_else(|| Err(connection.cancelled()))?;
                    // The time of the user does not count.
                    deadline += asked_at.elapsed();
                    let params = json!({"taskId": id, "inputResponses": answers});
                    let limits = RequestLimits::SHORT;
                    connection.request("tasks/update", params, limits, cancel, None).await?;
                }
            }
            "working" => {}
            other => {
                let other = clean_line(other, 100);
                return Err(connection.invalid(format!("a task with the status `{other}`")));
            }
        }
        let wait = state.get("pollIntervalMs").and_then(Value::as_u64);
        // A server must make this client neither spin nor sleep for an hour.
        let wait = wait.map_or(POLL, Duration::from_millis).clamp(POLL_LIMITS.0, POLL_LIMITS.1);
        tokio::select! {
            () = cancel.cancelled() => return Err(connection.cancelled()),
            () = tokio::time::sleep_until(deadline) => {
                return Err(connection.timed_out(limits.total));
            }
            () = tokio::time::sleep(wait) => {}
        }
        let (limits, params) = (RequestLimits::SHORT, params.clone());
        state = connection.request("tasks/get", params, limits, cancel, None).await?;
    }
}

/// A task that the server still works on. It is cancelled when this is dropped.
struct RunningTask {
    connection: Arc<Connection>,
    /// The id; none once the task has ended or was cancelled.
    id: Option<String>,
}

impl RunningTask {
    fn ended(mut self) {
        self.id = None;
    }

    async fn cancel(mut self) {
        if let Some(id) = self.id.take() {
            cancel_task(&self.connection, &id).await;
        }
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        // Without a runtime the process ends, and its connections with it.
        if let Some(id) = self.id.take()
            && let Ok(runtime) = Handle::try_current()
        {
            let connection = self.connection.clone();
            runtime.spawn(async move { cancel_task(&connection, &id).await });
        }
    }
}

async fn cancel_task(connection: &Connection, id: &str) {
    let (limits, never) = (RequestLimits::BRIEF, CancellationToken::new());
    // The server may ignore it; its answer does not matter.
    let params = json!({"taskId": id});
    let _ = connection.request("tasks/cancel", params, limits, &never, None).await;
}

/// Returns the questions that were not answered before.
fn unanswered(requests: Option<&Value>, answered: &[String]) -> Map<String, Value> {
    let requests = requests.and_then(Value::as_object).into_iter().flatten();
    let open = requests.filter(|(key, _)| !answered.contains(key));
    open.map(|(key, request)| (key.clone(), request.clone())).collect()
}

fn failure(connection: &Connection, error: Option<&Value>) -> McpError {
    let field = |key: &str| error.and_then(|error| error.get(key));
    let code = field("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = field("message").and_then(Value::as_str).unwrap_or("the task failed");
    McpError::Answer {
        server: connection.server().to_owned(),
        code: code.unwrap_or(-32_603),
        message: clean_line(message, 2_000),
    }
}
