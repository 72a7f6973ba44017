//! Formats tasks for the prompt: facts, no instructions.

use super::TaskFile;

/// Returns the tasks as Markdown; empty if there are none.
#[must_use]
pub fn format_tasks(tasks: &[&TaskFile]) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let mut text = "## Active Task Context\n".to_owned();
    for task in tasks {
        text.push_str(&format!("\n### {}\n\n", task.title));
        text.push_str(&format!("- Path: {}\n", crate::clean::shown(&task.path)));
        text.push_str(&format!("- Status: {}\n", task.status.name()));
        let fields =
            [("Branch", &task.branch), ("Scope", &task.scope), ("Objective", &task.objective)];
        for (name, value) in fields {
            if let Some(value) = value {
                text.push_str(&format!("- {name}: {value}\n"));
            }
        }
        if !task.open_items.is_empty() {
            text.push_str("- Open items:\n");
        }
        for item in &task.open_items {
            text.push_str(&format!("  - {item}\n"));
        }
    }
    text
}
