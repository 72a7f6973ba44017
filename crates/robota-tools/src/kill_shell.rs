//! KillShell: ends a background command.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{
    InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec, validate,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, rename_argument, schema_of};
use crate::bash_output::new_output;
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str =
    "Ends a background command and all it started, and returns its last output.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    bash_id: String,
}

/// The tool KillShell: ends a background command.
pub struct KillShell {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl KillShell {
    /// Creates the tool for the background commands of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "KillShell".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // It can end only commands that Bash was allowed to start in this session.
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn kill(&self, input: Value) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { bash_id } = parse(rename_argument(&input, "shell_id", "bash_id"))?;
        let command = self.workspace.background.get(&bash_id);
        let command = command.map_err(|error| ToolOutcome::not_run("not_found", error))?;
        command.running.kill();
        // `new_output` reports how it ended.
        let _ = command.running.ended().await;
        Ok(new_output(&command, &self.workspace))
    }
}

#[async_trait::async_trait]
impl Tool for KillShell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.spec.input_schema, &rename_argument(input, "shell_id", "bash_id"))
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.kill(input).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
