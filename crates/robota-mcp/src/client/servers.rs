//! All servers of a session.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use robota_core::call::CallContext;
use robota_core::message::ResultBlock;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::call::McpCall;
use super::connection::RequestLimits;
use super::options::McpClientOptions;
use super::outcome;
use super::prompts::{self, PromptCommand};
use super::resources;
use super::server::{Approved, Changes, Server, ServerInstructions, ServerReport, ServerStatus};
use super::session_tools::SessionTools;
use crate::catalog::ToolDefinition;
use crate::config::{Endpoint, ServerConfig};
use crate::error::McpError;
use crate::names::server_part;
use crate::review::ChangeReview;

/// Connects to all servers of a session. Clones share them; when the last clone is dropped they
/// end.
#[derive(Clone)]
pub struct McpServers {
    servers: Arc<RwLock<Vec<Arc<Server>>>>,
    /// What servers that are added later share with the others.
    options: McpClientOptions,
    pub(super) changes: Changes,
}

impl McpServers {
    /// Creates the servers; none is started. A server whose name is the same as that of an earlier one
    /// in the names of tools is left out.
    #[must_use]
    pub fn new(configs: Vec<ServerConfig>, options: &McpClientOptions) -> Self {
        let servers =
            Self { servers: Arc::default(), options: options.clone(), changes: Changes::new() };
        for config in configs {
            if let Err(error) = servers.add(config) {
                options.notice(error.to_string());
            }
        }
        servers
    }

    /// Adds a server; it is not started.
    ///
    /// # Errors
    /// If its name is the same as that of another server in the names of tools.
    pub fn add(&self, config: ServerConfig) -> Result<(), McpError> {
        let part = server_part(&config.name);
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = servers.iter().find(|other| server_part(other.name()) == part) {
            let other = other.name().to_owned();
            return Err(McpError::SameToolNames { server: config.name, other });
        }
        servers.push(Server::new(config, self.options.clone(), self.changes.clone()));
        drop(servers);
        self.changes.announce();
        Ok(())
    }

