//! Lines about background tasks.

use std::collections::HashMap;

use robota_core::ids::TaskId;
use robota_core::task::{TaskChange, TaskKind, TaskMode, TaskState, TaskStatus};
use robota_sdk::TaskEvent;
use robota_stream_json::{
    BackgroundTask, BackgroundTasksChangedLine, TaskEndText, TaskLineUsage, TaskNotificationLine,
    TaskPatch, TaskProgressLine, TaskStartedLine, TaskStatusText, TaskType, TaskUpdatedLine,
    TokenUsage,
};

use super::Projection;
use crate::headless::tool_output::AgentTotals;
use crate::output;

/// What is known of tasks that have not ended.
#[derive(Debug, Default)]
pub(super) struct ShownTasks(
    pub(super) HashMap<TaskId, ShownTask>,
    /// Those that run in the background, oldest first.
    Vec<TaskState>,
);

#[derive(Debug, Default)]
pub(super) struct ShownTask {
    /// The call that started it.
    pub(super) tool_use_id: Option<String>,
    /// The name of an agent.
    pub(super) agent: Option<String>,
    /// What it does.
    pub(super) label: String,
    tool_uses: u64,
    /// The tokens of an agent's answers so far.
    pub(super) tokens: u64,
    /// The model of an agent.
    pub(super) model: String,
    /// The usage of an agent's last answer.
    pub(super) usage: TokenUsage,
}

impl Projection {
    /// Takes something that happened to a task.
    pub(crate) fn on_task(&mut self, event: &TaskEvent) {
        let (state, change) = match event {
            TaskEvent::Changed { state, change } => (state, change),
            TaskEvent::Agent { task, envelope } => return self.agent_event(task, envelope),
            // Hosts read the output with `get_task_output`, and know no groups.
            TaskEvent::Text { .. } | TaskEvent::Group { .. } => return,
        };
        match &**change {
            TaskChange::Spawned(_) => {
                let call = state.call.as_ref().and_then(|call| self.calls.get(call));
                let tool_use_id = call.map(|call| call.tool_use.public_id().to_owned());
                let (agent, label) = (state.agent.clone(), state.label.clone());
                let shown = ShownTask { tool_use_id, agent, label, ..ShownTask::default() };
                self.tasks.0.insert(state.task.clone(), shown);
            }
            TaskChange::Started => {
                self.background_task(state);
                self.task_started(state);
            }
            TaskChange::ToolStarted { action } => self.task_progress(state, action),
            TaskChange::Finished(_) => self.task_ended(state),
            // A task that waits for a slot is no live one yet.
            TaskChange::Placed(place) => {
                if place.mode == Some(TaskMode::Background) && state.started.is_some() {
                    let patch = TaskPatch { is_backgrounded: Some(true), ..TaskPatch::default() };
                    self.task_updated(state, patch);
                    self.background_task(state);
                }
            }
            TaskChange::ToolEnded { .. }
            | TaskChange::PermissionAsked(_)
            | TaskChange::PermissionDecided { .. }
            | TaskChange::Reported
            | TaskChange::Closed => {}
        }
    }

    /// Adds a task in the background to those that run.
    fn background_task(&mut self, task: &TaskState) {
        let known = self.tasks.1.iter().any(|known| known.task == task.task);
        if task.mode == TaskMode::Background && !known && !task.status.is_terminal() {
            self.tasks.1.push(task.clone());
            self.background_tasks_changed();
        }
    }

