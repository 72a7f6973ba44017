//! What an agent reports while it works.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::ContentBlock;
use super::session::ConfigOption;

/// An update of a session.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification<'a> {
    /// The session that it happened in; a client can have several open.
    pub session_id: &'a str,
    /// One change; several are sent as several notifications.
    pub update: &'a Update,
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Update {
    /// The user wrote something. Sent for earlier messages only.
    UserMessageChunk {
        /// A piece of the message; pieces with the same `message_id` belong together.
        content: ContentBlock,
        /// The message that it belongs to; absent if there is no need to join pieces.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model wrote something.
    AgentMessageChunk {
        /// A piece of the answer.
        content: ContentBlock,
        /// The answer that it belongs to; absent for text that is not of the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model reasoned before it answered.
    AgentThoughtChunk {
        /// A piece of the reasoning.
        content: ContentBlock,
        /// The answer that the reasoning led to.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model calls a tool.
    ToolCall(ToolCall),
    /// Something about a call changed. Fields that did not change are missing.
    ToolCallUpdate(ToolCall),
    /// The plan: the whole to-do list.
    Plan {
        /// All entries; they replace those of the last update.
        entries: Vec<PlanEntry>,
    },
    /// The commands that a prompt can start with.
    AvailableCommandsUpdate {
        /// All commands; they replace those of the last update.
        available_commands: Vec<Command>,
    },
    /// The permission mode changed, by the client or by the agent.
    CurrentModeUpdate {
        /// The `id` of the mode in use.
        current_mode_id: String,
    },
    /// A choice changed without a request of the client.
    ConfigOptionUpdate {
        /// All choices; they replace those of the last update.
        config_options: Vec<ConfigOption>,
    },
    /// The name of the session changed.
    SessionInfoUpdate {
        /// The name that the session has from now on.
        title: String,
    },
    /// The use of the context window changed.
    UsageUpdate {
        /// The tokens of the last request, or an estimate before the first one.
        used: u64,
        /// The size of the window in tokens.
        size: u64,
        /// The price of the session; absent if no price of its model is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// A message for the user. Only for clients that understand it.
    Notice {
        /// `info`, `warning` or `error`.
        severity: &'static str,
        /// The message, in one line.
        title: String,
    },
    /// The conversation is compacted. Only for clients that understand it.
    CompactionUpdate {
        /// Joins the updates of one compaction.
        compaction_id: String,
        /// `in_progress`, `completed` or `failed`.
        status: &'static str,
        /// The text that replaces the older messages.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<Vec<ContentBlock>>,
        /// Why it failed; only with the status `failed`.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// What the session has cost so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The amount in whole units of the currency, not in cents.
    pub amount: f64,
    /// The currency by its ISO 4217 code; always `USD`, in which prices are listed.
    pub currency: &'static str,
}

/// A tool call, or what changed about it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id that joins the updates of one call.
    pub tool_call_id: String,
    /// What it does, in a line, as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What kind of tool it is, for the icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolCallStatus>,
    /// What it shows. It replaces what was shown before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolCallContent>>,
    /// The files that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Its arguments, as the model wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// Its result. Not sent: `content` has it in the form for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
}

/// What kind of tool a call uses, for the icon of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// The tool reads files.
    Read,
    /// The tool changes files.
    Edit,
    /// The tool searches in files or for files.
    Search,
    /// The tool runs a command.
    Execute,
    /// The tool plans, or passes work to another agent.
    Think,
    /// The tool reads from the network.
    Fetch,
    /// The tool changes the permission mode.
    SwitchMode,
    /// Anything else, tools of MCP servers among it.
    Other,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// It has not started.
    Pending,
    /// It runs; output may follow.
    InProgress,
    /// The call succeeded.
    Completed,
    /// It failed, or was not allowed.
    Failed,
}

/// What a call shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolCallContent {
    /// Text or an image.
    Content {
        /// What the editor shows as the output of the call.
        content: ContentBlock,
    },
    /// A change of a file.
    Diff {
        /// The absolute path of the file.
        path: String,
        /// The text before; none for a new file.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// The text after the change.
        new_text: String,
    },
    /// A terminal of the client.
    Terminal {
        /// What the creation of the terminal returned.
        terminal_id: String,
    },
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The absolute path of the file.
    pub path: String,
    /// The line, from 1; absent for the whole file.
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
    /// The only one: clients require a priority.
    Medium,
}

/// How far an entry of the plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// No work was done on it.
    Pending,
    /// The agent works on it now.
    InProgress,
    /// It needs no more work.
    Completed,
}

/// A command that a prompt can start with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, for the menu.
    pub description: String,
    /// Its arguments; absent if it takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

/// The arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandInput {
    /// What to type, as the menu shows it.
    pub hint: String,
}
