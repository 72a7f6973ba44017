//! Sessions for protocols that open several of them: an editor, or an MCP host.
//!
//! A protocol knows folders and session ids; the program knows settings, models and stores. A
//! [`SessionHost`] connects both: the program implements it once, and every protocol uses it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::error::{Diagnose as _, ErrorKind};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionHead};
use robota_core::permission::Mode;
pub use robota_mcp::client::{ElicitAnswer, Elicitation, ElicitationKind, Elicitor};
use robota_session::{Approvals, SessionError};
pub use robota_tools::{
    AnswerOption, Answers, EditorFiles, QuestionHandler, TerminalCommand, TerminalEnd,
    TerminalResult, UserQuestion,
};

use serde_json::{Map, Value, json};

use crate::error::SdkError;
use crate::interactive::InteractiveSession;
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::select::SessionChoice;

/// Opens and finds sessions.
///
/// ```
/// use robota_sdk::{HostError, OpenRequest, SessionChoice, SessionHost};
///
/// /// Answers one prompt of a client, as a protocol does.
/// async fn answer(host: &dyn SessionHost, prompt: &str) -> Result<String, HostError> {
///     host.check_model().await?;
///     let hosted = host.open(OpenRequest::new(SessionChoice::New(None))).await?;
///     let result = hosted.session.submit(prompt).await?.result().await?;
///     Ok(result.response)
/// }
/// # let _ = answer;
/// ```
#[async_trait::async_trait]
pub trait SessionHost: Send + Sync {
    /// Checks that a model is configured.
    async fn check_model(&self) -> Result<(), HostError>;

    /// Opens the session of the request: a new one, an earlier one, or a fork.
    async fn open(&self, request: OpenRequest) -> Result<HostedSession, HostError>;

    /// Lists the stored sessions of a folder, the newest first; without one, of the folder that the
    /// program was started in.
    async fn list(&self, cwd: Option<&Path>) -> Result<Vec<SessionHead>, HostError>;

    /// Deletes a stored session. Returns false if there is none.
    async fn delete(&self, cwd: Option<&Path>, id: &SessionId) -> Result<bool, HostError>;

    /// Changes the model of an open session, from its next turn on. Returns the model that is used.
    async fn set_model(
        &self,
        session: &InteractiveSession,
        model: &str,
    ) -> Result<String, HostError>;
}

/// What a session is opened with.
///
/// ```
/// use robota_core::permission::Mode;
/// use robota_sdk::{Earlier, OpenRequest, SessionChoice};
///
/// let request = OpenRequest {
///     cwd: Some("project".into()),
///     mode: Some(Mode::Plan),
///     ..OpenRequest::new(SessionChoice::Earlier(Earlier::Latest))
/// };
/// assert!(request.model.is_none());
/// ```
pub struct OpenRequest {
    /// The session to open: a new one, an earlier one, or a fork.
    pub choice: SessionChoice,
    /// The working folder; none for that of the program.
    pub cwd: Option<PathBuf>,
    /// Folders outside of the working folder that also belong to the workspace.
    pub directories: Vec<PathBuf>,
    /// The permission mode; none for that of the settings.
    pub mode: Option<Mode>,
    /// Who decides on calls that need approval.
    pub approvals: Approvals,
    /// Answers the questions of the model; without it the tool is not offered.
    pub questions: Option<Arc<dyn QuestionHandler>>,
    /// Answers the questions of MCP servers; without it `questions` does.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// The editor that has the folder open.
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// The model; none for the configured one.
    pub model: Option<String>,
    /// A provider with its settings, instead of any model service.
    pub provider: Option<ModelSetup>,
    /// How many prompts may wait; none for the default.
    pub queue_limit: Option<usize>,
    /// The MCP servers that the client passes to the session.
    pub mcp_servers: Vec<ClientMcpServer>,
    /// Is called with messages for the user, such as settings that are ignored.
    pub on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
}

impl OpenRequest {
    /// Returns a request for a session that denies what needs approval.
    #[must_use]
    pub fn new(choice: SessionChoice) -> Self {
        Self {
            choice,
            cwd: None,
            directories: Vec::new(),
            mode: None,
            // A protocol that sets nothing must not allow anything.
            approvals: Approvals::Deny,
            questions: None,
            elicitor: None,
            editor: None,
            model: None,
            provider: None,
            queue_limit: None,
            mcp_servers: Vec::new(),
            on_notice: Arc::new(|_| {}),
        }
    }
}

/// An MCP server that a client passes to a session.
///
/// ```
/// use robota_sdk::host::{ClientMcpServer, McpConnection, mcp_config};
///
/// let connection =
///     McpConnection::Http { url: "https://example.com/mcp".to_owned(), headers: [].into() };
/// let server = ClientMcpServer { name: "docs".to_owned(), connection };
/// assert!(mcp_config(&[server]).starts_with(r#"{"mcpServers":{"docs":"#));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientMcpServer {
    /// The name, which is part of the names of its tools. Of two servers with one name the last
    /// counts.
    pub name: String,
    /// How the session reaches the server: a program that it starts, or an address.
    pub connection: McpConnection,
}

