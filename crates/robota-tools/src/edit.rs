//! Edit: replaces text in a file.

use std::sync::Arc;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, resolve, schema_of};
use crate::diff::Difference;
use crate::error::FileError;
use crate::file::{Replacement, plan_edit};
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Replaces text in a file. Read the file first. old_string must match the \
    file exactly, including white space, without Read's line numbers, and must occur once: include \
    as many lines around it as needed, or set replace_all. The file keeps its line endings. Returns \
    a diff.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Absolute, or relative to the working directory.
    file_path: String,
    /// The text to replace.
    old_string: String,
    /// The text that replaces it.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: Option<bool>,
}

/// The tool Edit: replaces text in a file.
pub struct Edit {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl Edit {
    /// Creates the tool. It edits only files that were read in the same workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "Edit".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Modify,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn edit(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let path = resolve(&self.workspace.cwd, &input.file_path)?;
        let path = self.workspace.granted(&context.call, &path)?;
        let name = self.workspace.display_path(&path.given);
        let plan = move |log: &crate::read_log::ReadLog| {
            let seen = log.last_seen(&path.target);
            // A model that has not read the file would replace text that it only guesses.
            if seen.is_none() && path.target.exists() {
                return Err(FileError::NotRead { path: path.given });
            }
            let replacement = Replacement {
                old: &input.old_string,
                new: &input.new_string,
                all: input.replace_all.unwrap_or(false),
            };
            let (planned, locations) = plan_edit(&path, &[replacement], seen.as_ref())?;
            Ok((vec![planned], locations))
        };
        let (made, locations) = self.workspace.change(context, plan).await?;
        let mut diff = String::new();
        let (mut added, mut removed) = (0, 0);
        for (change, _) in &made {
            let before = change.before.as_deref().unwrap_or_default();
            let made = Difference::new(before, &change.after, &name);
            diff.push_str(&made.text);
            added += made.added;
            removed += made.removed;
        }
        let (line, count) =
            locations.first().map_or((0, 0), |location| (location.start_line, location.count));
        let more = if count == 1 { String::new() } else { format!(", {count} locations") };
        Ok(ToolOutcome::ok(format!("Edited {name} (line {line}{more})\n{diff}"))
            .with_metadata("file_path", name)
            .with_metadata("start_line", line)
            .with_metadata("replacements", count)
            .with_metadata("lines_added", added)
            .with_metadata("lines_removed", removed)
            .with_metadata("diff", diff))
    }
}

#[async_trait::async_trait]
impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        self.workspace.gate_file(call, input)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.edit(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
