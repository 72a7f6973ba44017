//! What a call changes in the to-do list, and what hooks decide about it.

use robota_core::hook::{EventDecision, HookData, HookEvent};
use robota_core::tool::{ToolContext, ToolOutcome};

use super::{Todo, TodoStatus};
use crate::arguments::EarlyOutcome;

/// The list with the numbers by which hooks know its items. An item keeps its number as long as the
/// list has an item with its text.
#[derive(Debug, Clone, Default)]
pub(super) struct NumberedTodos {
    pub(super) items: Vec<(u64, Todo)>,
    last: u64,
}

/// A change of the list.
pub(super) struct TodoChange {
    /// The list after the change.
    pub(super) list: NumberedTodos,
    /// What the hooks decide about.
    events: Vec<HookData>,
}

impl NumberedTodos {
    /// Returns the change to other items.
    pub(super) fn change(&self, todos: Vec<Todo>) -> TodoChange {
        let mut before = self.items.clone();
        let mut list = Self { items: Vec::with_capacity(todos.len()), last: self.last };
        let mut events = Vec::new();
        for todo in todos {
            let known = before.iter().position(|(_, item)| item.content == todo.content);
            let known = known.map(|at| before.remove(at));
            let number = known.as_ref().map_or_else(|| list.last + 1, |(number, _)| *number);
            list.last = list.last.max(number);
            let (task_id, task_subject) = (number.to_string(), todo.content.clone());
            if known.is_none() {
                let (task_id, task_subject) = (task_id.clone(), task_subject.clone());
                events.push(HookData::TaskCreated { task_id, task_subject });
            }
            let was_done = known.is_some_and(|(_, item)| item.status == TodoStatus::Completed);
            if todo.status == TodoStatus::Completed && !was_done {
                events.push(HookData::TaskCompleted { task_id, task_subject });
            }
            list.items.push((number, todo));
        }
        TodoChange { list, events }
    }
}

impl TodoChange {
    /// Runs the hooks about the items that are added and about those that are completed. The first
    /// block ends the call.
    pub(super) async fn ask_hooks(&self, context: &ToolContext) -> Result<(), EarlyOutcome> {
        let events = [HookEvent::TaskCreated, HookEvent::TaskCompleted];
        if !events.into_iter().any(|event| context.hooks.has_event(event)) {
            return Ok(());
        }
        for data in &self.events {
            let event = data.event();
            let report = tokio::select! {
                report = context.hooks.run_event(data.clone()) => report,
                () = context.scope.cancel.cancelled() => {
                    let text = format!("interrupted while {event} hooks ran");
                    return Err(ToolOutcome::failed("interrupted", text).into());
                }
            };
            if let EventDecision::Block { reason } = report.decision {
                let text = format!("{event} hook: {reason}\nThe to-do list stays as it was.\n");
                return Err(ToolOutcome::failed("blocked_by_hook", text).into());
            }
        }
        Ok(())
    }
}
