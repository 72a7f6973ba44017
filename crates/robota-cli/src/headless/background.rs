//! What runs at the same time as the turns: hooks and background tasks. It decides when a host learns
//! that the run is idle.

use robota_core::ids::TaskId;
use robota_core::task::{TaskKind, TaskMode, TaskState};
use robota_sdk::TaskEvent;
use robota_stream_json::SessionStateText;
use tokio::sync::broadcast;

use super::drive::{Drive, Progress};
use super::hook_lines::{self, HookChange};
use super::sent::Sent;

/// What hosts still have to learn about tasks in the background, and about the end of the run.
#[derive(Debug, Default)]
pub(crate) struct Background {
    /// Whether the last turn has ended, and no line has said yet that the run is idle.
    pub(super) owes_idle: bool,
    /// Whether the last result is an error.
    pub(super) failed: bool,
    /// The tasks that were stopped before the last result, as people read them.
    stopped: Vec<String>,
}

impl Background {
    /// Returns the tasks that were stopped before the last result, as people read them.
    pub(crate) fn take_stopped(&mut self) -> Vec<String> {
        std::mem::take(&mut self.stopped)
    }
}

impl Drive {
    /// Says that the run is idle, once neither a turn nor an agent in the background runs. Hosts close
    /// standard input then, which ends the run and its tasks.
    pub(super) fn print_idle(&mut self, progress: &Progress) {
        let waits = !self.is_busy(progress) && self.after_turn.is_empty();
        let idle = waits && !self.agents_run() && !self.owes_turn(progress);
        if self.background.owes_idle && idle {
            self.background.owes_idle = false;
            // The ends of the tasks come before it.
            self.print_tasks();
            self.writer.state(SessionStateText::Idle);
        }
    }

    /// Stops the tasks in the background before the last result, if nothing more can come: their ends
    /// then come before it, so that the result is the last line.
    pub(super) async fn stop_tasks(&mut self, progress: &Progress) {
        // Messages that wait for a request are turns too: a manager of tasks that was closed never
        // starts another one.
        let held = self.after_turn.turns() > 0;
        let more = held || self.command.is_some() || self.from_host.is_some();
        let more = more || progress.inputs.0.iter().any(Sent::waits);
        let more = more || self.follow_ups.continues;
        let Some(tasks) = self.interactive.tasks() else { return };
        if more || !self.writer.is_on() {
            return;
        }
        let running = self.running_tasks();
        if !running.is_empty() {
            self.background.stopped.extend(running);
            tasks.shutdown().await;
            self.print_tasks();
        }
    }

    /// Prints what happened while the session ended.
    pub(crate) fn print_end(&mut self) {
        // Hosts explain the exit code by an error only if nothing but the state follows it.
        if !self.background.failed {
            self.print_hooks();
            // Tasks that still ran were stopped: hosts receive the end of each.
            self.print_tasks();
        }
        if std::mem::take(&mut self.background.owes_idle) {
            self.writer.state(SessionStateText::Idle);
        }
    }

    /// Prints what hooks did so far.
    pub(super) fn print_hooks(&mut self) {
        while let Ok(change) = self.hook_changes.try_recv() {
            self.print_hook(&change);
        }
    }

    pub(super) fn print_hook(&self, change: &HookChange) {
        hook_lines::print(change, &self.writer, &self.redactor);
    }

    /// Prints what happened to tasks so far.
    pub(super) fn print_tasks(&mut self) {
        use broadcast::error::TryRecvError;
        while let Some(next) = self.tasks.as_mut().map(broadcast::Receiver::try_recv) {
            match next {
                Ok(event) => self.projection.on_task(&event),
                // Lost changes cannot be printed any more; those after them still can.
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Returns whether an agent runs in the background. A command is no reason to wait: a server that
    /// was started never ends.
    pub(super) fn agents_run(&self) -> bool {
        self.unfinished().iter().any(|task| task.kind == TaskKind::Agent)
    }

    /// Returns the tasks of agents in the background.
    pub(super) fn running_agents(&self) -> Vec<TaskId> {
        let agents = self.unfinished().into_iter().filter(|task| task.kind == TaskKind::Agent);
        agents.map(|task| task.task).collect()
    }

    fn unfinished(&self) -> Vec<TaskState> {
        let mut tasks = self.interactive.tasks().map(|tasks| tasks.list()).unwrap_or_default();
        tasks.retain(|task| task.mode == TaskMode::Background && !task.status.is_terminal());
        tasks
    }

    /// Returns the background tasks that have not ended, as people read them.
    pub(crate) fn running_tasks(&self) -> Vec<String> {
        let name = |task: &TaskState| format!("{} ({})", task.task, task.label);
        self.unfinished().iter().map(name).collect()
    }
}

/// Waits for something that happens to a task. Returns none if something was lost.
pub(super) async fn next_task(
    tasks: &mut Option<broadcast::Receiver<TaskEvent>>,
) -> Option<Box<TaskEvent>> {
    let Some(events) = tasks else { return std::future::pending().await };
    match events.recv().await {
        Ok(event) => Some(Box::new(event)),
        // The text of tasks does not arrive here, and nothing else is that frequent.
        Err(broadcast::error::RecvError::Lagged(_)) => None,
        Err(broadcast::error::RecvError::Closed) => {
            *tasks = None;
            None
        }
    }
}
