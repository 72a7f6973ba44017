//! The to-do lists of a session, from its journal.

use std::collections::HashSet;

use robota_core::event::{Envelope, Event};
use robota_core::hook::HookEvent;
use robota_tools::{Todo, Todos};

use super::InteractiveSession;
use crate::error::SdkError;

/// The tool that sets the list.
const TODO_WRITE: &str = "TodoWrite";

/// Returns the lists that calls have set, oldest first.
pub(crate) fn todo_lists(events: &[Envelope]) -> Vec<Vec<Todo>> {
    let mut calls = HashSet::new();
    let mut lists = Vec::new();
    for envelope in events {
        match &envelope.event {
            Event::ToolCalled(called) if called.tool_use.name == TODO_WRITE => {
                calls.insert(&called.tool_use.call);
            }
            // A call that failed has not changed the list.
            Event::ToolFinished(done) if done.outcome.ok && calls.contains(&done.call) => {
                let list = done.outcome.metadata.get("todos").cloned();
                lists.extend(list.and_then(|list| serde_json::from_value(list).ok()));
            }
            _ => {}
        }
    }
    lists
}

impl InteractiveSession {
    /// Sets the list of a session that was resumed, so that hooks know its items by the numbers that
    /// they had.
    pub(super) async fn restore_todos(&self, todos: &Todos) -> Result<(), SdkError> {
        let config = self.session().config();
        let events = [HookEvent::TaskCreated, HookEvent::TaskCompleted];
        // Only hooks need it, and a long journal takes time to read.
        if !events.into_iter().any(|event| config.has_hooks(event)) {
            return Ok(());
        }
        for list in todo_lists(&self.journal_events().await?) {
            todos.set(list);
        }
        Ok(())
    }
}
