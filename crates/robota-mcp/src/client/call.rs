//! A call of a tool: the request, questions of the server in between, and what a lost session means.

use std::sync::Arc;
use std::time::Duration;

use robota_core::tool::Progress;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestLimits};
use super::server::Server;
use crate::catalog::ToolDefinition;
use crate::error::McpError;
use crate::names::tool_names;

/// How often a server may ask for more input before it answers a call. Each time can be a question
/// to the user.
const MAX_ROUNDS: usize = 10;

/// A call that can be made: a tool and the server that has it.
#[derive(Clone)]
pub(super) struct McpCall {
    pub(super) server: Arc<Server>,
    pub(super) definition: ToolDefinition,
}

impl McpCall {
    /// Returns the tool of a server with this name for models.
    pub(super) fn find(server: &Arc<Server>, tool_name: &str) -> Option<Self> {
        let tools = server.tools();
        let names: Vec<_> = tools.iter().map(ToolDefinition::name).collect();
        let names = tool_names(server.name(), &names);
        let at = names.iter().position(|name| name == tool_name)?;
        let definition = tools.get(at)?.clone();
        Some(Self { server: server.clone(), definition })
    }

    /// Calls the tool and returns the result of the server.
    pub(super) async fn request(
        &self,
        arguments: Value,
        cancel: &CancellationToken,
        progress: Option<&Progress>,
        call: Option<&str>,
    ) -> Result<Value, McpError> {
        let connection = self.connect(cancel).await?;
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(self.definition.name()));
        params.insert("arguments".to_owned(), arguments);
        if let Some(call) = call {
            // Servers that were written for Claude Code log this id; others ignore it.
            params.insert("_meta".to_owned(), json!({"claudecode/toolUseId": call}));
        }
        match self.rounds(&connection, &params, cancel, progress).await {
            // The server has forgotten the session, or refused the headers of the helper, which can print
            // others now. It did not run the call.
            Err(error) if self.is_outdated(&error) => {
                self.server.replace(&connection).await;
                drop(connection);
                // The new session may be with another version of the server.
                let connection = self.connect(cancel).await?;
                self.rounds(&connection, &params, cancel, progress).await
            }
            result => result,
        }
    }

    /// Connects to the server, and checks that it still has the approved tool.
    async fn connect(&self, cancel: &CancellationToken) -> Result<Arc<Connection>, McpError> {
        let connection = tokio::select! {
            connection = self.server.connection() => connection?,
            () = cancel.cancelled() => {
                return Err(McpError::Connect {
                    server: self.server.name().to_owned(), problem: "cancelled".to_owned(),
                });
            }
        };
        self.still_approved()?;
        Ok(connection)
    }

    /// Returns whether a new connection can succeed where this one failed.
    fn is_outdated(&self, error: &McpError) -> bool {
        match error {
            McpError::Expired { .. } => true,
            McpError::NeedsLogin { .. } | McpError::NeedsRights { .. } => {
                self.server.config.has_headers_helper()
            }
            _ => false,
        }
    }

    /// Checks that the tool is still the approved one: a server that was started for this call may
    /// have other tools than the offered ones.
    fn still_approved(&self) -> Result<(), McpError> {
        let hash = self.definition.hash();
        if self.server.tools().iter().any(|tool| tool.hash() == hash) {
            return Ok(());
        }
        let (server, tool) = (self.server.name().to_owned(), self.definition.name());
        Err(McpError::Connect {
            problem: format!(
                "its tool `{tool}` has changed since the user approved it, or is gone; the user can \
                 review it with `robota mcp get {server}`"
            ),
            server,
        })
    }

    async fn rounds(
        &self,
        connection: &Connection,
        params: &Map<String, Value>,
        cancel: &CancellationToken,
        progress: Option<&Progress>,
    ) -> Result<Value, McpError> {
        let limits = match self.server.config.timeout {
            Some(total) => RequestLimits { idle: total, total },
            None => RequestLimits::CALL,
        };
        let mut params = params.clone();
        for _ in 0..MAX_ROUNDS {
            let sent = Value::Object(params.clone());
            let result = connection.request("tools/call", sent, limits, cancel, progress).await?;
            match result.get("resultType").and_then(Value::as_str) {
                None | Some("complete") => return Ok(result),
                Some("input_required") => {}
                Some("task") => {
                    return super::task::finish(
                        self, connection, &result, limits, cancel, progress,
                    )
                    .await;
                }
                Some(other) => return Err(self.invalid(&format!("a result of type `{other}`"))),
            }
            let answers = self.answer(connection, result.get("inputRequests")).await?;
            // The protocol has no state between these requests: each one repeats the call with the
            // answers and the server's state.
            params.insert("inputResponses".to_owned(), answers);
            match result.get("requestState") {
                Some(state) => params.insert("requestState".to_owned(), state.clone()),
                None => params.remove("requestState"),
            };
        }
        Err(self.invalid(&format!("it asked for input more than {MAX_ROUNDS} times")))
    }

    /// Answers the questions that the server asks during the call.
    pub(super) async fn answer(
        &self,
        connection: &Connection,
        requests: Option<&Value>,
    ) -> Result<Value, McpError> {
        let mut answers = Map::new();
        for (key, request) in requests.and_then(Value::as_object).into_iter().flatten() {
            let params = request.get("params").unwrap_or(&Value::Null);
            let answer = match request.get("method").and_then(Value::as_str) {
                Some("elicitation/create") => {
                    let asking = connection.handler().elicit(params);
                    // As long as a call may take in total; the server would have given up by then.
                    tokio::time::timeout(Duration::from_secs(3_600), asking)
                        .await
                        .unwrap_or_else(|_| json!({"action": "cancel"}))
                }
                Some("sampling/createMessage") => {
                    let answer = connection.handler().sample(params).await;
                    answer.map_err(|error| self.invalid(&error.message))?
                }
                Some("roots/list") => json!({"roots": connection.handler().roots()}),
                other => {
                    let method = other.unwrap_or("nothing");
                    return Err(
                        self.invalid(&format!("it asked for `{method}`, which is not offered"))
                    );
                }
            };
            answers.insert(key.clone(), answer);
        }
        Ok(Value::Object(answers))
    }

    pub(super) fn invalid(&self, problem: &str) -> McpError {
        McpError::Invalid { server: self.server.name().to_owned(), problem: problem.to_owned() }
    }
}
