//! The lines about background tasks.

use schemars::JsonSchema;
use serde::Serialize;

use crate::line::SystemTag;
use crate::tag::tag;

tag!(TaskStartedTag, "task_started");
tag!(TaskProgressTag, "task_progress");
tag!(TaskUpdatedTag, "task_updated");
tag!(TaskNotificationTag, "task_notification");
tag!(BackgroundTasksChangedTag, "background_tasks_changed");

/// A task started: an agent, or a command that runs in the background.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskStartedLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: TaskStartedTag,
    /// The task's id, which `stop_task` takes.
    pub task_id: &'a str,
    /// The call that started it; absent if a user did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// A short label: that of the call, or the command.
    pub description: &'a str,
    /// The name of the agent; absent for a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<&'a str>,
    /// Whether no call waits for it.
    pub is_backgrounded: bool,
    /// What runs it, which decides which lines can follow.
    pub task_type: TaskType,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// What runs a task; it decides which lines the task can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskType {
    /// A model with its own conversation; `task_progress` lines follow.
    LocalAgent,
    /// A command of the shell that runs in the background.
    LocalBash,
}

/// An agent made a tool call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskProgressLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: TaskProgressTag,
    /// The id of the `task_started` line.
    pub task_id: &'a str,
    /// The call that started it; absent if a user did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// The tool that it calls and the argument that describes the call best.
    pub description: &'a str,
    /// The name of the agent, which the model chose as `subagent_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<&'a str>,
    /// Tokens, calls and time from its start until this call.
    pub usage: TaskLineUsage,
    /// The name of the tool: the first word of `description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_tool_name: Option<&'a str>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// What a task used since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskLineUsage {
    /// Tokens, sent and received, so far; 0 for a command.
    pub total_tokens: u64,
    /// Tool calls that it started; a call that was denied never starts.
    pub tool_uses: u64,
    /// The time since it started, in milliseconds.
    pub duration_ms: u64,
}

/// A task ended, or the call that waited for it no longer does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskUpdatedLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: TaskUpdatedTag,
    /// The id of the `task_started` line.
    pub task_id: &'a str,
    /// The fields of the task that changed.
    pub patch: TaskPatch<'a>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// The changed fields of a task; absent ones stay as they were.
#[derive(Debug, Default, Serialize, JsonSchema)]
// Fields that did not change are left out: null would be a new value.
pub struct TaskPatch<'a> {
    /// How the task ended; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatusText>,
    /// When it ended, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<i64>,
    /// Why it failed, for a person; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// True when the call that waited for it no longer does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_backgrounded: Option<bool>,
}

/// The state of a task that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatusText {
    /// It ended with a result, which the model reads.
    Completed,
    /// It ended with a failure, which `error` names.
    Failed,
    /// A user, the host or the model stopped it.
    Killed,
}

/// The set of tasks in the background changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackgroundTasksChangedLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: BackgroundTasksChangedTag,
    /// All tasks that now run in the background, oldest first.
    pub tasks: Vec<BackgroundTask<'a>>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// A task that runs in the background.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackgroundTask<'a> {
    /// The id of the `task_started` line.
    pub task_id: &'a str,
    /// What runs the task: a model or the shell.
    pub task_type: TaskType,
    /// The name of the agent; absent for a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<&'a str>,
    /// A short label: that of the call, or the command.
    pub description: &'a str,
}

/// A task ended, in the background or not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskNotificationLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: TaskNotificationTag,
    /// The id of the `task_started` line.
    pub task_id: &'a str,
    /// The call that started it; absent if a user did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// How the task ended, for programs; `summary` says it for a person.
    pub status: TaskEndText,
    /// The file with the text that it wrote; empty if there is none.
    pub output_file: &'a str,
    /// The label and how it ended, for a person.
    pub summary: &'a str,
    /// Tokens, calls and time of the whole task.
    pub usage: TaskLineUsage,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// How a task ended, as hosts distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskEndText {
    /// With a result, which `output_file` or the call's result has.
    Completed,
    /// It failed; `summary` has the error.
    Failed,
    /// A user, the host or the model stopped it.
    Stopped,
}
