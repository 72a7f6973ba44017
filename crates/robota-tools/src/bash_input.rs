//! BashInput: writes to the standard input of a background command.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, schema_of};
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str =
    "Writes to the standard input of a background command: end lines with \\n.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    bash_id: String,
    input: String,
}

/// The tool BashInput: writes to a background command.
pub struct BashInput {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl BashInput {
    /// Creates the tool for the background commands of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "BashInput".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // The input of a shell is a command.
            class: Class::Execute,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    fn write(&self, input: Value) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { bash_id, input } = parse(input)?;
        let command = self.workspace.background.get(&bash_id);
        let command = command.map_err(|error| ToolOutcome::not_run("not_found", error))?;
        // Asked before: writing to a pipe without a reader does not fail here, it is lost.
        if command.running.outcome().is_some() {
            return Err(ToolOutcome::not_run("ended", format!("{bash_id} has ended")).into());
        }
        let bytes = input.len();
        command.running.write(input);
        Ok(ToolOutcome::ok(format!("Wrote {bytes} bytes to {bash_id}\n")))
    }
}

#[async_trait::async_trait]
impl Tool for BashInput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.write(input).unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
