//! A call of a tool: the request, questions of the server in between, and what a lost session means.

use std::sync::Arc;

use robota_core::tool::Progress;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestLimits};
use super::rounds::Rounds;
use super::server::Server;
use crate::catalog::ToolDefinition;
use crate::error::McpError;
use crate::names::tool_names;

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

    /// Returns the tool with the name that the server gives it.
    pub(super) fn of(server: &Arc<Server>, tool: &str) -> Option<Self> {
        let definition = server.tools().into_iter().find(|it| it.name() == tool)?;
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
        match self.send(&connection, &params, cancel, progress).await {
            Err(error) if self.server.replace_outdated(&connection, &error).await => {
                drop(connection);
                // The new session may be with another version of the server.
                let connection = self.connect(cancel).await?;
                self.send(&connection, &params, cancel, progress).await
            }
            result => result,
        }
    }

    /// Connects to the server, and checks that it still has the approved tool.
    async fn connect(&self, cancel: &CancellationToken) -> Result<Arc<Connection>, McpError> {
        let connection = self.server.connection_until(cancel).await?;
        self.still_approved()?;
        Ok(connection)
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

    async fn send(
        &self,
        connection: &Arc<Connection>,
        params: &Map<String, Value>,
        cancel: &CancellationToken,
        progress: Option<&Progress>,
    ) -> Result<Value, McpError> {
        let limits = match self.server.config.timeout {
            Some(total) => RequestLimits { idle: total, total },
            None => RequestLimits::CALL,
        };
        let rounds = Rounds { connection, limits, cancel, progress };
        let result = rounds.request("tools/call", params.clone()).await?;
        match result.get("resultType").and_then(Value::as_str) {
            Some("task") => super::task::finish(&rounds, &result).await,
            _ => Ok(result),
        }
    }
}
