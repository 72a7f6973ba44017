//! What agents cost: those that ended report it, the others are counted from their journals.

use std::collections::BTreeMap;

use robota_core::catalogue::Catalogue;
use robota_core::ids::{SessionId, TaskId};
use robota_core::journal::JournalStore;
use robota_core::task::TaskState;
use robota_sdk::Costs;

/// How many events are read at once.
const PAGE: usize = 1_000;

/// What tasks cost. What was read of a journal is kept, so that each event is read once.
#[derive(Debug, Clone, Default)]
pub(super) struct Spent(BTreeMap<TaskId, Counted>);

#[derive(Debug, Clone, Default)]
struct Counted {
    /// The last event that was counted.
    seq: u64,
    costs: Costs,
}

impl Spent {
    /// Reads what the running agents added to their journals. An unreadable journal counts nothing.
    pub(super) async fn update(&mut self, tasks: &[TaskState], store: &dyn JournalStore) {
        for task in tasks.iter().filter(|task| !task.status.is_terminal()) {
            if let Some(session) = &task.session {
                let counted = self.0.entry(task.task.clone()).or_default();
                counted.read(session, store).await;
            }
        }
    }

    /// Returns the dollars that a task cost; none for a process.
    pub(super) fn of(&self, task: &TaskState) -> Option<f64> {
        if task.status.is_terminal() {
            let cost = |used: &robota_core::task::TaskUsage| {
                Catalogue::builtin().cost(&used.model, used.usage).unwrap_or(0.0)
            };
            return (!task.usage.is_empty()).then(|| task.usage.iter().map(cost).sum());
        }
        self.0.get(&task.task).map(|counted| counted.costs.known_cost())
    }
}

impl Counted {
    async fn read(&mut self, session: &SessionId, store: &dyn JournalStore) {
        while let Ok(events) = store.read(session, self.seq, PAGE).await {
            for event in &events {
                self.seq = event.cursor().seq;
                self.costs.push(&event.event);
            }
            if events.len() < PAGE {
                return;
            }
        }
    }
}
