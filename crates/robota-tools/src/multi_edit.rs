//! MultiEdit: several edits in one or more files, all or none.

use std::sync::Arc;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{
    InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec, validate,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, resolve, schema_of};
use crate::diff::Difference;
use crate::error::FileError;
use crate::file::{EditLocation, PlannedChange, Replacement, ResolvedPath, plan_edit};
use crate::read_log::ReadLog;
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Makes several edits, as Edit does, in one or more files: all of them or \
    none. Edits of one file are made in order, each on the result of the one before.";

/// The most edits of one call; all files are held in memory until they are written.
const MAX_EDITS: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    edits: Vec<OneEdit>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct OneEdit {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// The tool MultiEdit: makes several edits in files, all or none.
pub struct MultiEdit {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl MultiEdit {
    /// Creates the tool. It edits only files that were read in the same workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "MultiEdit".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Modify,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn edit(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { edits } = parse(with_file_paths(&input))?;
        if edits.is_empty() || edits.len() > MAX_EDITS {
            return Err(InvalidInput(format!("pass 1 to {MAX_EDITS} edits")).into());
        }
        let files = by_file(&self.workspace, &context.call, &edits)?;
        let total = edits.len();
        let (made, locations) =
            self.workspace.change(context, move |log| plan(log, &edits, files)).await?;
        let mut text = format!("Made {total} edits in {} files\n", made.len());
        let mut metadata = Vec::new();
        let (mut added, mut removed) = (0, 0);
        for ((change, _), locations) in made.iter().zip(locations) {
            let name = self.workspace.display_path(&change.path.given);
            let before = change.before.as_deref().unwrap_or_default();
            let diff = Difference::new(before, &change.after, &name);
            text.push_str(&diff.text);
            added += diff.added;
            removed += diff.removed;
            metadata.push(serde_json::json!({
                "file_path": name,
                "start_lines": locations.iter().map(|location| location.start_line).collect::<Vec<_>>(),
                "replacements": locations.iter().map(|location| location.count).sum::<u64>(),
                "diff": diff.text,
            }));
        }
        Ok(ToolOutcome::ok(text)
            .with_metadata("files", metadata)
            .with_metadata("lines_added", added)
            .with_metadata("lines_removed", removed))
    }
}

/// Groups the edits by file. Paths that lead to the same file through links are one file.
fn by_file(
    workspace: &ToolWorkspace,
    call: &CallId,
    edits: &[OneEdit],
) -> Result<Vec<(ResolvedPath, Vec<usize>)>, EarlyOutcome> {
    let mut files: Vec<(ResolvedPath, Vec<usize>)> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let given = resolve(&workspace.cwd, &edit.file_path)?;
        // A path that was granted once cannot be taken again, so a repeated one is looked up here
        // first.
        if let Some((_, edits)) = files.iter_mut().find(|(path, _)| path.given == given) {
            edits.push(index);
            continue;
        }
        let path = workspace.granted(call, &given)?;
        match files.iter_mut().find(|(other, _)| other.target == path.target) {
            Some((_, edits)) => edits.push(index),
            None => files.push((path, vec![index])),
        }
    }
    Ok(files)
}

fn plan(
    log: &ReadLog,
    edits: &[OneEdit],
    files: Vec<(ResolvedPath, Vec<usize>)>,
) -> Result<(Vec<PlannedChange>, Vec<Vec<EditLocation>>), FileError> {
    let (mut changes, mut locations) = (Vec::new(), Vec::new());
    for (path, indices) in files {
        let seen = log.last_seen(&path.target);
        // A missing file gives a better error than one that was not read.
        if seen.is_none() && path.target.exists() {
            return Err(FileError::NotRead { path: path.given });
        }
        let replacements: Vec<_> = indices
            .iter()
            .filter_map(|index| edits.get(*index))
            .map(|edit| Replacement {
                old: &edit.old_string,
                new: &edit.new_string,
                all: edit.replace_all.unwrap_or(false),
            })
            .collect();
        let (planned, found) = plan_edit(&path, &replacements, seen.as_ref())?;
        changes.push(planned);
        locations.push(found);
    }
    Ok((changes, locations))
}

/// Copies a `file_path` next to `edits` into the edits that name no file: some models send it there,
/// because they know a tool that edits one file.
fn with_file_paths(input: &Value) -> Value {
    let mut input = input.clone();
    if let Value::Object(object) = &mut input
        && let Some(path) = object.remove("file_path")
        && let Some(edits) = object.get_mut("edits").and_then(Value::as_array_mut)
    {
        for edit in edits.iter_mut().filter_map(Value::as_object_mut) {
            edit.entry("file_path").or_insert_with(|| path.clone());
        }
    }
    input
}

#[async_trait::async_trait]
impl Tool for MultiEdit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.spec.input_schema, &with_file_paths(input))
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        let mut judged = with_file_paths(input);
        for edit in judged.get_mut("edits")?.as_array_mut()? {
            *edit = self.workspace.gate_file(call, edit)?;
        }
        Some(judged)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.edit(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
