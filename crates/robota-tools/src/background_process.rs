//! BackgroundProcess: starts a command and returns at once (RUN-07). It is the command of
//! `Bash` with `run_in_background`, for agents that are used to this name.

use std::sync::Arc;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{EarlyOutcome, parse, schema_of};
use crate::bash::Bash;
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Starts a command in the background and returns its taskId at once. \
    BashOutput returns its output, KillShell ends it.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The command line.
    command: String,
    /// What the command does, in a few words.
    #[serde(default)]
    label: Option<String>,
}

/// The tool BackgroundProcess: starts a command and returns its task at once.
pub struct BackgroundProcess {
    spec: Arc<ToolSpec>,
    bash: Bash,
}

impl BackgroundProcess {
    /// Creates the tool. It shares the background commands of the workspace with Bash.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "BackgroundProcess".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        Self { spec: shared_spec(spec), bash: Bash::new(workspace) }
    }

    async fn start(
        &self,
        input: Value,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { command, label } = parse(input)?;
        if command.trim().is_empty() {
            return Err(InvalidInput("`command` is empty".to_owned()).into());
        }
        let started = self.bash.start_in_background(command.clone(), label, context).await;
        let Some(task) = started.metadata.get("bash_id").cloned() else { return Ok(started) };
        let result = json!({
            "success": true,
            "background": true,
            "output": "",
            "taskId": task,
            // The fields that agents know from a tool of this name.
            "status": "running",
            "command": command,
        });
        Ok(ToolOutcome::ok(result.to_string()).with_metadata("bash_id", task))
    }
}

#[async_trait::async_trait]
impl Tool for BackgroundProcess {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        self.bash.gate_input(call, input)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.start(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
