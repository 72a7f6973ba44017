//! The to-do list of the model.

use robota_sdk::Entered;
use serde_json::Value;

use super::report::{self, Report};
use super::{Opening, work};
use crate::terminal::text::{Line, Role};

/// Opens the page and asks for the list.
pub(super) fn open() -> Opening {
    report::open(work(|context| async move {
        Report(match context.session.enter("/todos").await {
            Ok(Entered::Command(result)) if result.success => Ok(lines(
                result.data.get("todos").and_then(Value::as_array).map_or(&[], Vec::as_slice),
            )),
            Ok(Entered::Command(result)) => Err(result.message),
            Ok(Entered::Submitted(_)) => Err("/todos is no command".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }))
}

/// Renders the list.
pub(super) fn lines(todos: &[Value]) -> Vec<Line> {
    let text = |todo: &Value, key: &str| {
        todo.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let done = todos.iter().filter(|todo| text(todo, "status") == "completed").count();
    let title = format!("To-do list: {done} of {} done", todos.len());
    let mut lines = vec![Line::new(title, Role::Accent), Line::default()];
    if todos.is_empty() {
        lines.push(Line::new("The model has no to-do list.", Role::Dim));
    }
    for todo in todos {
        let (sign, role) = match text(todo, "status").as_str() {
            "completed" => ("☑", Role::Dim),
            "in_progress" => ("▸", Role::Accent),
            _ => ("☐", Role::Text),
        };
        lines.push(Line::new(format!("{sign} {}", text(todo, "content")), role));
    }
    lines
}
