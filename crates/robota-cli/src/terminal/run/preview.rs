//! What a call that needs approval would do: the changes of its file, or the parts of its command.

use std::path::{Path, PathBuf};

use robota_config::read_regular;
use robota_core::approve::Question;
use robota_sdk::ToolState;
use serde_json::Value;

use crate::commands::permissions::{judge, tree_lines};
use crate::setup::Setup;
use crate::terminal::diff;
use crate::terminal::event::{Asked, Preview};

/// The size above which a file is not compared.
const LIMIT: u64 = 4 * 1024 * 1024;

/// Prepares a question for the user.
pub(super) fn asked(question: Question, setup: &Setup) -> Asked {
    let Question { call, reason, rules, agent, .. } = question;
    let input = call.input.json().cloned().unwrap_or_default();
    let argument = ToolState::of(&call).first_argument;
    let preview = preview(&call.name, &input, setup);
    Asked { call: call.call, tool: call.name, argument, reason, rules, preview, agent }
}

fn preview(tool: &str, input: &Value, setup: &Setup) -> Preview {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let changed = match (tool, text("file_path")) {
        ("Edit", Some(path)) => edit(setup, path, std::slice::from_ref(input)),
        ("MultiEdit", Some(path)) => {
            let edits = input.get("edits").and_then(Value::as_array);
            edits.and_then(|edits| edit(setup, path, edits))
        }
        ("Write", Some(path)) => text("content").map(|new| {
            // A new file, or one that cannot be compared: all of its lines are shown as added.
            let old = read(setup, path).unwrap_or_default();
            let lines = diff::between(&old, new);
            Preview::Diff { path: path.to_owned(), lines }
        }),
        _ => None,
    };
    if let Some(changed) = changed {
        return changed;
    }
    if let ("ExitPlanMode", Some(plan)) = (tool, text("plan")) {
        return Preview::Plan(plan.to_owned());
    }
    match text("command") {
        Some(command) => {
            let explained = judge(&setup.policy, tool, input);
            let tree = match explained.commands.len() {
                // The parts of one command would only repeat it.
                0 | 1 => Vec::new(),
                _ => tree_lines(&explained.commands),
            };
            Preview::Command { command: command.to_owned(), tree }
        }
        None => Preview::Input(serde_json::to_string_pretty(input).unwrap_or_default()),
    }
}

/// Returns the changes of edits, if they fit the file.
fn edit(setup: &Setup, path: &str, edits: &[Value]) -> Option<Preview> {
    let old = read(setup, path)?;
    let mut new = old.clone();
    for edit in edits {
        let text = |key: &str| edit.get(key).and_then(Value::as_str);
        let (from, to) = (text("old_string")?, text("new_string")?);
        let all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
        // The call will fail. Its arguments are shown then, not a change that will not happen.
        if from.is_empty() || !new.contains(from) {
            return None;
        }
        new = if all { new.replace(from, to) } else { new.replacen(from, to, 1) };
    }
    Some(Preview::Diff { path: path.to_owned(), lines: diff::between(&old, &new) })
}

fn read(setup: &Setup, path: &str) -> Option<String> {
    let path = absolute(&setup.places.cwd, path);
    // The model may name a pipe, which must not block the terminal.
    String::from_utf8(read_regular(&path, LIMIT).ok()??).ok()
}

fn absolute(cwd: &Path, path: &str) -> PathBuf {
    cwd.join(path)
}
