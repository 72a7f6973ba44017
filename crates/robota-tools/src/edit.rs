//! Edit: replaces text in a file that was read.

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, resolve, schema_of};
use crate::diff::unified;
use crate::error::FileError;
use crate::file::{Replacement, plan_edit};
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Replaces text in a file. Read the file first. old_string must be \
    exactly as in the file, white space included, without Read's line numbers, and must occur \
    once: give as many lines around it as that needs, or set replace_all. The file keeps its line \
    endings. Returns a diff.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Absolute, or relative to the working directory.
    file_path: String,
    /// The text to replace.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: Option<bool>,
}

/// Edits text files.
pub struct Edit {
    spec: ToolSpec,
    place: Workplace,
}

impl Edit {
    /// A tool that edits only what was read in the same workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "Edit".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Modify,
        };
        Self { spec, place: place.clone() }
    }

    async fn edit(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        let path = resolve(&self.place.cwd, &input.file_path)?;
        let name = self.place.shown(&path);
        let plan = move |log: &crate::read_log::ReadLog| {
            let seen = log.seen(&path);
            if seen.is_none() && path.exists() {
                return Err(FileError::NotRead { path });
            }
            let replacement = Replacement {
                old: &input.old_string,
                new: &input.new_string,
                all: input.replace_all.unwrap_or(false),
            };
            let (planned, places) = plan_edit(&path, &[replacement], seen.as_ref())?;
            Ok((vec![planned], places))
        };
        let (made, places) = self.place.change(context, plan).await?;
        let diff: String = made
            .iter()
            .map(|(change, _)| {
                unified(change.before.as_deref().unwrap_or_default(), &change.after, &name)
            })
            .collect();
        let (line, count) = places.first().map_or((0, 0), |place| (place.start_line, place.count));
        let more = if count == 1 { String::new() } else { format!(", {count} places") };
        Ok(ToolOutcome::ok(format!("Edited {name} (line {line}{more})\n{diff}"))
            .with_metadata("file_path", name)
            .with_metadata("start_line", line)
            .with_metadata("replacements", count)
            .with_metadata("diff", diff))
    }
}

#[async_trait::async_trait]
impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.edit(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
