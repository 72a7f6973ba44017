//! Tool calls as editors show them: a title, a kind, files, and changes of files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::v1::{ContentBlock, Location, ToolCallContent, ToolKind};

/// The length limit of a title.
const MAX_TITLE: usize = 200;

/// The size limit of a file whose change is shown with its old text.
const MAX_SHOWN_FILE: u64 = 1024 * 1024;

/// The arguments that name a file or folder.
const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// Returns the kind of a tool.
pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" => ToolKind::Read,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "ToolSearch" => ToolKind::Search,
        "Bash" | "BashOutput" | "KillShell" | "KillBash" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "TodoWrite" | "Agent" | "Task" => ToolKind::Think,
        "ExitPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// Returns what a call does, in a line.
pub(super) fn title(tool: &str, input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let title = match (tool, text("command")) {
        ("Bash", Some(command)) => format!("`{}`", command.lines().next().unwrap_or_default()),
        _ => {
            let mut about =
                ["file_path", "path", "pattern", "url", "query", "description", "prompt"]
                    .iter()
                    .filter_map(|name| text(name));
            match about.next() {
                Some(about) => format!("{tool} {}", about.lines().next().unwrap_or_default()),
                None => tool.to_owned(),
            }
        }
    };
    if title.chars().count() <= MAX_TITLE {
        return title;
    }
    title.chars().take(MAX_TITLE - 1).chain(['…']).collect()
}

/// Returns the files that a call is about, as absolute paths.
pub(super) fn locations(input: &Value, cwd: &Path) -> Vec<Location> {
    let named = PATHS.iter().find_map(|name| input.get(*name)?.as_str());
    let line = input.get("offset").and_then(Value::as_u64).and_then(|line| line.try_into().ok());
    let place = |path: &str| Location { path: cwd.join(path).display().to_string(), line };
    named.map(place).into_iter().collect()
}

/// Returns the changes that a call makes, as far as its arguments say: whole texts for Write, the
/// replaced parts for Edit.
pub(super) fn diffs(
    tool: &str,
    input: &Value,
    cwd: &Path,
    old: Option<String>,
) -> Vec<ToolCallContent> {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let Some(path) = text(input, "file_path") else { return Vec::new() };
    let path = cwd.join(path).display().to_string();
    let part = |edit: &Value| {
        let (old_text, new_text) = (text(edit, "old_string"), text(edit, "new_string")?);
        Some(ToolCallContent::Diff { path: path.clone(), old_text, new_text })
    };
    match tool {
        "Write" => match text(input, "content") {
            Some(new_text) => vec![ToolCallContent::Diff { path, old_text: old, new_text }],
            None => Vec::new(),
        },
        "Edit" => part(input).into_iter().collect(),
        "MultiEdit" => {
            let edits = input.get("edits").and_then(Value::as_array);
            edits.into_iter().flatten().filter_map(part).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the change of a whole file, whose old text is known. None if the arguments do not say
/// what the new text is.
pub(super) fn whole_diff(
    tool: &str,
    input: &Value,
    path: &str,
    old: Option<String>,
) -> Option<ToolCallContent> {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let edit = |old: String, edit: &Value| {
        let (from, to) = (text(edit, "old_string")?, text(edit, "new_string")?);
        let all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
        let found = !from.is_empty() && old.contains(&from);
        found.then(|| if all { old.replace(&from, &to) } else { old.replacen(&from, &to, 1) })
    };
    let new_text = match tool {
        "Write" => text(input, "content")?,
        "Edit" => edit(old.clone()?, input)?,
        "MultiEdit" => {
            let edits = input.get("edits")?.as_array()?;
            edits.iter().try_fold(old.clone()?, edit)?
        }
        _ => return None,
    };
    Some(ToolCallContent::Diff { path: path.to_owned(), old_text: old, new_text })
}

/// Reads the text that a Write call would replace, for the user who decides about it. Only files of
/// the workspace are read, and never through a link.
pub(super) async fn old_text(tool: &str, input: &Value, cwd: &Path) -> Option<String> {
    if tool != "Write" {
        return None;
    }
    let path = cwd.join(input.get("file_path")?.as_str()?);
    let cwd = cwd.to_owned();
    tokio::task::spawn_blocking(move || read_inside(&path, &cwd)).await.ok()?
}

fn read_inside(path: &Path, cwd: &Path) -> Option<String> {
    let real: PathBuf = path.canonicalize().ok()?;
    // `symlink_metadata` does not follow the link: a link to a secret must not appear in a
    // question.
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let shown = metadata.is_file() && metadata.len() <= MAX_SHOWN_FILE;
    let inside = real.starts_with(cwd.canonicalize().ok()?);
    (shown && inside).then(|| std::fs::read_to_string(real).ok())?
}

/// Returns the output of a call. Editors show it as Markdown, so that it is put into a code block.
pub(super) fn output(text: &str) -> ToolCallContent {
    // A fence longer than every run of backticks in the text cannot be closed by the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let content = ContentBlock::text(format!("{fence}\n{text}{end}{fence}"));
    ToolCallContent::Content { content }
}

#[cfg(test)]
mod tests;
