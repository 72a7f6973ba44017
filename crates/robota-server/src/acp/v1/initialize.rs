//! The start of a connection: versions, capabilities, authentication.

use serde::{Deserialize, Serialize};

/// The first request of a client.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeRequest {
    /// The newest version that the client supports.
    pub protocol_version: u16,
    /// What the client can do.
    #[serde(default)]
    pub client_capabilities: ClientCapabilities,
    /// The name of the client.
    #[serde(default)]
    pub client_info: Option<Implementation>,
}

/// What a client can do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Files.
    #[serde(default)]
    pub fs: FileCapabilities,
    /// Whether it runs commands in terminals.
    #[serde(default)]
    pub terminal: bool,
    /// Sign-in.
    #[serde(default)]
    pub auth: AuthCapabilities,
    /// Forms.
    #[serde(default)]
    pub elicitation: Option<ElicitationCapabilities>,
    /// Kinds of updates.
    #[serde(default)]
    pub session: Option<ClientSessionCapabilities>,
}

/// What a client does with files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCapabilities {
    /// Reads them, with changes that are not saved.
    #[serde(default)]
    pub read_text_file: bool,
    /// Writes them.
    #[serde(default)]
    pub write_text_file: bool,
}

/// Which updates a client understands.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClientSessionCapabilities {
    /// Notices.
    #[serde(default)]
    pub notices: Option<Capability>,
    /// Compactions.
    #[serde(default)]
    pub compaction: Option<Capability>,
}

/// How a client lets the user sign in.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AuthCapabilities {
    /// The client can run our program in a terminal.
    #[serde(default)]
    pub terminal: bool,
}

/// Which questions a client can show.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ElicitationCapabilities {
    /// Forms. Without it the client shows none.
    #[serde(default)]
    pub form: Option<Capability>,
}

/// Marks a capability as supported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {}

/// The name and version of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Implementation {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version.
    pub version: String,
}

/// The answer to the first request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// The version that both use.
    pub protocol_version: u16,
    /// What the agent can do.
    pub agent_capabilities: AgentCapabilities,
    /// How to sign in.
    pub auth_methods: Vec<AuthMethod>,
    /// The name of the agent.
    pub agent_info: Implementation,
}

/// What an agent can do.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// It loads earlier sessions.
    pub load_session: bool,
    /// What a prompt may contain.
    pub prompt_capabilities: PromptCapabilities,
    /// Which MCP servers a client may pass.
    pub mcp_capabilities: McpCapabilities,
    /// What it can do with sessions.
    pub session_capabilities: SessionCapabilities,
}

/// What a prompt may contain besides text and links.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Images.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// The content of files.
    pub embedded_context: bool,
}

/// Which MCP servers a client may pass besides programs.
#[derive(Debug, Clone, Serialize)]
pub struct McpCapabilities {
    /// Streamable HTTP.
    pub http: bool,
    /// HTTP with server-sent events.
    pub sse: bool,
}

/// What an agent can do with sessions.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCapabilities {
    /// List them.
    pub list: Capability,
    /// Delete them.
    pub delete: Capability,
    /// Give them more folders.
    pub additional_directories: Capability,
    /// Continue them without a replay.
    pub resume: Capability,
    /// Close them.
    pub close: Capability,
    /// Fork them.
    pub fork: Capability,
}

/// A way to sign in.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AuthMethod {
    /// The client runs our program with these arguments in a terminal.
    Terminal {
        /// Its id.
        id: &'static str,
        /// Its name for people.
        name: &'static str,
        /// What it does.
        description: &'static str,
        /// The arguments.
        args: Vec<&'static str>,
    },
}

/// A request to sign in.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateRequest {
    /// The way.
    pub method_id: String,
}
