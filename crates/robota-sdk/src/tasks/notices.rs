//! Reports the end of a background task to the model once: with the result of its next tool call,
//! or with the next prompt.

use async_trait::async_trait;
use robota_core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision, PromptDecision,
};
use robota_core::ids::TaskId;
use robota_core::task::{TaskKind, TaskState, TaskStatus};
use robota_runtime::TaskManager;

/// The most characters of the output of a task that a report to the model contains.
const MAX_OUTPUT: usize = 8_000;

/// Adds the ends of tasks to tool results and prompts.
pub(crate) struct TaskNotices(pub(crate) TaskManager);

impl TaskNotices {
    async fn take(&self) -> Option<String> {
        // If the hook is dropped before it returns, the ends it took are reported with the next
        // one.
        let mut taken = Taken { manager: &self.0, tasks: Vec::new() };
        for task in self.0.unreported() {
            taken.tasks.push(task);
            let task = &taken.tasks[taken.tasks.len() - 1].task;
            // False if something else has reported it in the meantime.
            if !self.0.mark_reported(task).await {
                taken.tasks.pop();
            }
        }
        let notes: Vec<_> = std::mem::take(&mut taken.tasks).iter().map(notice).collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }
}

/// Tasks that are marked as reported. If the hook is cancelled before it returns their reports, they
/// are reported later.
struct Taken<'a> {
    manager: &'a TaskManager,
    tasks: Vec<TaskState>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for task in &self.tasks {
            self.manager.report_again(&task.task);
        }
    }
}

#[async_trait]
impl Hooks for TaskNotices {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::PostToolUse => true,
            HookPoint::UserPromptSubmit => !self.0.unreported().is_empty(),
            HookPoint::PreToolUse | HookPoint::PostToolBatch | HookPoint::Stop => false,
        }
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let context = self.take().await;
        match input {
            HookInput::UserPromptSubmit { .. } => {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }).into()
            }
            _ => HookReply {
                answer: HookAnswer::PostToolUse(PostToolDecision::Continue),
                context,
                stop: None,
            },
        }
    }
}

/// Describes how a task ended, in one line for people.
pub(crate) fn describe(task: &TaskState) -> String {
    let what = match task.kind {
        TaskKind::Agent => format!("agent {}", task.agent.as_deref().unwrap_or_default()),
        TaskKind::Process => "command".to_owned(),
    };
    let mut text = format!("{} ({what}: {}) ", task.task, task.label);
    match task.status {
        TaskStatus::Completed => text.push_str("completed"),
        TaskStatus::Cancelled => text.push_str("was cancelled"),
        TaskStatus::Failed => {
            text.push_str("failed");
            if let Some(error) = &task.error {
                text.push_str(&format!(": {}", error.message));
            }
        }
        other => text.push_str(other.name()),
    }
    if let Some(worktree) = &task.worktree {
        let (path, branch) = (&worktree.path, &worktree.branch);
        text.push_str(&format!("; its changes are in {path} on branch {branch}"));
    }
    text
}

/// What the report of a task begins with, before its id.
const START: &str = "<task-notification>\nBackground task ";

/// Returns whether a text contains the report of a task.
pub(crate) fn reports(text: &str, task: &TaskId) -> bool {
    text.contains(&format!("{START}{task} ("))
}

fn notice(task: &TaskState) -> String {
    let mut text = format!("{START}{}.", describe(task));
    let output = task.output.trim();
    if !output.is_empty() {
        // The end of the output says how the task ended.
        let start = output.chars().count().saturating_sub(MAX_OUTPUT);
        let end: String = output.chars().skip(start).collect();
        text.push_str(&format!("\nOutput:\n{end}"));
    }
    text.push_str("\n</task-notification>");
    text
}

#[cfg(test)]
mod tests;
