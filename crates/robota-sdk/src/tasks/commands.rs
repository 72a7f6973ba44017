//! Bash's background commands are tasks of the session.

use async_trait::async_trait;
use robota_core::ids::TaskId;
use robota_exec::{ExecError, Running};
use robota_runtime::{ProcessWork, TaskManager, TaskRequest, TaskWork};
use robota_tools::{CommandTasks, NewCommand, NotStarted};
use tokio::sync::oneshot;

/// Starts background commands as tasks.
pub(crate) struct TaskCommands(pub(crate) TaskManager);

#[async_trait]
impl CommandTasks for TaskCommands {
    async fn start(&self, command: NewCommand) -> Result<(String, Running), NotStarted> {
        let NewCommand { command_line, label, call, spec } = command;
        let (started, running) = oneshot::channel();
        let work = ProcessWork { command: command_line, spec, started: Some(started) };
        let request = TaskRequest {
            now: true,
            ..TaskRequest::new(TaskWork::Process(Box::new(work)), label).call(call)
        };
        let task = self.0.spawn(request).await;
        let task = task.map_err(|error| NotStarted::Refused(error.to_string()))?;
        let running = running.await.map_err(|_| NotStarted::Exec(ExecError::ShutDown))??;
        Ok((task.to_string(), running))
    }

    fn end_reported(&self, id: &str) {
        let (manager, task) = (self.0.clone(), TaskId::from(id));
        drop(tokio::spawn(async move {
            if manager.wait(&task).await.is_ok() {
                manager.mark_reported(&task).await;
            }
        }));
    }
}
