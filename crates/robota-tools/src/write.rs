//! Write: writes a whole file.

use std::sync::Arc;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, resolve, schema_of};
use crate::diff::Difference;
use crate::file::plan_write;
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Writes a whole file and creates its parent folders. A file that exists \
    must be Read first; it keeps its mode, encoding and line endings. To change a part, use Edit.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Absolute, or relative to the working directory.
    file_path: String,
    /// The whole content.
    content: String,
}

/// The tool Write: writes a whole file.
pub struct Write {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl Write {
    /// Creates the tool. It replaces only files that were read in the same workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "Write".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Modify,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn write(
        &self,
        input: Value,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let path = resolve(&self.workspace.cwd, &input.file_path)?;
        let path = self.workspace.granted(&context.call, &path)?;
        let name = self.workspace.display_path(&path.given);
        let plan = move |log: &crate::read_log::ReadLog| {
            let seen = log.last_seen(&path.target);
            Ok((vec![plan_write(&path, &input.content, seen.as_ref())?], ()))
        };
        let (made, ()) = self.workspace.change(context, plan).await?;
        let mut text = String::new();
        let mut outcome = ToolOutcome::ok("");
        for (change, stamp) in &made {
            let verb = if change.before.is_some() { "Wrote" } else { "Created" };
            text = format!("{verb} {name} ({} bytes)\n", stamp.len);
            let (added, removed) = match &change.before {
                None => (line_count(&change.after), 0),
                Some(before) => {
                    let diff = Difference::new(before, &change.after, &name);
                    text.push_str(&diff.text);
                    outcome = outcome.with_metadata("diff", diff.text);
                    (diff.added, diff.removed)
                }
            };
            outcome = outcome
                .with_metadata("lines_added", added)
                .with_metadata("lines_removed", removed)
                .with_metadata("bytes", stamp.len)
                .with_metadata("created", change.before.is_none());
        }
        outcome.content = ToolOutcome::ok(text).content;
        Ok(outcome.with_metadata("file_path", name))
    }
}

/// Returns the number of lines of a file; the last one may have no end.
fn line_count(content: &[u8]) -> u64 {
    let ends = content.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(content.last().is_some_and(|byte| *byte != b'\n'))
}

#[async_trait::async_trait]
impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        self.workspace.gate_file(call, input)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.write(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
