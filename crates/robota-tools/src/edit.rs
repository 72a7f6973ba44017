//! Edit: replaces text in a file that was read.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, resolve, schema_of};
use crate::blocking::blocking;
use crate::error::FileError;
use crate::file::{Replacement, edit_file};
use crate::read_log::ReadLog;

const DESCRIPTION: &str = "Replaces text in a file. Read the file first. old_string must be \
    exactly as in the file, white space included, without the line numbers that Read shows, and \
    must occur once: give as many lines around it as that needs, or set replace_all. Line endings \
    of the file are kept. Returns a diff.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file: absolute, or relative to the working directory.
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
    cwd: PathBuf,
    log: Arc<ReadLog>,
}

impl Edit {
    /// A tool that resolves paths against `cwd` and edits only what `log` knows as read.
    pub fn new(cwd: impl Into<PathBuf>, log: Arc<ReadLog>) -> Self {
        let spec = ToolSpec {
            name: "Edit".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Modify,
        };
        Self { spec, cwd: cwd.into(), log }
    }

    async fn edit(&self, input: Value) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        let path = resolve(&self.cwd, &input.file_path)?;
        let log = self.log.clone();
        let name = path.strip_prefix(&self.cwd).unwrap_or(&path).display().to_string();
        let shown = name.clone();
        let edited = blocking(move || {
            let _one_at_a_time = log.one_edit();
            let seen = log.seen(&path);
            if seen.is_none() && path.exists() {
                return Err(FileError::NotRead { path });
            }
            let replacement = Replacement {
                old: &input.old_string,
                new: &input.new_string,
                all: input.replace_all.unwrap_or(false),
            };
            let edited = edit_file(&path, &name, replacement, seen.as_ref())?;
            // Who wrote it knows what is there.
            log.record(&edited.path, edited.stamp);
            Ok(edited)
        })
        .await?;
        let places = match edited.count {
            1 => String::new(),
            count => format!(", {count} places"),
        };
        let text = format!("Edited {shown} (line {}{places})\n{}", edited.start_line, edited.diff);
        Ok(ToolOutcome::ok(text)
            .with_metadata("file_path", shown)
            .with_metadata("start_line", edited.start_line)
            .with_metadata("replacements", edited.count)
            .with_metadata("diff", edited.diff))
    }
}

#[async_trait::async_trait]
impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.edit(input).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
