//! The background commands of a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_exec::Running;

/// The most commands that are kept, including ended ones. If there are more, the oldest ended one is
/// removed.
const MAX_COMMANDS: usize = 64;

/// The background commands of a session. Dropping the last handle ends all of them.
#[derive(Clone, Default)]
pub(crate) struct BackgroundCommands(Arc<Mutex<List>>);

#[derive(Default)]
struct List {
    /// How many commands were started; the number of the last id.
    started: u64,
    commands: Vec<Arc<BackgroundCommand>>,
}

/// One background command.
pub(crate) struct BackgroundCommand {
    pub(crate) id: String,
    pub(crate) command_line: String,
    pub(crate) running: Running,
    /// The offset up to which its output was returned to the model.
    pub(crate) shown: Mutex<u64>,
}

impl BackgroundCommands {
    pub(crate) fn add(&self, command_line: &str, running: Running) -> String {
        let mut list = self.list();
        list.started += 1;
        let id = format!("bash_{}", list.started);
        if list.commands.len() >= MAX_COMMANDS
            && let Some(ended) = list.commands.iter().position(|c| c.running.outcome().is_some())
        {
            list.commands.remove(ended);
        }
        list.commands.push(Arc::new(BackgroundCommand {
            id: id.clone(),
            command_line: command_line.to_owned(),
            running,
            shown: Mutex::new(0),
        }));
        id
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
