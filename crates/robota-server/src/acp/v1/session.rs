//! Requests about sessions, and their answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::content::ContentBlock;
use super::or_default;

/// Where a session works: part of the requests that open one.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionFolder {
    /// The working folder, as an absolute path.
    pub cwd: PathBuf,
    /// Further folders of the workspace, which tools may use.
    #[serde(default, deserialize_with = "or_default")]
    pub additional_directories: Vec<PathBuf>,
    /// MCP servers. Some clients leave the list out, or send null.
    #[serde(default, deserialize_with = "or_default")]
    pub mcp_servers: Vec<McpServer>,
    /// The session; none for a new one.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// An MCP server of a client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum McpServer {
    /// A server at an address. Before `Stdio`, because an untagged enum takes the first variant
    /// that fits.
    Remote {
        /// `http` or `sse`; anything else is refused.
        #[serde(rename = "type")]
        kind: String,
        /// The name, which becomes part of the names of its tools.
        name: String,
        /// The address of the server's endpoint.
        url: String,
        /// Headers of every request; they may contain keys.
        #[serde(default, deserialize_with = "or_default")]
        headers: Vec<NameValue>,
    },
    /// A program, which talks over its standard streams. It has no `type`.
    Stdio {
        /// The name, which becomes part of the names of its tools.
        name: String,
        /// The program that is started.
        command: String,
        /// Its arguments, which do not pass through a shell.
        #[serde(default, deserialize_with = "or_default")]
        args: Vec<String>,
        /// Variables that are added to its environment.
        #[serde(default, deserialize_with = "or_default")]
        env: Vec<NameValue>,
    },
}

/// A header or a variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NameValue {
    /// The name of the header or variable.
    pub name: String,
    /// The value, which may be a key.
    pub value: String,
}

/// The answer about a session that was opened.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    /// The permission modes, for clients without options.
    pub modes: ModeState,
    /// The choices that clients show as pickers, the mode among them.
    pub config_options: Vec<ConfigOption>,
}

/// The answer about a session that was created.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkedSession {
    /// The id of the new session, which all later requests name.
    pub session_id: String,
    /// What can be chosen for it.
    #[serde(flatten)]
    pub opened: OpenedSession,
}

/// The permission modes of a session.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeState {
    /// The `id` of the mode in use.
    pub current_mode_id: String,
    /// The modes to choose from.
    pub available_modes: Vec<Mode>,
}

/// A permission mode that the user can select in the editor.
#[derive(Debug, Clone, Serialize)]
pub struct Mode {
    /// What `session/set_mode` takes.
    pub id: String,
    /// The text that the picker shows.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
}

/// Something that a user can choose for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// What `session/set_config_option` takes.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it means for the client: `mode`, `model` or `thought_level`.
    pub category: &'static str,
    /// Always `select`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The `value` of the option in use.
    pub current_value: String,
    /// The values to choose from.
    pub options: Vec<SelectOption>,
}

/// A value of a [`ConfigOption`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectOption {
    /// What `session/set_config_option` takes.
    pub value: String,
    /// The text that the picker shows.
    pub name: String,
}

/// Names the session that a request is about.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReference {
    /// The id that the session was opened with.
    pub session_id: String,
}

/// A request for the list of sessions.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ListRequest {
    /// The folder of the sessions; absent for all folders that this program knows.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of the list of sessions.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResponse {
    /// The sessions of the page, the newest first.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page starts; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session of the list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// What `session/load` takes.
    pub session_id: String,
    /// Its working folder; empty if it has none.
    pub cwd: String,
    /// The name that the user gave it, otherwise its first words.
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
    /// The id that the session was opened with.
    pub session_id: String,
    /// The `id` of one of the modes.
    pub mode_id: String,
}

/// A request to choose a value of a [`ConfigOption`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigRequest {
    /// The id that the session was opened with.
    pub session_id: String,
    /// The `id` of one of the options.
    pub config_id: String,
    /// The `value` to choose.
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
    /// All options, because a choice can change what others offer.
    pub config_options: Vec<ConfigOption>,
}

/// A prompt of the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptRequest {
    /// The id that the session was opened with.
    pub session_id: String,
    /// The content, in the order in which the user typed it.
    pub prompt: Vec<ContentBlock>,
}

/// The end of a turn.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptResponse {
    /// Why the turn ended, once all its updates were sent.
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