    /// Removes a server; its connection ends in the background. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let removed = {
            let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
            let at = servers.iter().position(|server| server.name() == name);
            at.map(|at| servers.remove(at))
        };
        let Some(removed) = removed else { return false };
        self.changes.announce();
        // In the background: a program may take seconds to end, and the caller only wants it gone.
        tokio::spawn(async move { removed.close().await });
        true
    }

    /// Returns the configuration of a server.
    #[must_use]
    pub fn config(&self, name: &str) -> Option<ServerConfig> {
        let named = self.all().into_iter().find(|server| server.name() == name);
        named.map(|server| server.config.clone())
    }

    /// Turns a server off or on again. One that is off has no connection and no tools.
    ///
    /// # Errors
    /// If there is no such server, or one that is turned on cannot be reached.
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<ServerReport, McpError> {
        let server = self.named(name)?;
        if enabled {
            server.enable();
            server.connection().await?;
        } else {
            server.disable().await;
        }
        Ok(server.report())
    }

    /// Returns whether there are no servers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Returns the servers at this moment.
    pub(super) fn all(&self) -> Vec<Arc<Server>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Server>> {
        let part = server_part(name);
        let servers = self.all();
        let exact = servers.iter().find(|server| server.name() == name);
        // Models and rules know only the part that is in the names of tools.
        exact.or_else(|| servers.iter().find(|server| server_part(server.name()) == part)).cloned()
    }

    fn named(&self, name: &str) -> Result<Arc<Server>, McpError> {
        self.find(name).ok_or_else(|| McpError::Connect {
            server: name.to_owned(),
            problem: "no server of this name is configured".to_owned(),
        })
    }

    /// Starts the servers whose tools are not known and that were not started yet, all at once, without
    /// waiting for them.
    pub fn start_unknown(&self) {
        self.start_if(|_| true);
    }

    /// Starts the servers like [`McpServers::start_unknown`], but only after `delay` those that the first
    /// request can do without: their processes would compete with it. They start earlier if they are
    /// needed, and not at all if the last clone of these servers is dropped before.
    pub fn start_unknown_after(&self, delay: Duration) {
        self.start_if(Server::is_awaited);
        if !self.all().iter().any(Server::waits_for_start) {
            return;
        }
        let (servers, changes) = (Arc::downgrade(&self.servers), self.changes.clone());
        let options = self.options.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            if let Some(servers) = servers.upgrade() {
                Self { servers, options, changes }.start_unknown();
            }
        });
    }

    fn start_if(&self, of: impl Fn(&Server) -> bool) {
        let waiting = self.all().into_iter().filter(Server::waits_for_start);
        for server in waiting.filter(|server| of(server)) {
            tokio::spawn(async move {
                if let Err(error) = server.connection().await
                    // A start that was cancelled is no failure.
                    && matches!(server.status(), ServerStatus::Failed | ServerStatus::NeedsAuth)
                {
                    server.options.notice(error.to_string());
                }
            });
        }
    }

    /// Starts the servers whose tools are not known, and waits until they are known or the servers failed,
    /// at most for `limit`. Returns whether all are.
    pub async fn settled(&self, limit: Duration) -> bool {
        self.start_unknown();
        self.wait(limit, |_| true).await
    }

    /// Waits until the servers that were named for this run, and those whose tools every request offers
    /// (`alwaysLoad`), have started or failed, at most for `limit`. Returns whether all have.
    pub async fn awaited_settled(&self, limit: Duration) -> bool {
        self.wait(limit, |server| server.config.always_load || server.config.named_for_run).await
    }

    /// Waits until the servers in the host program have started or failed, at most for `limit`. Returns
    /// whether all have.
    pub async fn host_settled(&self, limit: Duration) -> bool {
        self.wait(limit, |server| server.config.endpoint == Endpoint::Host).await
    }

    async fn wait(&self, limit: Duration, of: impl Fn(&Server) -> bool) -> bool {
        // Subscribed before the first look, so that no change in between is missed.
        let mut changes = self.changes.watch();
        let waits = |server: &Arc<Server>| of(server) && server.is_starting();
        let all = async {
            while self.all().iter().any(waits) {
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
        self.all().iter().map(|server| server.report()).collect()
    }

    /// Returns the tools of a server that can be called.
    #[must_use]
    pub fn tools(&self, name: &str) -> Vec<ToolDefinition> {
        self.find(name).map(|server| server.tools()).unwrap_or_default()
    }

    /// Returns the instructions of the servers for models, as the user approved them.
    #[must_use]
    pub fn instructions(&self) -> Vec<ServerInstructions> {
        self.all().iter().filter_map(|server| server.instructions()).collect()
    }

    /// Returns what waits for the approval of the user; none if there is nothing, or no such server.
    #[must_use]
    pub fn review(&self, name: &str) -> Option<ChangeReview> {
        self.find(name)?.review()
    }

    /// Approves what a connected server offers now. With the hash of a [`ChangeReview`] only what it
    /// showed is approved.
    ///
    /// # Errors
    /// If there is no such server, it is not as it was reviewed, or the approval cannot be stored.
    pub fn approve(&self, name: &str, reviewed: Option<&str>) -> Result<Approved, McpError> {
        self.named(name)?.approve(reviewed)
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
        self.all().iter().flat_map(prompts::commands).collect()
    }

    /// Returns the text of a prompt. `arguments` are words, in the order of the prompt's arguments. The
    /// request is cancelled if the future is dropped.
    ///
    /// # Errors
    /// If there is no such prompt, an argument is missing, or the server fails.
    pub async fn prompt(
        &self,
        command: &PromptCommand,
        arguments: &str,
    ) -> Result<String, McpError> {
        let server = self.named(&command.server)?;
        let (command, arguments) = (command.clone(), arguments.to_owned());
        until_dropped(server.name().to_owned(), async move |cancel| {
            prompts::get(&server, &command, &arguments, &cancel).await
        })
        .await
    }

    /// Reads a resource, and returns the result of the server. The request is cancelled if the future is
    /// dropped.
    ///
    /// # Errors
    /// If the server cannot be reached or does not have the resource.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Value, McpError> {
        let (server, uri) = (self.named(server)?, uri.to_owned());
        until_dropped(server.name().to_owned(), async move |cancel| {
            resources::read(&server, &uri, RequestLimits::SHORT, &cancel).await
        })
        .await
    }

    /// Returns the content of a resource, for a mention in a prompt. Images, and what models cannot read,
    /// are stored in the blobs of the scope. It contains no secrets of the
    /// redactor of the scope.
    ///
    /// # Errors
    /// If the server cannot be reached or does not have the resource.
    pub async fn resource_content(
        &self,
        server: &str,
        uri: &str,
        scope: &CallContext,
    ) -> Result<Vec<ResultBlock>, McpError> {
        let result = self.read_resource(server, uri).await?;
        Ok(outcome::of_resource(&result, scope).await)
    }

    /// Takes a message that a server in the host program sends by itself: a notification, or a request
    /// whose answer goes to the host like other messages.
    ///
    /// # Errors
    /// If the server is not connected, or sends faster than its messages are handled.
    pub fn receive_from_host(&self, server: &str, message: Value) -> Result<(), McpError> {
        self.options.host_inbox.push(server, message).map_err(|problem| McpError::Connect {
            server: server.to_owned(),
            problem: problem.to_owned(),
        })
    }

    /// Calls a tool for this program itself, not for a model.
    ///
    /// # Errors
    /// If there is no such tool or the server fails.
    pub async fn call(&self, tool_name: &str, arguments: Value) -> Result<Value, McpError> {
        for server in self.all() {
            if let Some(call) = McpCall::find(&server, tool_name) {
                return call.request(arguments, &CancellationToken::new(), None, None).await;
            }
        }
        Err(McpError::Invalid {
            server: tool_name.to_owned(),
            problem: "no server has a tool of this name".to_owned(),
        })
    }

    /// Calls a tool by the names that the configuration and the server use, over the connection that the
    /// calls of models have. A server that was not needed yet is connected. The request is cancelled if
    /// the future is dropped.
    ///
    /// # Errors
    /// If there is no such server or tool, or the server fails.
    pub async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, McpError> {
        let (server, tool) = (self.named(server)?, tool.to_owned());
        until_dropped(server.name().to_owned(), async move |cancel| {
            // Its tools are known only then, unless they were known from an earlier run.
            server.connection_until(&cancel).await?;
            match McpCall::of(&server, &tool) {
                Some(call) => call.request(arguments, &cancel, None, None).await,
                None => Err(McpError::Invalid {
                    server: server.name().to_owned(),
                    problem: format!("it has no tool `{tool}` that can be called"),
                }),
            }
        })
        .await
    }

    /// Returns whether a server of this name is configured.
    #[must_use]
    pub fn has(&self, server: &str) -> bool {
        self.find(server).is_some()
    }

    /// Returns the text of the result of [`McpServers::call`].
    pub async fn result_text(result: &Value) -> String {
        outcome::from_result(result, &CallContext::detached()).await.text()
    }

    /// Returns the tools for one session.
    #[must_use]
    pub fn session_tools(&self) -> SessionTools {
        SessionTools::new(self.clone())
    }

    /// Ends all connections, at once.
    pub async fn close(&self) {
        let servers = self.all();
        futures::future::join_all(servers.iter().map(|server| server.close())).await;
    }
}

/// Sends a request in a task of its own, which outlives a caller that no longer waits: it tells the server
/// that the request is cancelled.
async fn until_dropped<T, F>(
    server: String,
    request: impl FnOnce(CancellationToken) -> F,
) -> Result<T, McpError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, McpError>> + Send + 'static,
{
    let cancel = CancellationToken::new();
    let _cancel_on_drop = cancel.clone().drop_guard();
    let problem = "the request ended without a result".to_owned();
    let ended = tokio::spawn(request(cancel)).await;
    ended.unwrap_or(Err(McpError::Invalid { server, problem }))
}
