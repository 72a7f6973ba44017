//! What an agent reports while it works.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::ContentBlock;
use super::session::ConfigOption;

/// An update of a session.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification<'a> {
    /// The session.
    pub session_id: &'a str,
    /// What happened.
    pub update: &'a Update,
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Update {
    /// The user wrote something. Sent for earlier messages only.
    UserMessageChunk {
        /// What.
        content: ContentBlock,
        /// The message that it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model wrote something.
    AgentMessageChunk {
        /// What.
        content: ContentBlock,
        /// The message that it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model thought something.
    AgentThoughtChunk {
        /// What.
        content: ContentBlock,
        /// The message that it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model calls a tool.
    ToolCall(ToolCall),
    /// Something about a call changed. Fields that did not change are missing.
    ToolCallUpdate(ToolCall),
    /// The plan: the whole to-do list.
    Plan {
        /// Its entries.
        entries: Vec<PlanEntry>,
    },
    /// The commands that a prompt can start with.
    AvailableCommandsUpdate {
        /// All commands.
        available_commands: Vec<Command>,
    },
    /// The permission mode changed.
    CurrentModeUpdate {
        /// The mode in use.
        current_mode_id: String,
    },
    /// A choice changed.
    ConfigOptionUpdate {
        /// All choices.
        config_options: Vec<ConfigOption>,
    },
    /// The name of the session changed.
    SessionInfoUpdate {
        /// The name.
        title: String,
    },
    /// The use of the context window changed.
    UsageUpdate {
        /// The tokens in the window.
        used: u64,
        /// The size of the window.
        size: u64,
        /// The price of the session.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// A message for the user. Only for clients that understand it.
    Notice {
        /// `info`, `warning` or `error`.
        severity: &'static str,
        /// The message.
        title: String,
    },
    /// The conversation is compacted. Only for clients that understand it.
    CompactionUpdate {
        /// The compaction.
        compaction_id: String,
        /// `in_progress`, `completed` or `failed`.
        status: &'static str,
        /// The text that replaces the older messages.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<Vec<ContentBlock>>,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// What the session has cost so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The amount.
    pub amount: f64,
    /// The currency.
    pub currency: &'static str,
}

/// A tool call, or what changed about it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call.
    pub tool_call_id: String,
    /// What it does, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What kind of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolCallStatus>,
    /// What it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolCallContent>>,
    /// The files that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
}

/// What kind of tool a call uses, for the icon of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads.
    Read,
    /// Changes files.
    Edit,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Plans.
    Think,
    /// Reads from the network.
    Fetch,
    /// Changes the mode.
    SwitchMode,
    /// Anything else.
    Other,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// It has not started.
    Pending,
    /// It runs.
    InProgress,
    /// It succeeded.
    Completed,
    /// It failed, or was not allowed.
    Failed,
}

/// What a call shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolCallContent {
    /// Content.
    Content {
        /// The content.
        content: ContentBlock,
    },
    /// A change of a file.
    Diff {
        /// The file.
        path: String,
        /// The text before; none for a new file.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// The text after.
        new_text: String,
    },
    /// A terminal of the client.
    Terminal {
        /// Its id.
        terminal_id: String,
    },
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// One step of the plan that the editor shows: an entry of the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// How important it is.
    pub priority: Priority,
    /// How far it is.
    pub status: PlanStatus,
}

/// How important an entry of the plan is. To-do lists have no priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// As the others.
    Medium,
}

/// How far an entry of the plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not started.
    Pending,
    /// Started.
    InProgress,
    /// Done.
    Completed,
}

/// A command that a prompt can start with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

/// The arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandInput {
    /// What to type.
    pub hint: String,
}
