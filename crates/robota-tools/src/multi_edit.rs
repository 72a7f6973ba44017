//! MultiEdit: several edits, of several files, all or none.

use std::path::PathBuf;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, resolve, schema_of};
use crate::diff::unified;
use crate::error::FileError;
use crate::file::{Place, Planned, Replacement, plan_edit};
use crate::read_log::ReadLog;
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Makes several edits, as Edit does, in one or more files: all of them or \
    none. Edits of one file are made in order, each on what the one before left.";

/// More than this is no edit but a program.
const MOST: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    edits: Vec<One>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct One {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// Makes several edits at once.
pub struct MultiEdit {
    spec: ToolSpec,
    place: Workplace,
}

impl MultiEdit {
    /// A tool that edits only what was read in the same workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "MultiEdit".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Modify,
        };
        Self { spec, place: place.clone() }
    }

    async fn edit(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let Input { edits } = parse(input)?;
        if edits.is_empty() || edits.len() > MOST {
            return Err(InvalidInput(format!("give 1 to {MOST} edits")).into());
        }
        let files = by_file(&self.place, &edits)?;
        let total = edits.len();
        let (made, places) =
            self.place.change(context, move |log| plan(log, &edits, files)).await?;
        let mut text = format!("Made {total} edits in {} files\n", made.len());
        let mut told = Vec::new();
        for ((change, _), places) in made.iter().zip(places) {
            let name = self.place.shown(&change.path);
            let before = change.before.as_deref().unwrap_or_default();
            let diff = unified(before, &change.after, &name);
            text.push_str(&diff);
            told.push(serde_json::json!({
                "file_path": name,
                "start_lines": places.iter().map(|place| place.start_line).collect::<Vec<_>>(),
                "replacements": places.iter().map(|place| place.count).sum::<u64>(),
                "diff": diff,
            }));
        }
        Ok(ToolOutcome::ok(text).with_metadata("files", told))
    }
}

/// The edits of each file, by the file they really mean.
fn by_file(place: &Workplace, edits: &[One]) -> Result<Vec<(PathBuf, Vec<usize>)>, Early> {
    let mut files: Vec<(PathBuf, PathBuf, Vec<usize>)> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let path = resolve(&place.cwd, &edit.file_path)?;
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        match files.iter_mut().find(|(known, ..)| *known == real) {
            Some((_, _, edits)) => edits.push(index),
            None => files.push((real, path, vec![index])),
        }
    }
    Ok(files.into_iter().map(|(_, path, edits)| (path, edits)).collect())
}

fn plan(
    log: &ReadLog,
    edits: &[One],
    files: Vec<(PathBuf, Vec<usize>)>,
) -> Result<(Vec<Planned>, Vec<Vec<Place>>), FileError> {
    let (mut changes, mut places) = (Vec::new(), Vec::new());
    for (path, indices) in files {
        let seen = log.seen(&path);
        if seen.is_none() && path.exists() {
            return Err(FileError::NotRead { path });
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
        places.push(found);
    }
    Ok((changes, places))
}

#[async_trait::async_trait]
impl Tool for MultiEdit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.edit(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
