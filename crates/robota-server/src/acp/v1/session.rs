//! Requests about sessions, and their answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::content::ContentBlock;

/// Where a session works: part of the requests that open one.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionFolder {
    /// The working folder.
    pub cwd: PathBuf,
    /// Further folders of the workspace.
    #[serde(default)]
    pub additional_directories: Vec<PathBuf>,
    /// MCP servers. Some clients leave the list out.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// The session; none for a new one.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// An MCP server of a client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum McpServer {
    /// An address.
    Remote {
        /// `http` or `sse`.
        #[serde(rename = "type")]
        kind: String,
        /// The name.
        name: String,
        /// The address.
        url: String,
        /// Headers of every request.
        #[serde(default)]
        headers: Vec<NameValue>,
    },
    /// A program.
    Stdio {
        /// The name.
        name: String,
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Variables of its environment.
        #[serde(default)]
        env: Vec<NameValue>,
    },
}

/// A header or a variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NameValue {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// The answer about a session that was opened.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    /// The permission modes.
    pub modes: ModeState,
    /// The other choices.
    pub config_options: Vec<ConfigOption>,
}

/// The answer about a session that was created.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkedSession {
    /// Its id.
    pub session_id: String,
    /// Its choices.
    #[serde(flatten)]
    pub opened: OpenedSession,
}

/// The permission modes of a session.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeState {
    /// The mode in use.
    pub current_mode_id: String,
    /// The modes to choose from.
    pub available_modes: Vec<Mode>,
}

/// A permission mode that the user can select in the editor.
#[derive(Debug, Clone, Serialize)]
pub struct Mode {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// Something that a user can choose for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// Its id.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it means for the client: `mode`, `model` or `thought_level`.
    pub category: &'static str,
    /// Always `select`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The value in use.
    pub current_value: String,
    /// The values to choose from.
    pub options: Vec<SelectOption>,
}

/// A value of a [`ConfigOption`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectOption {
    /// The value.
    pub value: String,
    /// Its name for people.
    pub name: String,
}

/// Names the session that a request is about.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReference {
    /// The id.
    pub session_id: String,
}

/// A request for the list of sessions.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ListRequest {
    /// Only those of this folder.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Where the page starts.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of the list of sessions.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResponse {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session of the list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its id.
    pub session_id: String,
    /// Its working folder.
    pub cwd: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When something happened in it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// A request to change the permission mode.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetModeRequest {
    /// The session.
    pub session_id: String,
    /// The mode.
    pub mode_id: String,
}

/// A request to choose a value of a [`ConfigOption`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigRequest {
    /// The session.
    pub session_id: String,
    /// The option.
    pub config_id: String,
    /// The value.
    pub value: ConfigValue,
}

/// A value of a [`ConfigOption`].
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ConfigValue {
    /// One of a list.
    Chosen(String),
    /// On or off. No option of this agent has such a value.
    Switch(bool),
}

/// The choices after a change.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigResponse {
    /// All options.
    pub config_options: Vec<ConfigOption>,
}

/// A prompt of the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptRequest {
    /// The session.
    pub session_id: String,
    /// The content.
    pub prompt: Vec<ContentBlock>,
}

/// The end of a turn.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptResponse {
    /// Why it ended.
    pub stop_reason: StopReason,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The prompt is answered.
    EndTurn,
    /// The answer was cut, or the context window is full.
    MaxTokens,
    /// The limit of model calls was reached.
    MaxTurnRequests,
    /// The model refused, or a hook blocked the prompt.
    Refusal,
    /// The client cancelled the turn.
    Cancelled,
}
