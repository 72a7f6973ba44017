//! Bash: runs a command line.

use std::path::PathBuf;
use std::time::Duration;

use robota_core::error::Diagnose as _;
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Ran, Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_exec::{
    Environment, ExecError, Exit, Limits, Outcome, ShellCommand, Streams, Supervisor,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of, whole_number};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MOST_TIMEOUT_MS: u64 = 600_000;
/// What a model is shown: enough of both ends to work with.
const LIMITS: Limits = Limits { head: 15_000, tail: 15_000 };

const DESCRIPTION: &str = "Runs a command line with bash and returns its output (both streams, in \
    order) and its exit code. Each call starts in the working directory; directory changes and \
    variables do not last. Input is closed. Of long output the start and the end are returned. \
    When the command ends, so do all processes it left behind.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line.
    command: String,
    /// When to end it, in milliseconds: 120000 if absent, 600000 at most.
    #[serde(default, deserialize_with = "whole_number")]
    timeout: Option<u64>,
    /// What the command does, in a few words, for the user.
    #[serde(default)]
    description: Option<String>,
}

/// Runs command lines.
pub struct Bash {
    spec: ToolSpec,
    cwd: PathBuf,
    supervisor: Supervisor,
    env: Environment,
}

impl Bash {
    /// A tool that runs commands in `cwd` with exactly this environment.
    pub fn new(cwd: impl Into<PathBuf>, supervisor: Supervisor, env: Environment) -> Self {
        let spec = ToolSpec {
            name: "Bash".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        Self { spec, cwd: cwd.into(), supervisor, env }
    }

    async fn bash(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        if input.command.trim().is_empty() {
            return Err(InvalidInput("`command` is empty".to_owned()).into());
        }
        if context.cancel.is_cancelled() {
            return Err(ToolOutcome::not_run("interrupted", "interrupted before it started").into());
        }
        let timeout = match input.timeout {
            None | Some(0) => DEFAULT_TIMEOUT_MS,
            Some(timeout) => timeout.min(MOST_TIMEOUT_MS),
        };
        let spec = ShellCommand::new(&input.command, &self.cwd)
            .env(self.env.clone())
            .into_spec()
            .map_err(|error| not_run(&error))?
            .streams(Streams::Merged)
            .limits(LIMITS)
            .timeout(Duration::from_millis(timeout));
        let outcome =
            self.supervisor.run(spec, &context.cancel).await.map_err(|error| not_run(&error))?;
        let report = report(&outcome, timeout);
        Ok(match input.description {
            Some(description) => report.with_metadata("description", description),
            None => report,
        })
    }
}

#[async_trait::async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.bash(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

fn report(outcome: &Outcome, timeout_ms: u64) -> ToolOutcome {
    let mut text = outcome.stdout.text();
    let mut note = |note: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    };
    if outcome.stdout.total_bytes() == 0 {
        note("[no output]\n");
    }
    if outcome.left_open {
        note("[a process it left behind still holds the output; what that writes is not shown]\n");
    }
    // A command that ran to its end did what it was asked, whatever it says: its exit code is
    // for the reader to judge (`grep` finds nothing with 1).
    let failure = match outcome.exit {
        Exit::Code(0) => None,
        Exit::Code(code) => {
            note(&format!("[exit code {code}]\n"));
            None
        }
        Exit::Signal(signal) => {
            note(&format!("[ended by signal {signal}]\n"));
            Some("signal")
        }
        Exit::TimedOut => {
            note(&format!("[ended after {timeout_ms} ms: it took too long]\n"));
            Some("timeout")
        }
        Exit::Cancelled => {
            note("[ended: interrupted]\n");
            Some("interrupted")
        }
    };
    let report = match failure {
        None => ToolOutcome::ok(text),
        Some(code) => ToolOutcome::failed(code, text),
    };
    let millis = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    let report = report
        .with_metadata("duration_ms", millis)
        .with_metadata("output_bytes", outcome.stdout.total_bytes())
        .with_metadata("truncated", !outcome.stdout.is_complete());
    match outcome.exit {
        Exit::Code(code) => report.with_metadata("exit_code", code),
        Exit::Signal(signal) => report.with_metadata("signal", signal),
        Exit::TimedOut | Exit::Cancelled => report,
    }
}

fn not_run(error: &ExecError) -> ToolOutcome {
    let ran = match error {
        ExecError::Wait { .. } | ExecError::Gone => Ran::Maybe,
        ExecError::ProgramMissing { .. }
        | ExecError::BashMissing { .. }
        | ExecError::BadDirectory { .. }
        | ExecError::Spawn { .. }
        | ExecError::Reaper { .. }
        | ExecError::Supervisor(_)
        | ExecError::ShutDown
        | ExecError::Unsupported => Ran::No,
    };
    let text = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    ToolOutcome { ran, ..ToolOutcome::failed("cannot_run", text) }
}

#[cfg(test)]
mod tests;
