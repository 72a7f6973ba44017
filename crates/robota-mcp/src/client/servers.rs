//! All servers of a session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::call::McpCall;
use super::connection::RequestLimits;
use super::options::McpOptions;
use super::outcome;
use super::prompts::{self, PromptCommand};
use super::server::{Changes, Server, ServerReport, ServerStatus};
use super::session_tools::SessionTools;
use crate::catalog::{ToolChanges, ToolDefinition};
use crate::config::{Endpoint, ServerConfig};
use crate::error::McpError;
use crate::names::server_part;

/// All servers of a session. Clones share them; when the last clone is dropped they end.
#[derive(Clone)]
pub struct McpServers {
    servers: Arc<Vec<Arc<Server>>>,
    pub(super) changes: Changes,
}

impl McpServers {
    /// Creates the servers; none is started. A server whose name is the same as that of an earlier one
    /// in the names of tools is left out.
    #[must_use]
    pub fn new(configs: Vec<ServerConfig>, options: &McpOptions) -> Self {
        let changes = Changes::new();
        let mut servers: Vec<Arc<Server>> = Vec::new();
        for config in configs {
            let part = server_part(&config.name);
            if let Some(other) = servers.iter().find(|other| server_part(other.name()) == part) {
                options.notice(format!(
                    "the MCP server `{}` is not used: its tools would have the same names as those \
                     of `{}`",
                    config.name,
                    other.name()
                ));
                continue;
            }
            servers.push(Server::new(config, options.clone(), changes.clone()));
        }
        Self { servers: Arc::new(servers), changes }
    }

    /// Returns whether there are no servers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.iter()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arc<Server>> {
        let part = server_part(name);
        let exact = self.servers.iter().find(|server| server.name() == name);
        exact.or_else(|| self.servers.iter().find(|server| server_part(server.name()) == part))
    }

    fn named(&self, name: &str) -> Result<&Arc<Server>, McpError> {
        self.find(name).ok_or_else(|| McpError::Connect {
            server: name.to_owned(),
            problem: "no server of this name is configured".to_owned(),
        })
    }

    /// Starts the servers whose tools are not known, all at once, without waiting for them.
    pub fn start_unknown(&self) {
        for server in self.servers.iter().filter(|server| !server.is_known()) {
            let server = server.clone();
            tokio::spawn(async move {
                if let Err(error) = server.connection().await {
                    server.options.notice(error.to_string());
                }
            });
        }
    }

    /// Waits until the tools of all servers are known or the servers failed, at most for `limit`.
    /// Returns whether all are.
    pub async fn settled(&self, limit: Duration) -> bool {
        self.wait(limit, |_| true).await
    }

    /// Waits like [`McpServers::settled`] for the servers in the host program.
    pub async fn host_settled(&self, limit: Duration) -> bool {
        self.wait(limit, |server| server.config.endpoint == Endpoint::Host).await
    }

    async fn wait(&self, limit: Duration, of: impl Fn(&Server) -> bool) -> bool {
        let mut changes = self.changes.watch();
        let waits = |server: &Arc<Server>| {
            of(server)
                && !server.is_known()
                && matches!(server.status(), ServerStatus::Pending | ServerStatus::Starting)
        };
        let all = async {
            while self.servers.iter().any(waits) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, all).await.is_ok()
    }

    /// Connects to a server and checks that it answers.
    ///
    /// # Errors
    /// If it does not.
    pub async fn check(&self, name: &str) -> Result<ServerReport, McpError> {
        let server = self.named(name)?;
        let connection = server.connection().await?;
        match connection.ping().await {
            // Servers of newer versions have no ping.
            Ok(()) | Err(McpError::Answer { .. }) => Ok(server.report()),
            Err(error) => Err(error),
        }
    }

    /// Returns what is known of all servers.
    #[must_use]
    pub fn reports(&self) -> Vec<ServerReport> {
        self.servers.iter().map(|server| server.report()).collect()
    }

    /// Returns the tools of a server that can be called.
    #[must_use]
    pub fn tools(&self, name: &str) -> Vec<ToolDefinition> {
        self.find(name).map(|server| server.tools()).unwrap_or_default()
    }

    /// Approves the tools that a connected server has now, and returns what changed.
    ///
    /// # Errors
    /// If there is no such server or the approval cannot be stored.
    pub fn approve(&self, name: &str) -> Result<ToolChanges, McpError> {
        let server = self.named(name)?;
        server.approve().map_err(|error| McpError::Invalid {
            server: name.to_owned(),
            problem: format!("the approval cannot be stored: {error}"),
        })
    }

    /// Ends the connection of a server and connects again.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub async fn reconnect(&self, name: &str) -> Result<ServerReport, McpError> {
        let server = self.named(name)?;
        server.reset().await;
        server.connection().await?;
        Ok(server.report())
    }

    /// Returns the prompts of all servers as commands.
    #[must_use]
    pub fn prompts(&self) -> Vec<PromptCommand> {
        self.servers.iter().flat_map(prompts::commands).collect()
    }

    /// Returns the text of a prompt. `arguments` are words, in the order of the prompt's arguments.
    ///
    /// # Errors
    /// If there is no such prompt, an argument is missing, or the server fails.
    pub async fn prompt(
        &self,
        command: &PromptCommand,
        arguments: &str,
    ) -> Result<String, McpError> {
        let server = self.named(&command.server)?;
        prompts::get(server, command, arguments).await
    }

    /// Returns the content of a resource as text, for a mention in a prompt.
    ///
    /// # Errors
    /// If the server cannot be reached or does not have the resource.
    pub async fn resource_text(&self, server: &str, uri: &str) -> Result<String, McpError> {
        let server = self.named(server)?;
        let connection = server.connection().await?;
        let (params, token) = (json!({"uri": uri}), CancellationToken::new());
        let limits = RequestLimits::SHORT;
        let result = connection.request("resources/read", params, limits, &token, None).await?;
        let contents = result.get("contents").and_then(Value::as_array);
        let texts = contents.into_iter().flatten();
        let texts = texts.filter_map(|content| content.get("text").and_then(Value::as_str));
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }

    /// Calls a tool for this program itself, not for a model.
    ///
    /// # Errors
    /// If there is no such tool or the server fails.
    pub async fn call(&self, tool_name: &str, arguments: Value) -> Result<Value, McpError> {
        for server in self.iter() {
            let call = McpCall::find(server, tool_name);
            if let Some(call) = call {
                return call.request(arguments, &CancellationToken::new(), None, None).await;
            }
        }
        Err(McpError::Invalid {
            server: tool_name.to_owned(),
            problem: "no server has a tool of this name".to_owned(),
        })
    }

    /// Returns the text of the result of [`McpServers::call`].
    pub async fn result_text(result: &Value) -> String {
        outcome::from_result(result, &robota_core::blob::NoBlobs).await.text()
    }

    /// Returns the tools for one session.
    #[must_use]
    pub fn session_tools(&self) -> SessionTools {
        SessionTools::new(self.clone())
    }

    /// Ends all connections, at once.
    pub async fn close(&self) {
        futures::future::join_all(self.servers.iter().map(|server| server.close())).await;
    }
}
