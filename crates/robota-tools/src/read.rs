//! Read: lines of a text file, numbered.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, resolve, schema_of, whole_number};
use crate::blocking::blocking;
use crate::file::{DEFAULT_LINES, Range, read_window};
use crate::read_log::ReadLog;

const DESCRIPTION: &str = "Reads a text file and returns its lines, each with its number and a \
    tab before it. Returns up to 2000 lines from the start; use offset and limit for other parts \
    of a long file. Read a file before you edit it.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file: absolute, or relative to the working directory.
    file_path: String,
    /// The first line to read, counted from 1.
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<u64>,
    /// How many lines to read.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<u64>,
}

/// Reads text files.
pub struct Read {
    spec: ToolSpec,
    cwd: PathBuf,
    log: Arc<ReadLog>,
}

impl Read {
    /// A tool that resolves paths against `cwd` and notes in `log` what it read.
    pub fn new(cwd: impl Into<PathBuf>, log: Arc<ReadLog>) -> Self {
        let spec = ToolSpec {
            name: "Read".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, cwd: cwd.into(), log }
    }

    async fn read(&self, input: Value) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        let path = resolve(&self.cwd, &input.file_path)?;
        let range = Range {
            offset: input.offset.unwrap_or(1),
            limit: input.limit.unwrap_or(DEFAULT_LINES),
        };
        let log = self.log.clone();
        let window = blocking(move || {
            let window = read_window(&path, range)?;
            log.record(&path, window.stamp);
            Ok(window)
        })
        .await?;
        let outcome = ToolOutcome::ok(window.text)
            .with_metadata("file_path", input.file_path)
            .with_metadata("lines", window.lines);
        Ok(match window.total {
            Some(total) => outcome.with_metadata("total_lines", total),
            None => outcome,
        })
    }
}

#[async_trait::async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.read(input).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
