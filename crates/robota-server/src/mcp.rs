//! MCP: other agents use the tools and the agent of this program.
//!
//! [`McpServer`] offers two kinds of tools: the built-in tools, whose calls run in a session
//! without a model (`tool_session`), and the agent itself (`agent`). Both go through the same
//! gate as every other call. The sessions of agents are resources. A program can add tools, resources and
//! prompts of its own. The protocol is in `robota_mcp`; `docs/mcp-server.md` describes it.

mod agent;
mod approval;
mod auth;
mod http;
mod offered;
mod tool_session;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::ids::Ids;
use robota_mcp::server::{Served, ServerInfo, serve_stdio, serve_streams};
use robota_sdk::host::SessionHost;
use robota_sdk::{Transport, TransportError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use agent::AgentTools;
use offered::Offered;
use tool_session::ToolSession;

/// How a server is reached.
pub enum McpTransport {
    /// The standard input and output of this process. Nothing else may write to them.
    Stdio,
    /// A pair of streams, one JSON message per line.
    Streams {
        /// Where the messages of the host are read.
        input: Box<dyn AsyncRead + Send + Unpin>,
        /// Where the messages for the host are written.
        output: Box<dyn AsyncWrite + Send + Unpin>,
    },
    /// Streamable HTTP at the path `/mcp`.
    Http {
        /// The socket, already bound, so that the caller knows the port.
        listener: std::net::TcpListener,
        /// What clients must send as `Authorization: Bearer`.
        token: String,
        /// The names by which clients may reach the server; a request with another `Host` is
        /// refused, because a web page could send it (DNS rebinding).
        hosts: Vec<String>,
        /// The web pages that may use the server, by their `Origin`; requests of other pages are
        /// refused.
        origins: Vec<String>,
        /// Makes the ids of streams.
        ids: Arc<dyn Ids>,
    },
}

/// What a server offers.
#[derive(Debug, Clone)]
pub struct McpServerOptions {
    /// The version of the program, which hosts show.
    pub version: &'static str,
    /// The working folder; none for that of the program.
    pub cwd: Option<PathBuf>,
    /// The built-in tools to offer; none for all.
    pub tools: Option<Vec<String>>,
    /// Whether the agent is offered, as tools that start and control it.
    pub agent: bool,
    /// Whether the host may decide about calls of the agent. A host that is a model would decide
    /// about its own wishes.
    pub host_decides: bool,
}

/// Offers the tools and the agent to MCP hosts, over standard streams or HTTP.
pub struct McpServer {
    transport: Option<McpTransport>,
    options: McpServerOptions,
    own: Option<Served>,
    sessions: Option<Arc<dyn SessionHost>>,
    stop: CancellationToken,
}

impl McpServer {
    /// Creates a server; nothing is served before it is attached and started.
    #[must_use]
    pub fn new(transport: McpTransport, options: McpServerOptions) -> Self {
        let (transport, stop) = (Some(transport), CancellationToken::new());
        Self { transport, options, own: None, sessions: None, stop }
    }

    /// Offers tools, resources and prompts of the program besides those of this server. A tool that has
    /// the name of a built-in one is not offered. Calls of these tools do not pass the permission rules:
    /// they are code of the program.
    #[must_use]
    pub fn offer(mut self, own: Served) -> Self {
        self.own = Some(own);
        self
    }

    /// Returns the token that stops the server.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Returns the address of a server over HTTP.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.transport {
            Some(McpTransport::Http { listener, .. }) => listener.local_addr().ok(),
            Some(McpTransport::Stdio | McpTransport::Streams { .. }) | None => None,
        }
    }
}

#[async_trait::async_trait]
impl Transport for McpServer {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn attach(&mut self, sessions: Arc<dyn SessionHost>) {
        self.sessions = Some(sessions);
    }

    async fn start(&mut self) -> Result<(), TransportError> {
        let (Some(sessions), Some(transport)) = (self.sessions.clone(), self.transport.take())
        else {
            return Err(TransportError::NotAttached("mcp"));
        };
        let failed =
            |source| TransportError::Io { what: "the MCP server failed".to_owned(), source };
        let tool_session = ToolSession::open(&*sessions, &self.options);
        let tool_session =
            tool_session.await.map_err(|error| failed(std::io::Error::other(error)))?;
        let agent = AgentTools::new(sessions, self.options.clone(), tool_session.folder());
        let offered = Arc::new(Offered::new(tool_session, agent, self.own.take()));
        let info = ServerInfo {
            name: "robota",
            version: self.options.version,
            instructions: instructions(&self.options),
        };
        let stop = self.stop.clone();
        let announcing = offered.clone().announce_own();
        let served = match transport {
            McpTransport::Stdio => serve_stdio(info, offered.served(), stop).await,
            McpTransport::Streams { input, output } => {
                serve_streams(info, offered.served(), (input, output), stop).await
            }
            McpTransport::Http { listener, token, hosts, origins, ids } => {
                let options = robota_mcp::server::HttpOptions { hosts, origins, stop, ids };
                http::serve(listener, token, info, offered.served(), options).await
            }
        };
        announcing.abort();
        offered.close().await;
        served.map_err(failed)
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

fn instructions(options: &McpServerOptions) -> String {
    let mut text = "Tools of Robota, a coding agent, for the folder that it was started in. Calls \
                    that its permission rules do not allow are denied or asked about."
        .to_owned();
    if options.agent {
        text.push_str(
            " agent_start gives the agent a task and returns a session; agent_wait waits for its \
             answer, agent_send continues the conversation, agent_cancel stops it.",
        );
    }
    text
}