/// How an MCP server is reached.
///
/// ```
/// use robota_sdk::host::McpConnection;
///
/// let server = McpConnection::Stdio {
///     command: "npx".to_owned(),
///     args: vec!["-y".to_owned(), "@modelcontextprotocol/server-everything".to_owned()],
///     env: [("LEVEL".to_owned(), "info".to_owned())].into(),
/// };
/// # let _ = server;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpConnection {
    /// A program that is reached through its standard input and output.
    Stdio {
        /// The program to start, as the field `command` of a configuration names it.
        command: String,
        /// The arguments of the program, in order; no shell reads them.
        args: Vec<String>,
        /// Variables that are added to the environment of the program.
        env: BTreeMap<String, String>,
    },
    /// A server at an address, by streamable HTTP.
    Http {
        /// The address of the one endpoint that takes all messages.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: BTreeMap<String, String>,
    },
    /// An address, by the older HTTP with server-sent events.
    Sse {
        /// The address of the event stream; its first event names the address for messages.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: BTreeMap<String, String>,
    },
}

/// Writes servers as the JSON that configurations of MCP servers have: `{"mcpServers": {…}}`.
#[must_use]
pub fn mcp_config(servers: &[ClientMcpServer]) -> String {
    let entry = |server: &ClientMcpServer| {
        let value = match &server.connection {
            McpConnection::Stdio { command, args, env } => {
                json!({"type": "stdio", "command": command, "args": args, "env": env})
            }
            McpConnection::Http { url, headers } => {
                json!({"type": "http", "url": url, "headers": headers})
            }
            McpConnection::Sse { url, headers } => {
                json!({"type": "sse", "url": url, "headers": headers})
            }
        };
        (server.name.clone(), value)
    };
    let servers: Map<String, Value> = servers.iter().map(entry).collect();
    json!({"mcpServers": servers}).to_string()
}

/// An open session, and what its client can choose.
///
/// ```
/// use robota_sdk::HostedSession;
///
/// fn menu(hosted: &HostedSession) -> Vec<&str> {
///     hosted.models.iter().map(|model| model.name.as_str()).collect()
/// }
/// # let _ = menu;
/// ```
#[derive(Clone)]
pub struct HostedSession {
    /// The open session. The protocol that opened it shuts it down.
    pub session: InteractiveSession,
    /// The id of the model that its next turn uses.
    pub model: String,
    /// The models that it can use.
    pub models: Vec<ModelChoice>,
    /// The effort of the model; none for its default.
    pub effort: Option<String>,
    /// The modes that its client can choose.
    pub modes: Vec<Mode>,
}

/// A model that a client can choose.
///
/// ```
/// use robota_sdk::host::ModelChoice;
///
/// let choice = ModelChoice { id: "claude-sonnet-5-5".to_owned(), name: "Sonnet 5.5".to_owned() };
/// assert_ne!(choice.id, choice.name);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The id that [`SessionHost::set_model`] takes.
    pub id: String,
    /// The name that a menu shows.
    pub name: String,
}

/// The efforts that a client can choose.
pub const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// Why a host cannot do what a client asks for.
///
/// ```
/// use robota_sdk::HostError;
/// use robota_sdk::host::HostErrorKind;
///
/// let error = HostError {
///     hint: Some("run `robota setup`".to_owned()),
///     ..HostError::new(HostErrorKind::NoModel, "no model is configured")
/// };
/// assert_eq!(error.to_string(), "no model is configured");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What kind of problem it is.
    pub kind: HostErrorKind,
    /// What failed, for the user of the client.
    pub message: String,
    /// What the user can do about it; none if there is no advice.
    pub hint: Option<String>,
}

/// Classifies a [`HostError`] for the protocol that reports it.
///
/// ```
/// use robota_sdk::host::HostErrorKind;
///
/// fn status(kind: HostErrorKind) -> u16 {
///     match kind {
///         HostErrorKind::NotFound => 404,
///         HostErrorKind::Invalid | HostErrorKind::NoModel => 400,
///         HostErrorKind::Failed => 500,
///     }
/// }
/// assert_eq!(status(HostErrorKind::NotFound), 404);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostErrorKind {
    /// The store has no session with this id, or the session is not open.
    NotFound,
    /// The client sent a value that is not valid; the same request fails again.
    Invalid,
    /// No model is configured, or its key is missing.
    NoModel,
    /// Anything else, such as a store that cannot be read.
    Failed,
}

impl HostError {
    /// Makes an error without a hint.
    pub fn new(kind: HostErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }
}

impl From<SdkError> for HostError {
    fn from(error: SdkError) -> Self {
        // Before the kind: protocols have a code of their own for what does not exist.
        let missing = matches!(
            &error,
            SdkError::SessionNotFound(_)
                | SdkError::NothingToContinue { .. }
                | SdkError::Journal(JournalError::NotFound(_))
                | SdkError::Session(SessionError::Journal(JournalError::NotFound(_)))
        );
        let kind = match error.kind() {
            _ if missing => HostErrorKind::NotFound,
            ErrorKind::Validation => HostErrorKind::Invalid,
            _ => HostErrorKind::Failed,
        };
        Self { kind, message: error.to_string(), hint: error.hint() }
    }
}

impl From<SessionError> for HostError {
    fn from(error: SessionError) -> Self {
        SdkError::from(error).into()
    }
}

impl From<JournalError> for HostError {
    fn from(error: JournalError) -> Self {
        SdkError::from(error).into()
    }
}

#[cfg(test)]
mod tests;
