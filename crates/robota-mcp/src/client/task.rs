//! Calls that a server works on as a task: it answers at once, and the client asks for the result.

use std::time::Duration;

use serde_json::{Map, Value, json};
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

/// Waits for the result of a task. `started` is the answer that named the task.
pub(super) async fn finish(rounds: &Rounds<'_>, started: &Value) -> Result<Value, McpError> {
    let Rounds { connection, limits, cancel, progress } = *rounds;
    let id = started.get("taskId").and_then(Value::as_str);
    let id = id.ok_or_else(|| connection.invalid("a task without an id"))?.to_owned();
    let params = json!({"taskId": id});
    let deadline = Instant::now() + limits.total;
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
                return result
                    .ok_or_else(|| connection.invalid("a task that ended without a result"));
            }
            "failed" => return Err(failure(connection, state.get("error"))),
            "cancelled" => return Err(connection.cancelled()),
            "input_required" => {
                let asked = unanswered(state.get("inputRequests"), &answered);
                if !asked.is_empty() {
                    // Noted before the answer is sent: the state may still list the question when
                    // it is read next, and the user must not be asked twice.
                    answered.extend(asked.keys().cloned());
                    let answers = answer(connection, Some(&Value::Object(asked))).await?;
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
        let stop = tokio::select! {
            () = cancel.cancelled() => Some(connection.cancelled()),
            () = tokio::time::sleep_until(deadline) => Some(connection.timed_out(limits.total)),
            () = tokio::time::sleep(wait) => None,
        };
        if let Some(error) = stop {
            // The server may ignore it; its answer does not matter.
            let (limits, never) = (RequestLimits::BRIEF, CancellationToken::new());
            let _ = connection.request("tasks/cancel", params, limits, &never, None).await;
            return Err(error);
        }
        let (limits, params) = (RequestLimits::SHORT, params.clone());
        state = connection.request("tasks/get", params, limits, cancel, None).await?;
    }
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