    fn background_tasks_changed(&self) {
        let tasks = self.tasks.1.iter().map(|task| BackgroundTask {
            task_id: task.task.as_str(),
            task_type: task_type(task),
            subagent_type: task.agent.as_deref(),
            description: &task.label,
        });
        self.writer.print(&BackgroundTasksChangedLine {
            kind: Default::default(),
            subtype: Default::default(),
            tasks: tasks.collect(),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    fn task_updated(&self, task: &TaskState, patch: TaskPatch<'_>) {
        self.writer.print(&TaskUpdatedLine {
            kind: Default::default(),
            subtype: Default::default(),
            task_id: task.task.as_str(),
            patch,
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    fn task_started(&self, task: &TaskState) {
        let shown = self.tasks.0.get(&task.task);
        self.writer.print(&TaskStartedLine {
            kind: Default::default(),
            subtype: Default::default(),
            task_id: task.task.as_str(),
            tool_use_id: shown.and_then(|shown| shown.tool_use_id.as_deref()),
            description: &task.label,
            subagent_type: task.agent.as_deref(),
            is_backgrounded: task.mode == TaskMode::Background,
            task_type: task_type(task),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    fn task_progress(&mut self, task: &TaskState, action: &str) {
        if self.shown.progress {
            output::progress(&format!("{}: {action}", task.label));
        }
        let shown = self.tasks.0.entry(task.task.clone()).or_default();
        shown.tool_uses += 1;
        let usage = usage(task, shown);
        self.writer.print(&TaskProgressLine {
            kind: Default::default(),
            subtype: Default::default(),
            task_id: task.task.as_str(),
            tool_use_id: shown.tool_use_id.as_deref(),
            description: action,
            subagent_type: task.agent.as_deref(),
            usage,
            // An action is the name of the tool, and then its argument.
            last_tool_name: action.split(' ').next(),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    fn task_ended(&mut self, task: &TaskState) {
        let shown = self.tasks.0.remove(&task.task).unwrap_or_default();
        if let (TaskKind::Agent, Some(call)) = (task.kind, &task.call) {
            let totals = AgentTotals {
                task: task.clone(),
                model: shown.model.clone(),
                usage: usage(task, &shown),
            };
            self.ended_agents.entry(call.clone()).or_default().push(totals);
        }
        let error = task.error.as_ref().map(|error| error.message.as_str());
        let (status, state, outcome) = match task.status {
            TaskStatus::Completed => {
                (TaskEndText::Completed, TaskStatusText::Completed, "completed".to_owned())
            }
            TaskStatus::Cancelled => {
                (TaskEndText::Stopped, TaskStatusText::Killed, "was stopped".to_owned())
            }
            _ => {
                let outcome = format!("failed: {}", error.unwrap_or_default());
                (TaskEndText::Failed, TaskStatusText::Failed, outcome)
            }
        };
        let end_time = task.ended.map(jiff::Timestamp::as_millisecond);
        let patch = TaskPatch { status: Some(state), end_time, error, ..TaskPatch::default() };
        self.task_updated(task, patch);
        self.writer.print(&TaskNotificationLine {
            kind: Default::default(),
            subtype: Default::default(),
            task_id: task.task.as_str(),
            tool_use_id: shown.tool_use_id.as_deref(),
            status,
            output_file: task.log.as_deref().unwrap_or_default(),
            summary: &format!("{} {outcome}", task.label),
            usage: usage(task, &shown),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
        let running = self.tasks.1.len();
        self.tasks.1.retain(|known| known.task != task.task);
        if self.tasks.1.len() < running {
            self.background_tasks_changed();
        }
    }
}

fn task_type(task: &TaskState) -> TaskType {
    match task.kind {
        TaskKind::Agent => TaskType::LocalAgent,
        TaskKind::Process => TaskType::LocalBash,
    }
}

fn usage(task: &TaskState, shown: &ShownTask) -> TaskLineUsage {
    let end = task.ended.unwrap_or(task.last_activity);
    let time = end.duration_since(task.started.unwrap_or(task.created));
    TaskLineUsage {
        // The end has them all, also those of compactions.
        total_tokens: task
            .usage
            .iter()
            .map(|used| used.usage.total())
            .sum::<u64>()
            .max(shown.tokens),
        tool_uses: shown.tool_uses,
        duration_ms: u64::try_from(time.as_millis()).unwrap_or(0),
    }
}
