//! The MCP server: offers tools to MCP hosts over standard input and output, or over HTTP.
//!
//! The caller implements [`ServedTools`]; this module implements the protocol. It does not depend
//! on sessions or permissions.

mod events;
mod handler;
mod http;

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::model::{
    ElicitRequestParams, ElicitationAction, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{ElicitationMode, Peer, RoleServer};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

pub use http::{HttpOptions, HttpService, http_service};

/// The tools that a server offers.
#[async_trait::async_trait]
pub trait ServedTools: Send + Sync {
    /// Lists the tools, always in the same order.
    fn list(&self) -> Vec<ServedTool>;

    /// Calls a tool.
    async fn call(&self, call: ServedCall) -> ServedResult;
}

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    /// The name.
    pub name: String,
    /// What it does, for the model of the host.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Map<String, Value>>,
    /// Whether it changes nothing.
    pub read_only: bool,
}

/// A call of a host.
pub struct ServedCall {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// Cancelled when the host cancels the call.
    pub cancel: CancellationToken,
    /// The host, for progress and questions.
    pub host: McpHost,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedResult {
    /// What the model of the host sees.
    pub content: Vec<ServedContent>,
    /// The result for programs.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServedContent {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// The bytes, as base64.
        data: String,
        /// The media type.
        media_type: String,
    },
}

impl ServedResult {
    /// Makes a result that is text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ServedContent::Text(text.into())], ..Self::default() }
    }

    /// Makes an error that the model of the host can read.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// The host that a call came from. Progress and questions belong to the call, so that they must be
/// sent by the task that runs it.
pub struct McpHost {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
}

/// What a user answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The values of the form.
    Accepted(Value),
    /// The user did not want to answer.
    Declined,
    /// The host cannot ask its user.
    Unsupported,
}

impl McpHost {
    fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { peer, token }
    }

    /// Returns whether the host shows forms to its user.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.peer.supported_elicitation_modes().contains(&ElicitationMode::Form)
    }

    /// Sends the progress of the call to the host. `step` must grow. Does nothing if the host did
    /// not ask for progress.
    pub async fn progress(&self, step: f64, message: impl Into<String>) {
        let Some(token) = self.token.clone() else { return };
        let params = ProgressNotificationParam::new(token, step).with_message(message);
        // Fails if the host has disconnected; then the call is cancelled anyway.
        let _ = self.peer.notify_progress(params).await;
    }

    /// Asks the user of the host. `schema` is a flat object of simple fields.
    pub async fn ask(&self, message: &str, schema: Value) -> Asked {
        if !self.can_ask() {
            return Asked::Unsupported;
        }
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        let Ok(params) = serde_json::from_value::<ElicitRequestParams>(params) else {
            return Asked::Unsupported;
        };
        match self.peer.create_elicitation(params).await {
            Ok(answer) => match answer.action {
                ElicitationAction::Accept => Asked::Accepted(answer.content.unwrap_or_default()),
                _ => Asked::Declined,
            },
            Err(_) => Asked::Unsupported,
        }
    }
}

/// How a server describes itself.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The name.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
    /// How a model uses the tools.
    pub instructions: String,
}

/// Serves one host over standard input and output, until it closes them or `stop` is cancelled.
///
/// # Errors
/// If the connection fails.
pub async fn serve_stdio(
    info: ServerInfo,
    tools: Arc<dyn ServedTools>,
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    let handler = handler::Handler::new(info, tools);
    let transport = rmcp::transport::stdio_pipes();
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
