//! Requests that a server can answer with questions before it has a result.

use std::sync::Arc;
use std::time::Duration;

use robota_core::tool::Progress;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestLimits};
use super::server::Server;
use crate::error::McpError;
use crate::text::clean_line;

/// How often a server may ask for more input before it answers a request. Each time can be a question
/// to the user.
const MAX_ROUNDS: usize = 10;
/// How long the user may take for an answer: as long as a call may take in total. The server would have
/// given up by then.
const ANSWER_LIMIT: Duration = Duration::from_secs(3_600);
/// How long to wait for a server to say that the user is done at an address.
const DONE_LIMIT: Duration = Duration::from_secs(60);

/// Sends a request to a server; once more over a new connection if the server no longer accepts the first.
pub(super) async fn request(
    server: &Arc<Server>,
    method: &str,
    params: Map<String, Value>,
    limits: RequestLimits,
    cancel: &CancellationToken,
) -> Result<Value, McpError> {
    let connection = &server.connection_until(cancel).await?;
    let rounds = Rounds { connection, limits, cancel, progress: None };
    match rounds.request(method, params.clone()).await {
        Err(error) if server.replace_outdated(connection, &error).await => {
            let connection = &server.connection_until(cancel).await?;
            Rounds { connection, ..rounds }.request(method, params).await
        }
        result => result,
    }
}

/// How a request is sent.
#[derive(Clone, Copy)]
pub(super) struct Rounds<'a> {
    pub(super) connection: &'a Arc<Connection>,
    /// The limits of each request, without the time of the user.
    pub(super) limits: RequestLimits,
    pub(super) cancel: &'a CancellationToken,
    pub(super) progress: Option<&'a Progress>,
}

impl Rounds<'_> {
    /// Sends a request, answers the questions of the server, and returns its result. The result of
    /// `tools/call` can be a task.
    pub(super) async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
    ) -> Result<Value, McpError> {
        let Self { connection, limits, cancel, progress } = *self;
        let mut opened = false;
        for _ in 0..MAX_ROUNDS {
            let sent = Value::Object(params.clone());
            let result = match connection.request(method, sent, limits, cancel, progress).await {
                // Once: a server that asks again after the user was there is reported.
                Err(McpError::NeedsAddress { server, message, questions }) if !opened => {
                    opened = true;
                    let opening = self.open(&questions);
                    let agreed = cancel.run_until_cancelled(opening).await;
                    if agreed.ok_or_else(|| connection.cancelled())? {
                        continue;
                    }
                    return Err(McpError::NeedsAddress { server, message, questions });
                }
                result => result?,
            };
            match result.get("resultType").and_then(Value::as_str) {
                None | Some("complete") => return Ok(result),
                Some("input_required") => {}
                Some("task") if method == "tools/call" => return Ok(result),
                Some(other) => {
                    let other = clean_line(other, 100);
                    return Err(connection.invalid(format!("a result of type `{other}`")));
                }
            }
            let answering = answer(connection, result.get("inputRequests"));
            let answers = cancel.run_until_cancelled(answering).await;
            let answers = answers.unwrap_or_else(|| Err(connection.cancelled()))?;
            // The protocol has no state between these requests: each one repeats the request with the
            // answers and the server's state.
            params.insert("inputResponses".to_owned(), answers);
            match result.get("requestState") {
                Some(state) => params.insert("requestState".to_owned(), state.clone()),
                None => params.remove("requestState"),
            };
        }
        Err(connection.invalid(format!("it asked for input more than {MAX_ROUNDS} times")))
    }
}

impl Rounds<'_> {
    /// Asks the user to open addresses, and waits a moment for the server to say that the user is done
    /// there. Returns whether the user agreed to all.
    async fn open(&self, questions: &[Value]) -> bool {
        let handler = self.connection.handler();
        for question in questions {
            let asking = tokio::time::timeout(ANSWER_LIMIT, handler.elicit(question)).await;
            if !asking.is_ok_and(|answer| answer["action"] == "accept") {
                return false;
            }
        }
        let ids = questions.iter().filter_map(|question| question.get("elicitationId")?.as_str());
        let ids: Vec<_> = ids.map(str::to_owned).collect();
        // Servers need not say it; the request is sent again in any case.
        let _ = tokio::time::timeout(DONE_LIMIT, handler.done(&ids)).await;
        true
    }
}

/// Answers the questions that a server asks during a request.
pub(super) async fn answer(
    connection: &Connection,
    requests: Option<&Value>,
) -> Result<Value, McpError> {
    let mut answers = Map::new();
    for (key, request) in requests.and_then(Value::as_object).into_iter().flatten() {
        let params = request.get("params").unwrap_or(&Value::Null);
        let answer = match request.get("method").and_then(Value::as_str) {
            Some("elicitation/create") => {
                let asking = connection.handler().elicit(params);
                tokio::time::timeout(ANSWER_LIMIT, asking)
                    .await
                    .unwrap_or_else(|_| json!({"action": "cancel"}))
            }
            Some("sampling/createMessage") => {
                let answer = connection.handler().sample(params).await;
                answer.map_err(|error| connection.invalid(error.message))?
            }
            Some("roots/list") => json!({"roots": connection.handler().roots()}),
            other => {
                let method = clean_line(other.unwrap_or("nothing"), 100);
                let problem = format!("it asked for `{method}`, which is not offered");
                return Err(connection.invalid(problem));
            }
        };
        answers.insert(key.clone(), answer);
    }
    Ok(Value::Object(answers))
}
