//! The state of one task, and the table of its transitions.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AgentLimits, TaskChange, TaskError, TaskFinished, TaskKind, TaskMode, TaskPlace, TaskQuestion,
    TaskSpawned, TaskStatus, TaskUsage, TaskWorktree, TimeoutReason,
};
use crate::ids::{CallId, GroupId, SessionId, TaskId};

/// Copies the state of a task; the copy does not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskState {
    /// The id that the model and users name it by.
    pub task: TaskId,
    /// Where it is in its life.
    pub status: TaskStatus,
    /// Whether an agent or a process runs it.
    pub kind: TaskKind,
    /// Whether a tool call waits for it.
    pub mode: TaskMode,
    /// What it does, in a few words.
    pub label: String,
    /// How many agents are above it.
    pub depth: u32,
    /// The tool call that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The group it belongs to; absent if it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// The type of the agent; absent for a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The command line, or the beginning of the prompt.
    pub input: String,
    /// What an agent may not do besides the limits of its definition.
    #[serde(default, skip_serializing_if = "AgentLimits::is_empty")]
    pub limits: AgentLimits,
    /// The process id, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The session of an agent, whose journal is the transcript; absent for a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The file with the text that it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Its worktree: while it runs, and later if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<TaskWorktree>,
    /// The tool call that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The calls that wait for approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<TaskQuestion>,
    /// When it was created, and began to wait for a slot.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// When it got a slot; absent while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub started: Option<Timestamp>,
    /// When it last changed. Reporting its end to the model does not count.
    #[schemars(with = "String")]
    pub last_activity: Timestamp,
    /// When it ended; absent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// Its result, or a part of it.
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
    /// The tokens that its model calls used so far, by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<TaskUsage>,
    /// Whether its end was reported to the model.
    #[serde(rename = "told", default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
}

/// A change that a task in this state cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task is {status}, which `{change}` does not fit", status = status.name())]
pub struct InvalidChange {
    /// The state of the task when the change arrived.
    pub status: TaskStatus,
    /// The name of the change, as the journal writes it.
    pub change: &'static str,
}

/// Returns the state after a change; none if a task in this state cannot have the change. This is
/// the whole table: nothing else decides about states.
#[must_use]
pub fn transition(status: TaskStatus, change: &TaskChange) -> Option<TaskStatus> {
    use TaskStatus::{Cancelled, Failed, Queued, Running, WaitingPermission};
    let running = matches!(status, Running | WaitingPermission);
    match change {
        TaskChange::Spawned(_) => None,
        TaskChange::Started => (status == Queued).then_some(Running),
        TaskChange::Placed(_) => (!status.is_terminal()).then_some(status),
        TaskChange::ToolStarted { .. } | TaskChange::ToolEnded { .. } => running.then_some(status),
        TaskChange::PermissionAsked(_) => running.then_some(WaitingPermission),
        TaskChange::PermissionDecided { .. } => (status == WaitingPermission).then_some(Running),
        TaskChange::Finished(end) => {
            let fits = match status {
                // What never ran has no result.
                Queued => matches!(end.status, Failed | Cancelled),
                Running | WaitingPermission => end.status.is_terminal(),
                TaskStatus::Completed | Failed | Cancelled => false,
            };
            fits.then_some(end.status)
        }
        TaskChange::Reported | TaskChange::Closed => status.is_terminal().then_some(status),
    }
}

impl TaskChange {
    /// Returns its name, as it is written in the journal.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Spawned(_) => "spawned",
            Self::Started => "started",
            Self::Placed(_) => "placed",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolEnded { .. } => "tool_ended",
            Self::PermissionAsked(_) => "permission_asked",
            Self::PermissionDecided { .. } => "permission_decided",
            Self::Finished(_) => "finished",
            Self::Reported => "told",
            Self::Closed => "closed",
        }
    }
}

impl TaskState {
    /// Returns the state of a new task.
    #[must_use]
    pub fn new(task: TaskId, spawned: &TaskSpawned, at: Timestamp) -> Self {
        let TaskSpawned { kind, mode, label, depth, call, group, agent, input, limits } =
            spawned.clone();
        Self {
            task,
            status: TaskStatus::Queued,
            kind,
            mode,
            label,
            depth,
            call,
            group,
            agent,
            input,
            limits,
            pid: None,
            session: None,
            log: None,
            worktree: None,
            action: None,
            questions: Vec::new(),
            created: at,
            started: None,
            last_activity: at,
            ended: None,
            output: String::new(),
            error: None,
            timeout: None,
            exit_code: None,
            usage: Vec::new(),
            reported: false,
        }
    }

    /// Applies a change.
    ///
    /// # Errors
    /// If a task in this state cannot have it; then the state stays as it is.
    pub fn apply(&mut self, change: &TaskChange, at: Timestamp) -> Result<(), InvalidChange> {
        let invalid = InvalidChange { status: self.status, change: change.name() };
        let mut next = transition(self.status, change).ok_or(invalid)?;
        // Reporting to the model is no activity of the task itself.
        if !matches!(change, TaskChange::Reported) {
            self.last_activity = at;
        }
        match change {
            TaskChange::Spawned(_) | TaskChange::Closed => {}
            TaskChange::Started => self.started = Some(at),
            TaskChange::Placed(place) => self.place(place),
            TaskChange::ToolStarted { action } => self.action = Some(action.clone()),
            TaskChange::ToolEnded { error } => self.action.clone_from(error),
            TaskChange::PermissionAsked(question) => self.questions.push(question.clone()),
            TaskChange::PermissionDecided { call } => {
                self.questions.retain(|question| question.call != *call);
                if !self.questions.is_empty() {
                    // An agent may ask several questions at once; it runs again when all are
                    // decided.
                    next = TaskStatus::WaitingPermission;
                }
            }
            TaskChange::Finished(end) => self.finish(end, at),
            TaskChange::Reported => self.reported = true,
        }
        self.status = next;
        Ok(())
    }

    fn place(&mut self, TaskPlace { pid, session, log, worktree, mode }: &TaskPlace) {
        // A place is reported piece by piece; what is absent stays as it was.
        self.pid = pid.or(self.pid);
        self.session = session.clone().or(self.session.take());
        self.log = log.clone().or(self.log.take());
        self.worktree = worktree.clone().or(self.worktree.take());
        self.mode = mode.unwrap_or(self.mode);
    }

    fn finish(&mut self, end: &TaskFinished, at: Timestamp) {
        self.ended = Some(at);
        self.action = None;
        self.questions.clear();
        self.output.clone_from(&end.output);
        self.error.clone_from(&end.error);
        self.timeout = end.timeout;
        self.exit_code = end.exit_code;
        self.usage.clone_from(&end.usage);
        // A worktree that is not named was removed, unless its state could not be read.
        let interrupted = end
            .error
            .as_ref()
            .is_some_and(|error| error.category == super::TaskErrorCategory::Interrupted);
        if !interrupted || end.worktree.is_some() {
            self.worktree.clone_from(&end.worktree);
        }
        // The result of the call reports the end to the model.
        self.reported |= self.mode == TaskMode::Foreground;
    }
}
