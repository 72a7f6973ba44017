//! BashOutput: the output of a background command since the last call.

use std::sync::Arc;
use std::sync::PoisonError;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use robota_exec::Exit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, schema_of};
use crate::background_commands::BackgroundCommand;
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str =
    "Returns the new output of a background command, and whether it still runs.";

/// The most output that one call returns; the next call continues there.
const MAX_SHOWN_BYTES: usize = 30_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    bash_id: String,
}

/// The tool BashOutput: returns what a background command printed since the last call.
pub struct BashOutput {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl BashOutput {
    /// Creates the tool for the background commands of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "BashOutput".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn output(&self, input: Value) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { bash_id } = parse(input)?;
        let background = &self.workspace.background;
        let error = match background.get(&bash_id) {
            Ok(command) => return Ok(new_output(&command, &self.workspace)),
            Err(error) => error,
        };
        match background.earlier_output(&bash_id, MAX_SHOWN_BYTES).await {
            Some(output) => Ok(earlier_output(&bash_id, output, &self.workspace)),
            None => Err(ToolOutcome::not_run("not_found", error).into()),
        }
    }
}

/// Returns what is left of a command of an earlier process: the end of its log.
fn earlier_output(id: &str, mut text: String, workspace: &ToolWorkspace) -> ToolOutcome {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("[it ended before this session was resumed; this is the end of its output]\n");
    workspace.background.end_reported(id);
    ToolOutcome::ok(text).with_metadata("bash_id", id).with_metadata("status", "ended")
}

/// Returns the output since the last call, and the state of the command.
pub(crate) fn new_output(command: &BackgroundCommand, workspace: &ToolWorkspace) -> ToolOutcome {
    // Read before the output: output that is written until the end is then returned by this call or
    // by the next one.
    let end = command.running.outcome();
    let mut shown = command.shown.lock().unwrap_or_else(PoisonError::into_inner);
    let chunk = command.running.log().read(*shown, MAX_SHOWN_BYTES);
    // Under the same lock as the read: two calls at the same time do not return the same output.
    *shown = chunk.next;
    let more = command.running.log().end() > chunk.next;
    drop(shown);
    let mut text = String::new();
    if chunk.skipped > 0 {
        text.push_str(&format!(
            "[{} bytes were dropped: they were not read in time]\n",
            chunk.skipped
        ));
    }
    text.push_str(&String::from_utf8_lossy(&chunk.bytes));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if chunk.bytes.is_empty() {
        text.push_str("[no new output]\n");
    }
    if more {
        text.push_str("[there is more: call BashOutput again]\n");
    }
    let (status, note) = match &end {
        None => ("running", "[still running]\n".to_owned()),
        Some(Ok(outcome)) => match outcome.exit {
            Exit::Code(code) => ("ended", format!("[ended with exit code {code}]\n")),
            Exit::Signal(signal) => ("ended", format!("[ended by signal {signal}]\n")),
            Exit::TimedOut | Exit::Cancelled => ("ended", "[it was ended]\n".to_owned()),
        },
        Some(Err(error)) => ("lost", format!("[{error}]\n")),
    };
    text.push_str(&note);
    // From now on the session need not report the end to the model by itself.
    if end.is_some() {
        workspace.background.end_reported(&command.id);
    }
    let outcome = ToolOutcome::ok(text)
        .with_metadata("bash_id", command.id.as_str())
        .with_metadata("command", command.command_line.as_str())
        .with_metadata("status", status);
    match end {
        Some(Ok(robota_exec::Outcome { exit: Exit::Code(code), .. })) => {
            outcome.with_metadata("exit_code", code)
        }
        _ => outcome,
    }
}

#[async_trait::async_trait]
impl Tool for BashOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.output(input).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
