//! Bash's background commands are tasks of the session.

use async_trait::async_trait;
use robota_core::ids::{CallId, TaskId};
use robota_core::task::{ForegroundCalls, TaskKind};
use robota_exec::{ExecError, Running};
use robota_runtime::{ProcessProgram, ProcessWork, TaskManager, TaskRequest, TaskWork};
use robota_tools::{CommandTasks, MovedCommand, NewCommand, NotStarted};
use tokio::sync::oneshot;

/// The bytes of a log that are read at a time.
const PAGE: usize = 256 * 1024;

pub(crate) struct TaskCommands(pub(crate) TaskManager);

impl TaskCommands {
    async fn spawn(
        &self,
        work: ProcessWork,
        label: String,
        call: CallId,
    ) -> Result<String, NotStarted> {
        let request = TaskRequest {
            // The call waits for the start, so it fails instead of waiting for a free slot.
            now: true,
            ..TaskRequest::new(TaskWork::Process(Box::new(work)), label).call(call)
        };
        let task = self.0.spawn(request).await;
        task.map(|task| task.to_string()).map_err(|error| NotStarted::Refused(error.to_string()))
    }
}

#[async_trait]
impl CommandTasks for TaskCommands {
    async fn start(&self, command: NewCommand) -> Result<(String, Running), NotStarted> {
        let NewCommand { command_line, label, call, spec } = command;
        let (started, running) = oneshot::channel();
        let program = ProcessProgram::Start { spec: Box::new(spec), started: Some(started) };
        let task = self.spawn(ProcessWork { command: command_line, program }, label, call).await?;
        let running = running.await.map_err(|_| NotStarted::Exec(ExecError::ShutDown))??;
        Ok((task, running))
    }

    async fn adopt(&self, command: MovedCommand) -> Result<String, NotStarted> {
        let MovedCommand { command_line, label, call, running } = command;
        let program = ProcessProgram::Running(running);
        self.spawn(ProcessWork { command: command_line, program }, label, call).await
    }

    fn foreground(&self) -> ForegroundCalls {
        self.0.foreground().clone()
    }

    async fn earlier_output(&self, id: &str, bytes: usize) -> Option<String> {
        let task = self.0.get(&TaskId::from(id)).ok()?;
        if task.kind != TaskKind::Process || !task.status.is_terminal() {
            return None;
        }
        let (mut text, mut offset) = (String::new(), 0);
        loop {
            // A log that is gone leaves the command known, with nothing to show.
            let Ok(page) = self.0.read_log(&task.task, offset, PAGE).await else { break };
            text.push_str(&page.text);
            let cut = text.len().saturating_sub(bytes);
            let cut = (cut..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.drain(..cut);
            if !page.more {
                break;
            }
            offset = page.next;
        }
        Some(text)
    }

    fn end_reported(&self, id: &str) {
        let (manager, task) = (self.0.clone(), TaskId::from(id));
        drop(tokio::spawn(async move {
            // The end is recorded a moment after the tool has seen it.
            if manager.wait(&task).await.is_ok() {
                manager.mark_reported(&task).await;
            }
        }));
    }
}
