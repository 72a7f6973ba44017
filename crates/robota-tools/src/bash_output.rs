//! BashOutput: what a background command wrote since it was last asked.

use std::sync::PoisonError;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_exec::Exit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of};
use crate::shells::Shell;
use crate::workplace::Workplace;

const DESCRIPTION: &str =
    "Shows what a background command wrote since the last look, and whether it still runs.";

/// Shown at once; the next look goes on from there.
const MOST: usize = 30_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    bash_id: String,
}

/// Shows output of background commands.
pub struct BashOutput {
    spec: ToolSpec,
    place: Workplace,
}

impl BashOutput {
    /// A tool for the background commands of a workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "BashOutput".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, place: place.clone() }
    }

    fn look(&self, input: Value) -> Result<ToolOutcome, Early> {
        let Input { bash_id } = parse(input)?;
        let shell = self.place.shells.get(&bash_id);
        let shell = shell.map_err(|error| ToolOutcome::not_run("not_found", error))?;
        Ok(news(&shell))
    }
}

/// What it wrote since the last look.
pub(crate) fn news(shell: &Shell) -> ToolOutcome {
    // Before its output: what is written until it ends is then shown now or later, never lost.
    let end = shell.running.outcome();
    let mut shown = shell.shown.lock().unwrap_or_else(PoisonError::into_inner);
    let chunk = shell.running.log().read(*shown, MOST);
    *shown = chunk.next;
    let more = shell.running.log().end() > chunk.next;
    drop(shown);
    let mut text = String::new();
    if chunk.skipped > 0 {
        text.push_str(&format!("[{} bytes were not looked at in time]\n", chunk.skipped));
    }
    text.push_str(&String::from_utf8_lossy(&chunk.bytes));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if chunk.bytes.is_empty() {
        text.push_str("[nothing new]\n");
    }
    if more {
        text.push_str("[there is more: look again]\n");
    }
    let (status, note) = match &end {
        None => ("running", "[it runs]\n".to_owned()),
        Some(Ok(outcome)) => match outcome.exit {
            Exit::Code(code) => ("ended", format!("[ended with exit code {code}]\n")),
            Exit::Signal(signal) => ("ended", format!("[ended by signal {signal}]\n")),
            Exit::TimedOut | Exit::Cancelled => ("ended", "[it was ended]\n".to_owned()),
        },
        Some(Err(error)) => ("lost", format!("[{error}]\n")),
    };
    text.push_str(&note);
    let outcome = ToolOutcome::ok(text)
        .with_metadata("bash_id", shell.id.as_str())
        .with_metadata("command", shell.command.as_str())
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
        self.look(input).unwrap_or_else(|Early(outcome)| *outcome)
    }
}
