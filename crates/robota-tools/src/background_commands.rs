//! The background commands of a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::ids::CallId;
use robota_core::task::{ForegroundCall, ForegroundCalls};
use robota_exec::{CommandSpec, ExecError, Running, Supervisor};

/// The most commands that are kept, including ended ones. If there are more, the oldest ended one is
/// removed.
const MAX_COMMANDS: usize = 64;

/// A background command that is about to start.
#[derive(Debug)]
pub struct NewCommand {
    /// The command line as the model wrote it.
    pub command_line: String,
    /// What it does, in a few words; the command line if the model did not say.
    pub label: String,
    /// The tool call that starts it; after a crash its processes are found by it.
    pub call: CallId,
    /// The program, with its directory, environment and sandbox.
    pub spec: CommandSpec,
}

/// A command that a call waited for, and that continues in the background.
#[derive(Debug)]
pub struct MovedCommand {
    /// The command line as the model wrote it.
    pub command_line: String,
    /// What it does, in a few words; the command line if the model did not say.
    pub label: String,
    /// The tool call that started it and now ends.
    pub call: CallId,
    /// The running program; its output so far is in its log.
    pub running: Running,
}

/// A background command that could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotStarted {
    /// The program could not be started; nothing ran.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// No task can be created now; the text is for the model.
    #[error("{0}")]
    Refused(String),
}

/// Runs background commands as tasks of the session, so that users see and end them like any other
/// task.
#[async_trait::async_trait]
pub trait CommandTasks: Send + Sync {
    /// Starts a command. Returns its id and the running program.
    ///
    /// # Errors
    /// If it cannot be started.
    async fn start(&self, command: NewCommand) -> Result<(String, Running), NotStarted>;

    /// Makes a task of a command that runs. Returns its id.
    ///
    /// # Errors
    /// If no task can be created now; the command still runs.
    async fn adopt(&self, command: MovedCommand) -> Result<String, NotStarted>;

    /// Returns the calls that wait for a command, which users can move to the background.
    fn foreground(&self) -> ForegroundCalls;

    /// Returns the end of the output of a command that ran in an earlier process of the session; none if
    /// there was no such command.
    async fn earlier_output(&self, id: &str, bytes: usize) -> Option<String>;

    /// Called when the end of the command was reported to the model.
    fn end_reported(&self, id: &str);
}

/// The background commands of a session. Dropping the last handle ends all of them.
#[derive(Clone, Default)]
pub(crate) struct BackgroundCommands {
    list: Arc<Mutex<List>>,
    tasks: Option<Arc<dyn CommandTasks>>,
}

#[derive(Default)]
struct List {
    /// How many commands were started; the number of the last id.
    started: u64,
    commands: Vec<Arc<BackgroundCommand>>,
}

pub(crate) struct BackgroundCommand {
    pub(crate) id: String,
    pub(crate) command_line: String,
    pub(crate) running: Running,
    /// The offset up to which its output was returned to the model.
    pub(crate) shown: Mutex<u64>,
}

impl BackgroundCommands {
    /// Returns the commands of a new session, which run as its tasks.
    pub(crate) fn of_tasks(tasks: Option<Arc<dyn CommandTasks>>) -> Self {
        Self { list: Arc::default(), tasks }
    }

    /// Starts a command, as a task if the session has tasks.
    pub(crate) async fn start(
        &self,
        command: NewCommand,
        supervisor: &Supervisor,
    ) -> Result<Arc<BackgroundCommand>, NotStarted> {
        let command_line = command.command_line.clone();
        let (id, running) = match &self.tasks {
            Some(tasks) => {
                let (id, running) = tasks.start(command).await?;
                (Some(id), running)
            }
            None => (None, supervisor.start(command.spec).await?),
        };
        Ok(self.add(id, &command_line, running))
    }

    /// Notes that a call waits for a command. None if there are no tasks of which it could become one.
    pub(crate) fn enter_foreground(&self, call: &CallId) -> Option<ForegroundCall> {
        self.tasks.as_ref().map(|tasks| tasks.foreground().enter(call))
    }

    /// Makes a background command of one that a call waited for. `shown` is the offset up to which the
    /// result of that call has its output.
    pub(crate) async fn adopt(
        &self,
        command: MovedCommand,
        shown: u64,
    ) -> Result<Arc<BackgroundCommand>, NotStarted> {
        let (command_line, running) = (command.command_line.clone(), command.running.clone());
        let id = match &self.tasks {
            Some(tasks) => Some(tasks.adopt(command).await?),
            None => None,
        };
        let added = self.add(id, &command_line, running);
        *added.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        Ok(added)
    }

    /// Returns the end of the output of a command that ran in an earlier process of the session.
    pub(crate) async fn earlier_output(&self, id: &str, bytes: usize) -> Option<String> {
        self.tasks.as_ref()?.earlier_output(id, bytes).await
    }

    /// Reports to the session that the model received the end of a command.
    pub(crate) fn end_reported(&self, id: &str) {
        if let Some(tasks) = &self.tasks {
            tasks.end_reported(id);
        }
    }

    fn add(
        &self,
        id: Option<String>,
        command_line: &str,
        running: Running,
    ) -> Arc<BackgroundCommand> {
        let mut list = self.list();
        // Never reused: a model may still name the id of a command that was removed.
        list.started += 1;
        let id = id.unwrap_or_else(|| format!("bash_{}", list.started));
        if list.commands.len() >= MAX_COMMANDS
            // A command that runs is never removed: without its id the model could not end it.
            && let Some(ended) = list.commands.iter().position(|c| c.running.outcome().is_some())
        {
            list.commands.remove(ended);
        }
        let command = Arc::new(BackgroundCommand {
            id,
            command_line: command_line.to_owned(),
            running,
            shown: Mutex::new(0),
        });
        list.commands.push(command.clone());
        command
    }

    /// Returns whether a command still runs.
    pub(crate) fn any_runs(&self) -> bool {
        self.list().commands.iter().any(|command| command.running.outcome().is_none())
    }

    /// Returns the command with that id.
    ///
    /// # Errors
    /// If it does not exist; the message lists the existing ids.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<BackgroundCommand>, String> {
        let list = self.list();
        if let Some(command) = list.commands.iter().find(|command| command.id == id) {
            return Ok(command.clone());
        }
        let ids: Vec<_> = list.commands.iter().map(|command| command.id.as_str()).collect();
        Err(match ids.is_empty() {
            true => format!("there is no background command `{id}`; none was started"),
            false => format!("there is no background command `{id}`; known: {}", ids.join(", ")),
        })
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
