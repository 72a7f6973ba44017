//! TodoWrite: the list of things to do.

use std::sync::{Arc, Mutex, PoisonError};

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of};
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Replaces the list of things to do, which the user sees. For work of \
    three steps or more: one item in_progress at a time, completed as soon as it is done.";

/// More is no list but a plan.
const MOST: usize = 100;

/// How far an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Nobody works on it yet.
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Completed,
}

/// The same for models, who need no explanation.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its names count")]
enum StatusName {
    Pending,
    InProgress,
    Completed,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "")]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    #[schemars(with = "StatusName", description = "")]
    pub status: TodoStatus,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    todos: Vec<Todo>,
}

/// The list, shared with whoever shows it.
#[derive(Debug, Clone, Default)]
pub struct Todos(Arc<Mutex<Vec<Todo>>>);

impl Todos {
    /// The list as it is.
    #[must_use]
    pub fn list(&self) -> Vec<Todo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another in its place: when a session is opened again, or a user edits it.
    pub fn set(&self, todos: Vec<Todo>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = todos;
    }
}

/// Keeps the list.
pub struct TodoWrite {
    spec: ToolSpec,
    todos: Todos,
}

impl TodoWrite {
    /// A tool for the list of a workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "TodoWrite".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, todos: place.todos.clone() }
    }

    fn write(&self, input: Value) -> Result<ToolOutcome, Early> {
        let Input { todos } = parse(input)?;
        if todos.len() > MOST {
            return Err(InvalidInput(format!("at most {MOST} items")).into());
        }
        if todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(InvalidInput("an item has no `content`".to_owned()).into());
        }
        let working = todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
        if working > 1 {
            return Err(InvalidInput("only one item may be in_progress".to_owned()).into());
        }
        let text: String = todos
            .iter()
            .map(|todo| {
                let mark = match todo.status {
                    TodoStatus::Pending => ' ',
                    TodoStatus::InProgress => '>',
                    TodoStatus::Completed => 'x',
                };
                format!("[{mark}] {}\n", todo.content)
            })
            .collect();
        self.todos.set(todos.clone());
        let text = if text.is_empty() { "[the list is empty]\n".to_owned() } else { text };
        let todos = serde_json::to_value(todos).unwrap_or_default();
        Ok(ToolOutcome::ok(text).with_metadata("todos", todos))
    }
}

#[async_trait::async_trait]
impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.write(input).unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
