//! Commands that run in the background.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_exec::Running;

/// The most that are kept, the ended ones included: beyond it the oldest that ended goes.
const MOST: usize = 64;

/// The background commands of a session. Dropping the last handle ends them.
#[derive(Clone, Default)]
pub(crate) struct Shells(Arc<Mutex<List>>);

#[derive(Default)]
struct List {
    made: u64,
    shells: Vec<Arc<Shell>>,
}

/// One of them.
pub(crate) struct Shell {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) running: Running,
    /// How far its output was shown.
    pub(crate) shown: Mutex<u64>,
}

impl Shells {
    pub(crate) fn add(&self, command: &str, running: Running) -> String {
        let mut list = self.list();
        list.made += 1;
        let id = format!("bash_{}", list.made);
        if list.shells.len() >= MOST
            && let Some(over) = list.shells.iter().position(|s| s.running.outcome().is_some())
        {
            list.shells.remove(over);
        }
        list.shells.push(Arc::new(Shell {
            id: id.clone(),
            command: command.to_owned(),
            running,
            shown: Mutex::new(0),
        }));
        id
    }

    /// The one of that id, or what there is instead.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Shell>, String> {
        let list = self.list();
        if let Some(shell) = list.shells.iter().find(|shell| shell.id == id) {
            return Ok(shell.clone());
        }
        let known: Vec<_> = list.shells.iter().map(|shell| shell.id.as_str()).collect();
        Err(match known.is_empty() {
            true => format!("there is no background command `{id}`; none was started"),
            false => format!("there is no background command `{id}`; known: {}", known.join(", ")),
        })
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
