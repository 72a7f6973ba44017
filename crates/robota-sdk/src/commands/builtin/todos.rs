//! `/todos`: shows the to-do list of the model.

use async_trait::async_trait;
use robota_tools::TodoStatus;
use serde_json::json;

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::{InteractiveSession, todo_lists};

pub(super) struct Todos;

#[async_trait]
impl SystemCommand for Todos {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("todos", "Shows the to-do list of the model").reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let events = match session.journal_events().await {
            Ok(events) => events,
            Err(error) => return failed(&error),
        };
        let todos = todo_lists(&events).pop().unwrap_or_default();
        if todos.is_empty() {
            return CommandResult::ok("There is no to-do list.").with("todos", json!([]));
        }
        let lines = todos.iter().map(|todo| match todo.status {
            TodoStatus::Completed => format!("☑ {}", todo.content),
            TodoStatus::InProgress => format!("▸ {}", todo.content),
            TodoStatus::Pending => format!("☐ {}", todo.content),
        });
        CommandResult::ok(lines.collect::<Vec<_>>().join("\n")).with("todos", json!(todos))
    }
}
