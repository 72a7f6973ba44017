//! The start of a connection: versions, capabilities, authentication.

use serde::{Deserialize, Serialize};

use super::or_default;

/// The first request of a client. The agent does not read the name of the client, so that a client
/// may leave out parts of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeRequest {
    /// The newest version that the client supports.
    pub protocol_version: u16,
    /// What the client can do; nothing if it does not say.
    #[serde(default, deserialize_with = "or_default")]
    pub client_capabilities: ClientCapabilities,
}

/// What a client can do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// What it does with files.
    #[serde(default, deserialize_with = "or_default")]
    pub fs: FileCapabilities,
    /// Whether it runs commands in terminals.
    #[serde(default, deserialize_with = "or_default")]
    pub terminal: bool,
    /// How it lets the user sign in.
    #[serde(default, deserialize_with = "or_default")]
    pub auth: AuthCapabilities,
    /// Which questions it can show; absent if none.
    #[serde(default)]
    pub elicitation: Option<ElicitationCapabilities>,
    /// Which newer updates it understands; absent if none.
    #[serde(default)]
    pub session: Option<ClientSessionCapabilities>,
}

/// What a client does with files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCapabilities {
    /// Reads them, with changes that are not saved.
    #[serde(default, deserialize_with = "or_default")]
    pub read_text_file: bool,
    /// Writes them, so that the change is in the editor's undo history.
    #[serde(default, deserialize_with = "or_default")]
    pub write_text_file: bool,
}

/// Which updates a client understands.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClientSessionCapabilities {
    /// Messages for the user that are not part of the conversation.
    #[serde(default)]
    pub notices: Option<Capability>,
    /// That the conversation is being summarised.
    #[serde(default)]
    pub compaction: Option<Capability>,
}

/// How a client lets the user sign in.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AuthCapabilities {
    /// The client can run our program in a terminal.
    #[serde(default, deserialize_with = "or_default")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Implementation {
    /// The name for programs.
    pub name: String,
    /// The name for people; that for programs if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version of the program, not of the protocol.
    pub version: String,
}

/// The answer to the first request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// The version that is used. A client that does not support it disconnects.
    pub protocol_version: u16,
    /// What the agent can do.
    pub agent_capabilities: AgentCapabilities,
    /// How to sign in; empty if the client supports no way that this agent has.
    pub auth_methods: Vec<AuthMethod>,
    /// The name of the agent.
    pub agent_info: Implementation,
}

/// What an agent can do.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Whether it has `session/load`.
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
    /// Whether images are taken.
    pub image: bool,
    /// Whether sound is taken.
    pub audio: bool,
    /// Whether files may come with their content, instead of as links.
    pub embedded_context: bool,
}

/// Which MCP servers a client may pass besides programs.
#[derive(Debug, Clone, Serialize)]
pub struct McpCapabilities {
    /// Whether servers over streamable HTTP may be passed.
    pub http: bool,
    /// Whether servers over HTTP with server-sent events may be passed, the older transport.
    pub sse: bool,
}

/// What an agent can do with sessions.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCapabilities {
    /// Marks that the agent lists its stored sessions (`session/list`).
    pub list: Capability,
    /// Marks that the agent deletes stored sessions (`session/delete`).
    pub delete: Capability,
    /// Marks that `session/new` and `session/load` take `additionalDirectories`.
    pub additional_directories: Capability,
    /// Marks that a client can continue a session without a replay of its messages.
    pub resume: Capability,
    /// Marks that a client can close a session and keep the connection (`session/close`).
    pub close: Capability,
    /// Marks that a client can fork a session (`session/fork`).
    pub fork: Capability,
}

/// A way to sign in.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AuthMethod {
    /// The client runs our program with these arguments in a terminal.
    Terminal {
        /// The id that the client sends back in `authenticate`.
        id: &'static str,
        /// The text of the button.
        name: &'static str,
        /// What it does, in a line below the name.
        description: &'static str,
        /// The arguments of our program, without the program.
        args: Vec<&'static str>,
    },
}

/// A request to sign in.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateRequest {
    /// The id of one of the `auth_methods`.
    pub method_id: String,
}
