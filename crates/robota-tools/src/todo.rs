//! TodoWrite: the to-do list.

mod change;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::permission::Class;
use robota_core::tool::{
    InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec, validate,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, schema_of};
use crate::tool_workspace::ToolWorkspace;
use change::NumberedTodos;

const DESCRIPTION: &str = "Replaces the to-do list, which the user sees. For work of three steps or \
    more: one item in_progress at a time, completed as soon as it is done.";

/// The most items of the list. A longer one is no help to the user.
const MAX_ITEMS: usize = 100;

/// Says how far an item of the to-do list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Work on it has not started.
    Pending,
    /// It is worked on now; at most one item is.
    InProgress,
    /// It is done and needs no more work.
    Completed,
}

/// [`TodoStatus`] without the doc comments, which would only lengthen the schema for models.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its names count")]
enum StatusName {
    Pending,
    InProgress,
    Completed,
}

/// One item of the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "")]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// The status of the item.
    #[schemars(with = "StatusName", description = "")]
    pub status: TodoStatus,
    /// The item while it is in progress, for the user: `Running the tests`.
    #[serde(default, rename = "activeForm", skip_serializing_if = "Option::is_none")]
    #[schemars(description = "")]
    pub active_form: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    todos: Vec<Todo>,
}

/// The to-do list. Clones share one list, so a user interface can show it.
#[derive(Debug, Clone, Default)]
pub struct Todos {
    list: Arc<Mutex<NumberedTodos>>,
    /// Held while a call changes the list: the hooks of a call decide about the list as it is.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl Todos {
    /// Returns the list as it is now.
    #[must_use]
    pub fn list(&self) -> Vec<Todo> {
        self.lock().items.iter().map(|(_, todo)| todo.clone()).collect()
    }

    /// Replaces the list: when a session is resumed, or when the user edits it.
    pub fn set(&self, todos: Vec<Todo>) {
        let mut list = self.lock();
        *list = list.change(todos).list;
    }

    fn lock(&self) -> MutexGuard<'_, NumberedTodos> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tool TodoWrite: replaces the to-do list of the session.
pub struct TodoWrite {
    spec: Arc<ToolSpec>,
    todos: Todos,
}

impl TodoWrite {
    /// Creates the tool for the to-do list of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "TodoWrite".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // It changes nothing outside of the session.
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), todos: workspace.todos.clone() }
    }

    async fn write(
        &self,
        input: Value,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { todos } = parse(without_old_fields(input))?;
        if todos.len() > MAX_ITEMS {
            return Err(InvalidInput(format!("at most {MAX_ITEMS} items")).into());
        }
        if todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(InvalidInput("an item has no `content`".to_owned()).into());
        }
        let in_progress = todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
        // The list shows the user what happens now, which is one thing.
        if in_progress > 1 {
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
        // Held while hooks run. The lock of the list is not, because user interfaces take it to
        // draw.
        let _one_at_a_time = self.todos.changing.lock().await;
        let change = self.todos.lock().change(todos.clone());
        change.ask_hooks(context).await?;
        *self.todos.lock() = change.list;
        let text = if text.is_empty() { "[the list is empty]\n".to_owned() } else { text };
        let todos = serde_json::to_value(todos).unwrap_or_default();
        Ok(ToolOutcome::ok(text).with_metadata("todos", todos))
    }
}

/// Removes fields of items that older models send and that the list does not have.
fn without_old_fields(mut input: Value) -> Value {
    let items = input.get_mut("todos").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
        item.retain(|name, _| name != "id" && name != "priority");
    }
    input
}

#[async_trait::async_trait]
impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.spec.input_schema, &without_old_fields(input.clone()))
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.write(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
