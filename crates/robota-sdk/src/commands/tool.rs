//! Commands as tools, for the model.

use std::sync::Arc;

use async_trait::async_trait;
use robota_core::ids::SessionId;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::{CommandInfo, CommandRegistry, CommandSafety, SystemCommand};
use crate::interactive::OpenSessions;

/// The first part of the names of these tools.
const PREFIX: &str = "robota_command_";

/// Returns a tool for each command that the model may use. The gate judges their calls like those
/// of any tool.
pub(crate) fn command_tools(
    registry: &CommandRegistry,
    open: &OpenSessions,
    session: &SessionId,
) -> Vec<Arc<dyn Tool>> {
    registry
        .for_model()
        .map(|command| tool(command.clone(), open.clone(), session.clone()))
        .collect()
}

fn tool(command: Arc<dyn SystemCommand>, open: OpenSessions, session: SessionId) -> Arc<dyn Tool> {
    let info = command.info();
    let hint = info.argument_hint.clone().unwrap_or_default();
    let only_reads = only_reads(&info);
    let schema = json!({
        "type": "object",
        "properties": {"args": {"type": "string", "description": hint}},
        "additionalProperties": false,
    });
    let spec = ToolSpec {
        name: format!("{PREFIX}{}", info.name),
        description: info.description.clone(),
        input_schema: schema,
        // Of the calls that change something, or may; the others are judged as reading.
        class: if only_reads { Class::Inspect } else { Class::Modify },
    };
    let reading = ToolSpec { class: Class::Inspect, ..spec.clone() };
    Arc::new(CommandTool { info, spec, reading, command, open, session })
}

/// Returns whether a command only reads, with whatever arguments.
fn only_reads(info: &CommandInfo) -> bool {
    // One that changes something makes the whole tool one that may.
    info.safety == CommandSafety::ReadOnly && info.subcommands.iter().all(only_reads)
}

/// Returns the arguments of the command in those of the call.
fn arguments_of(input: &Value) -> &str {
    input.get("args").and_then(Value::as_str).unwrap_or_default()
}

struct CommandTool {
    info: CommandInfo,
    spec: ToolSpec,
    /// The description of a call that only reads.
    reading: ToolSpec,
    command: Arc<dyn SystemCommand>,
    open: OpenSessions,
    session: SessionId,
}

#[async_trait]
impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn judged_spec(&self, input: &Value) -> &ToolSpec {
        if self.info.only_reads(arguments_of(input)) { &self.reading } else { &self.spec }
    }

    async fn run(&self, input: Value, _: ToolContext) -> ToolOutcome {
        // The tool has no handle of the session: it is a part of one, and would keep it open.
        let Some(session) = self.open.get(&self.session) else {
            return ToolOutcome::not_run("unavailable", "the session is not open");
        };
        let result = self.command.execute(&session, arguments_of(&input)).await;
        let outcome = if result.success {
            ToolOutcome::ok(result.message)
        } else {
            ToolOutcome::failed("command_failed", result.message)
        };
        outcome.with_metadata("data", result.data)
    }
}
