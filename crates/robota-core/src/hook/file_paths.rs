//! Makes the paths in the arguments of file tools absolute. Hooks compare them with folders, and do not
//! know the folder that a relative path starts at.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::{HookData, HookInput, HookToolCall};
use crate::message::{ToolInput, ToolUse};
use crate::paths::{PathKind, Paths};

/// The tools whose arguments name files.
const FILE_TOOLS: [&str; 9] =
    ["Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "Grep", "Glob", "LS"];

/// The arguments that are paths.
const PATH_FIELDS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// Makes the paths in the arguments of a file tool absolute: they start at `cwd`, as they do for the
/// tool, and have no `..`. Arguments of other tools stay as they are.
///
/// ```
/// use std::path::Path;
///
/// use robota_core::hook::absolute_paths;
///
/// let mut input = serde_json::json!({"file_path": "src/../README.md"});
/// absolute_paths("Read", &mut input, Path::new("/project"), None);
/// assert_eq!(input["file_path"], "/project/README.md");
/// ```
pub fn absolute_paths(tool: &str, input: &mut Value, cwd: &Path, paths: Option<&dyn Paths>) {
    let Value::Object(fields) = input else { return };
    if !FILE_TOOLS.contains(&tool) {
        return;
    }
    let make_absolute = |fields: &mut Map<String, Value>| {
        for name in PATH_FIELDS {
            if let Some(Value::String(path)) = fields.get_mut(name)
                && !path.is_empty()
            {
                *path = absolute(&cwd.join(path.as_str()), paths).display().to_string();
            }
        }
    };
    make_absolute(fields);
    // MultiEdit names a file in each edit.
    let edits = fields.get_mut("edits").and_then(Value::as_array_mut).into_iter().flatten();
    edits.filter_map(Value::as_object_mut).for_each(make_absolute);
}

/// Removes `.` and `..` from a path. Links are followed only where a `..` leaves their target: the
/// other parts keep the names that the user knows.
fn absolute(path: &Path, paths: Option<&dyn Paths>) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                let link = |paths: &&dyn Paths| paths.kind(&out) == PathKind::Link;
                if let Some(target) = paths.filter(link).and_then(|it| it.canonical(&out)) {
                    out = target;
                }
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

impl ToolUse {
    /// Makes the paths in the arguments absolute, as [`absolute_paths`] does.
    pub fn make_paths_absolute(&mut self, cwd: &Path, paths: Option<&dyn Paths>) {
        if let ToolInput::Json(input) = &mut self.input {
            absolute_paths(&self.name, input, cwd, paths);
        }
    }
}

impl HookInput {
    /// Makes the paths in the arguments of a call absolute, as [`absolute_paths`] does.
    pub fn make_paths_absolute(&mut self, cwd: &Path, paths: Option<&dyn Paths>) {
        match self {
            Self::PreToolUse { tool_use, .. } | Self::PostToolUse { tool_use, .. } => {
                tool_use.make_paths_absolute(cwd, paths);
            }
            Self::PostToolBatch { calls } => {
                for call in calls {
                    call.tool_use.make_paths_absolute(cwd, paths);
                }
            }
            Self::UserPromptSubmit { .. } | Self::Stop { .. } => {}
        }
    }
}

impl HookData {
    /// Makes the paths in the arguments of a call of a file tool absolute.
    pub(super) fn make_paths_absolute(&mut self, cwd: &Path, paths: Option<&dyn Paths>) {
        match self {
            Self::PreToolUse { tool_name, tool_input, .. }
            | Self::PermissionRequest { tool_name, tool_input, .. }
            | Self::PostToolUseFailure { tool_name, tool_input, .. } => {
                absolute_paths(tool_name, tool_input, cwd, paths);
            }
            Self::PostToolUse { tool_name, tool_input, tool_response, .. } => {
                absolute_paths(tool_name, tool_input, cwd, paths);
                name_file(tool_name, tool_input, tool_response);
            }
            Self::PostToolBatch { tool_calls } => {
                for HookToolCall { tool_name, tool_input, tool_response, .. } in tool_calls {
                    absolute_paths(tool_name, tool_input, cwd, paths);
                    name_file(tool_name, tool_input, tool_response);
                }
            }
            _ => {}
        }
    }
}

/// Adds the file of a file tool to its response, where hooks that were written for Claude Code look for it.
fn name_file(tool: &str, input: &Value, response: &mut Value) {
    if let (Some(path), true) = (input.get("file_path"), response.is_object())
        && FILE_TOOLS.contains(&tool)
    {
        response["filePath"] = path.clone();
    }
}

#[cfg(test)]
mod tests;
