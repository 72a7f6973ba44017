//! Background tasks: work that runs while the conversation continues. A task is a fold over its changes, like
//! the session itself: [`TaskState::apply`] is the only code that computes its state, in the manager
//! that runs tasks and at resume.

mod foreground;
mod group;
mod isolation;
mod list;
mod state;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use foreground::{ForegroundCall, ForegroundCalls, MoveRequest, NotMoved};
pub use group::{GroupChange, GroupState, GroupStatus, GroupSummary, WaitPolicy};
pub use isolation::Isolation;
pub use list::{MAX_ENDED, Tasks};
pub use state::{InvalidChange, TaskState, transition};

use crate::ids::{CallId, GroupId, SessionId};
use crate::usage::Usage;

/// What runs a task: an agent, or a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// An agent with a session of its own.
    Agent,
    /// A command that runs as a process of the operating system.
    Process,
}

impl TaskKind {
    /// Returns its name, as it is written in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Process => "process",
        }
    }
}

/// Whether a tool call waits for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskMode {
    /// The call that started it waits for its result.
    Foreground,
    /// No call waits for it; its end is reported to the model.
    #[default]
    Background,
}

/// Says what a task is doing, or how it ended; [`transition`] has the table of the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It waits for a free slot.
    Queued,
    /// It runs, and no call of it waits for approval.
    Running,
    /// It runs, and a call of it waits for approval.
    WaitingPermission,
    /// It ended by itself, with a result.
    Completed,
    /// It ended with an error: see [`TaskFinished::error`].
    Failed,
    /// A user, a caller or the end of the session cancelled it.
    Cancelled,
}

impl TaskStatus {
    /// Returns true if the task has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::WaitingPermission => false,
        }
    }

    /// Returns its name, as it is written in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingPermission => "waiting_permission",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The watchdog that ended a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutReason {
    /// It did nothing for too long.
    Idle,
    /// It ran longer than its limit.
    MaxRuntime,
    /// It wrote more text than its limit.
    OutputLimit,
    /// It wrote text in too many pieces.
    TextDeltas,
    /// It wrote the same text again and again.
    Repetition,
}

/// What kind of failure ended a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskErrorCategory {
    /// Its agent or program could not be started.
    Start,
    /// What runs it failed: the model service, or the exit code of a process.
    Runner,
    /// The agent or program that it ran as crashed.
    Crash,
    /// A watchdog ended it: see [`TimeoutReason`].
    Timeout,
    /// The process that ran it ended.
    Interrupted,
    /// The budget is used up, or a hook stopped it.
    Limit,
}

/// Why a task failed, and whether a new attempt can help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct TaskError {
    /// What kind of failure it is.
    pub category: TaskErrorCategory,
    /// What failed, in a sentence for people.
    pub message: String,
    /// Whether the same task may succeed later.
    pub recoverable: bool,
}

impl TaskError {
    /// Creates an error. Crashes, interruptions and timeouts are recoverable.
    pub fn new(category: TaskErrorCategory, message: impl Into<String>) -> Self {
        let recoverable = match category {
            TaskErrorCategory::Crash
            | TaskErrorCategory::Interrupted
            | TaskErrorCategory::Timeout => true,
            TaskErrorCategory::Start | TaskErrorCategory::Runner | TaskErrorCategory::Limit => {
                false
            }
        };
        Self { category, message: message.into(), recoverable }
    }
}

/// What the calls of one model used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskUsage {
    /// The id of the model that was called.
    pub model: String,
    /// The tokens of all these calls.
    pub usage: Usage,
    /// How many answers of the model were counted.
    pub calls: u64,
}

/// The worktree in which a task works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskWorktree {
    /// The absolute path of its folder.
    pub path: String,
    /// The branch that is checked out there.
    pub branch: String,
}

/// Records that a task was created, and what it is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSpawned {
    /// Whether an agent or a process runs it.
    pub kind: TaskKind,
    /// Whether a tool call waits for it.
    pub mode: TaskMode,
    /// What it does, in a few words.
    pub label: String,
    /// How many agents are above it; 1 for a task of the session itself.
    pub depth: u32,
    /// The tool call that started it; absent if a client did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The group it belongs to; absent if it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// The type of the agent; absent for a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The command line of a process, or the prompt of an agent, cut to a few hundred characters.
    pub input: String,
    /// What an agent may not do besides the limits of its definition. They hold again when it continues.
    #[serde(default, skip_serializing_if = "AgentLimits::is_empty")]
    pub limits: AgentLimits,
}

/// What an agent may not do besides the limits of its definition, such as the limits of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLimits {
    /// The only tools it has; absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that it does not have, and rules that deny its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl AgentLimits {
    /// Returns whether there are no limits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_none() && self.deny.is_empty()
    }
}

/// Where a task runs; what is absent is not known or did not change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPlace {
    /// The process id of a command, or of an agent in a process of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The session of an agent: its journal is the transcript. It is recorded before the session is
    /// created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The file with the text that it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The worktree in which an agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<TaskWorktree>,
    /// Whether a tool call waits for it from now on: a user moves a task to the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TaskMode>,
}

/// How a task ended, and what it returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFinished {
    /// How it ended: completed, failed or cancelled.
    pub status: TaskStatus,
    /// The last answer of an agent, or the end of the output of a process; a part of it if it is
    /// long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Why it failed; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// The watchdog that ended the task; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeoutReason>,
    /// The exit code of a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What its model calls used, by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<TaskUsage>,
    /// The worktree that was kept, because it has changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<TaskWorktree>,
}

impl TaskFinished {
    /// Returns an end without output.
    #[must_use]
    pub fn new(status: TaskStatus) -> Self {
        Self {
            status,
            output: String::new(),
            error: None,
            timeout: None,
            exit_code: None,
            usage: Vec::new(),
            worktree: None,
        }
    }

    /// Returns the end of a task that failed.
    #[must_use]
    pub fn failed(error: TaskError) -> Self {
        Self { error: Some(error), ..Self::new(TaskStatus::Failed) }
    }
}

/// Asks a user about a call of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskQuestion {
    /// The call. Its id is also the id of the approval.
    pub call: CallId,
    /// The name of the tool that the task wants to call.
    pub tool: String,
    /// The arguments with which the call would run.
    pub input: Value,
    /// Why the call needs approval, as the gate explains it.
    pub reason: String,
}

/// Records a change of a task: the one union of everything that happens to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TaskChange {
    /// It was created, and waits for a free slot.
    Spawned(TaskSpawned),
    /// It got a slot and runs.
    Started,
    /// It is known where it runs.
    Placed(TaskPlace),
    /// It starts a tool call; an agent may run several.
    ToolStarted {
        /// The tool and its most important argument.
        action: String,
    },
    /// A tool call of it ended.
    ToolEnded {
        /// What failed; absent if the call succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call of it waits for approval.
    PermissionAsked(TaskQuestion),
    /// The approval was given or denied.
    PermissionDecided {
        /// The call whose question was decided.
        call: CallId,
    },
    /// The task ended, with this result.
    Finished(TaskFinished),
    /// Its end was reported to the model.
    #[serde(rename = "told")]
    Reported,
    /// It was removed from the list.
    Closed,
}

#[cfg(test)]
mod tests;
