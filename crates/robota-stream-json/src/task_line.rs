//! The lines about background tasks.

use schemars::JsonSchema;
use serde::Serialize;

use crate::line::SystemTag;
use crate::tag::tag;

tag!(TaskStartedTag, "task_started");
tag!(TaskProgressTag, "task_progress");
tag!(TaskNotificationTag, "task_notification");

/// A background task started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskStartedLine<'a> {
    /// Names the type of the line.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// Names the subtype of the line.
    pub subtype: TaskStartedTag,
    /// The task's id, which `stop_task` takes.
    pub task_id: &'a str,
    /// The call that started it; absent if a user did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// What it does.
    pub description: &'a str,
    /// What runs it.
    pub task_type: TaskType,
    /// The session's id.
    pub session_id: &'a str,
    /// Unique per line.
    pub uuid: &'a str,
}

/// What runs a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskType {
    /// An agent.
    LocalAgent,
    /// A command.
    LocalBash,
}

/// An agent made a tool call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskProgressLine<'a> {
    /// Names the type of the line.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// Names the subtype of the line.
    pub subtype: TaskProgressTag,
    /// The task's id.
    pub task_id: &'a str,
    /// The call that started it; absent if a user did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// What it does now.
    pub description: &'a str,
    /// What it used so far.
    pub usage: TaskLineUsage,
    /// The tool that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_tool_name: Option<&'a str>,
    /// The session's id.
    pub session_id: &'a str,
    /// Unique per line.
    pub uuid: &'a str,
}

/// What a task used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskLineUsage {
    /// Tokens, sent and received; 0 until the task has ended.
    pub total_tokens: u64,
    /// Tool calls.
    pub tool_uses: u64,
    /// The time since it started, in milliseconds.
    pub duration_ms: u64,
}

/// A background task ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskNotificationLine<'a> {
    /// Names the type of the line.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// Names the subtype of the line.
    pub subtype: TaskNotificationTag,
    /// The task's id.
    pub task_id: &'a str,
    /// The call that started it; absent if a user did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// How it ended.
    pub status: TaskEndText,
    /// The file with the text that it wrote; empty if there is none.
    pub output_file: &'a str,
    /// How it ended.
    pub summary: &'a str,
    /// What it used.
    pub usage: TaskLineUsage,
    /// The session's id.
    pub session_id: &'a str,
    /// Unique per line.
    pub uuid: &'a str,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskEndText {
    /// With a result.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Stopped,
}
