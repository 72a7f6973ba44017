//! The MCP server: offers tools, resources and prompts to MCP hosts over standard input and output,
//! or over HTTP.
//!
//! The caller implements [`ServedTools`], and [`ServedResources`] and [`ServedPrompts`] if it has any;
//! this module implements the protocol. It does not depend on sessions or permissions.

mod content;
mod events;
mod handler;
mod host;
mod http;
mod keep_alive;
mod rounds;
mod subscriptions;

use std::sync::Arc;

use rmcp::ServiceExt as _;
use robota_core::ids::CountingIds;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

pub use content::{ResourceBody, ServedContent, ServedMessage, ServedResource};
pub use host::{Asked, LogLevel, McpHost, OpenQuestion};
pub use http::{HttpOptions, HttpService, http_service};

/// What this program offers to hosts when it is the server.
#[derive(Clone)]
pub struct Served {
    /// The tools; the list may be empty.
    pub tools: Arc<dyn ServedTools>,
    /// The resources; none if the server has none.
    pub resources: Option<Arc<dyn ServedResources>>,
    /// The prompts; none if the server has none.
    pub prompts: Option<Arc<dyn ServedPrompts>>,
}

impl Served {
    /// Creates a server that offers tools and nothing else.
    #[must_use]
    pub fn tools(tools: Arc<dyn ServedTools>) -> Self {
        Self { tools, resources: None, prompts: None }
    }
}

/// The tools that a server offers.
#[async_trait::async_trait]
pub trait ServedTools: Send + Sync {
    /// Lists the tools, always in the same order.
    fn list(&self) -> Vec<ServedTool>;

    /// Calls a tool. Only tools of the list are called.
    async fn call(&self, call: ServedCall) -> ServedResult;

    /// Takes the result of a call that no host will get: a host of version 2026-07-28 was asked by the call,
    /// and did not come back with the answer. What only the result names can be ended.
    async fn undelivered(&self, tool: &str, result: ServedResult) {
        let _ = (tool, result);
    }
}

/// The resources that a server offers.
#[async_trait::async_trait]
pub trait ServedResources: Send + Sync {
    /// Lists the resources that exist now.
    fn list(&self) -> Vec<ResourceInfo>;

    /// Lists the patterns of addresses (RFC 6570) of further resources.
    fn templates(&self) -> Vec<ResourceInfo> {
        Vec::new()
    }

    /// Reads a resource; none if there is no such resource.
    async fn read(&self, uri: &str) -> Option<ServedResource>;

    /// Returns a receiver of the addresses of resources that change; none if changes are not
    /// announced.
    fn changes(&self) -> Option<broadcast::Receiver<String>> {
        None
    }
}

/// The prompts that a server offers.
#[async_trait::async_trait]
pub trait ServedPrompts: Send + Sync {
    /// Lists the prompts, always in the same order.
    fn list(&self) -> Vec<PromptInfo>;

    /// Returns the messages of a prompt. Its required arguments are given.
    ///
    /// # Errors
    /// If the arguments are not valid; the text is for the user of the host.
    async fn get(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<ServedMessage>, String>;
}

/// Describes a resource, or a pattern of addresses of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceInfo {
    /// The address that a host reads, or the pattern that it fills in.
    pub uri: String,
    /// The name for people, on one line.
    pub name: String,
    /// What it contains, for the model of the host.
    pub description: String,
    /// The media type; none if it is not known.
    pub media_type: Option<String>,
}

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInfo {
    /// The name by which hosts request it.
    pub name: String,
    /// What it does, for the user of the host.
    pub description: String,
    /// The arguments, in the order in which hosts ask for them.
    pub arguments: Vec<PromptArgumentInfo>,
}

/// An argument that a host passes to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgumentInfo {
    /// The name by which hosts pass it.
    pub name: String,
    /// What to enter; hosts show it when they ask for the argument.
    pub description: String,
    /// Whether the prompt needs it. Requests without it are refused before
    /// [`ServedPrompts::get`].
    pub required: bool,
}

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    /// The name by which hosts call it; it must be unique.
    pub name: String,
    /// What it does, for the model of the host.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of its structured result; none if it has text only.
    pub output_schema: Option<Map<String, Value>>,
    /// Whether it changes nothing. Hosts may run such tools without a question.
    pub read_only: bool,
}

/// Holds a call that a host made.
pub struct ServedCall {
    /// The name of the tool, which is in the list.
    pub tool: String,
    /// The arguments, not checked against the schema.
    pub arguments: Map<String, Value>,
    /// Cancelled when the host cancels the call.
    pub cancel: CancellationToken,
    /// The host, for progress and questions.
    pub host: McpHost,
}

/// Answers a call, for the host and its model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedResult {
    /// What the model of the host sees.
    pub content: Vec<ServedContent>,
    /// The result for programs; none if it has text only.
    pub structured: Option<Value>,
    /// Whether the call failed; `content` then says why, for the model of the host.
    pub is_error: bool,
}

impl ServedResult {
    /// Makes a successful result that is text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ServedContent::Text(text.into())], ..Self::default() }
    }

    /// Makes an error that the model of the host can read.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// How a server describes itself to a host in the handshake.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The name that hosts show and log.
    pub name: &'static str,
    /// The version of the program, not of the protocol.
    pub version: &'static str,
    /// How a model uses the tools; part of the host's prompt.
    pub instructions: String,
}

/// Serves one host over standard input and output, until it closes them or `stop` is cancelled.
///
/// # Errors
/// If the connection fails.
pub async fn serve_stdio(
    info: ServerInfo,
    served: Served,
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    serve(info, served, rmcp::transport::stdio_pipes(), stop).await
}

/// Serves one host over a pair of streams, one JSON message per line, until it closes them or `stop` is
/// cancelled.
///
/// # Errors
/// If the connection fails.
pub async fn serve_streams(
    info: ServerInfo,
    served: Served,
    (input, output): (
        impl AsyncRead + Send + Unpin + 'static,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    serve(info, served, (input, output), stop).await
}

async fn serve<T, E, A>(
    info: ServerInfo,
    served: Served,
    transport: T,
    stop: CancellationToken,
) -> Result<(), std::io::Error>
where
    T: rmcp::transport::IntoTransport<rmcp::RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    // One host knows all its calls, so that nothing has to be secret.
    let rounds = rounds::Rounds::new(Arc::new(CountingIds::default()));
    let handler = handler::Handler::new(info, served, rounds, keep_alive::KeepAlive::default());
    let started = handler.serve_with_ct(transport, stop.clone()).await;
    let service = match started {
        Ok(service) => service,
        // The host closed the connection before it said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(rmcp::service::ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(std::io::Error::other(error)),
    };
    service.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}
