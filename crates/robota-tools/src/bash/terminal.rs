//! Commands in a terminal of the editor, where the user sees them.

use std::path::PathBuf;
use std::time::Duration;

use robota_core::tool::{ToolContext, ToolOutcome};
use robota_exec::CommandSpec;

use super::{Bash, Input, limits};
use crate::cwd_tracker::CwdTracker;

/// Parts of the names of variables that are not passed to an editor, because it displays the
/// environment of a command.
const SECRET_NAMES: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Describes a command for a terminal of an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalCommand {
    /// The program; `env`, which sets the environment.
    pub program: String,
    /// Its arguments, with the variables of the environment first.
    pub args: Vec<String>,
    /// The directory in which it starts.
    pub cwd: PathBuf,
    /// How many bytes of the end of the output are wanted.
    pub output_limit: usize,
    /// How long it may run before it is ended.
    pub timeout: Duration,
}

/// What a command in a terminal led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalResult {
    /// The end of the output, as the editor cut it.
    pub output: String,
    /// Whether the output was longer, so that its start is missing.
    pub cut: bool,
    /// How the command ended.
    pub end: TerminalEnd,
}

/// How a command in a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TerminalEnd {
    /// With this exit code; not 0 does not mean that the call failed.
    Code(i64),
    /// By a signal of this name.
    Signal(String),
    /// It took longer than the timeout and was ended.
    TimedOut,
    /// The turn was interrupted and the command was ended.
    Interrupted,
    /// The editor does not say how.
    Unknown,
}

impl Bash {
    /// Runs a command in a terminal of the editor. Returns none if the editor has none, or the command
    /// needs something that only this program can do: a sandbox, a fence, a working directory that
    /// the command changes, or variables that the editor must not see.
    pub(super) async fn run_in_editor(
        &self,
        input: &Input,
        spec: &CommandSpec,
        timeout: Duration,
        context: &ToolContext,
    ) -> Option<TerminalResult> {
        let editor = self.workspace.editor.as_ref().filter(|editor| editor.has_terminals())?;
        let confined = self.workspace.confinement.is_some() || spec.terminal.is_some();
        let moves = self.workspace.tracks_cwd() && CwdTracker::of(&input.command).is_some();
        if confined || moves || self.read_only_fence(context).is_some() {
            return None;
        }
        // `env -i` starts with an empty environment: the editor would otherwise add its own, in
        // which keys may be.
        let mut args = vec!["-i".to_owned()];
        for (name, value) in spec.env.iter() {
            let (name, value) = (name.to_str()?, value.to_str()?);
            if SECRET_NAMES.iter().any(|secret| name.to_uppercase().contains(secret)) {
                return None;
            }
            args.push(format!("{name}={value}"));
        }
        args.push(spec.program.to_str()?.to_owned());
        for arg in &spec.args {
            args.push(arg.to_str()?.to_owned());
        }
        let limits = limits(context);
        let command = TerminalCommand {
            program: "env".to_owned(),
            args,
            cwd: spec.cwd.clone(),
            output_limit: limits.head + limits.tail,
            timeout,
        };
        editor.run(&context.call, command, &context.scope.cancel).await
    }
}

/// Returns the outcome of a call that ran in a terminal, with notes for the model.
pub(super) fn report(
    result: &TerminalResult,
    timeout: Duration,
    notes: Option<&str>,
    context: &ToolContext,
) -> ToolOutcome {
    // The editor does not know the secrets of the session.
    let mut text = context.scope.redactor.text(&result.output).into_owned();
    if result.cut {
        text.insert_str(0, "[only the end of the output is shown]\n");
    }
    if result.output.is_empty() {
        text.push_str("[no output]");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(notes.unwrap_or_default());
    let (note, failure) = match &result.end {
        TerminalEnd::Code(0) => (String::new(), None),
        TerminalEnd::Code(code) => (format!("[exit code {code}]\n"), None),
        TerminalEnd::Signal(signal) => (format!("[ended by signal {signal}]\n"), Some("signal")),
        TerminalEnd::TimedOut => {
            let millis = timeout.as_millis();
            (format!("[ended after the timeout of {millis} ms]\n"), Some("timeout"))
        }
        TerminalEnd::Interrupted => ("[ended: interrupted]\n".to_owned(), Some("interrupted")),
        TerminalEnd::Unknown => {
            ("[the editor does not say how it ended]\n".to_owned(), Some("unknown_end"))
        }
    };
    text.push_str(&note);
    let outcome = match failure {
        None => ToolOutcome::ok(text),
        Some(code) => ToolOutcome::failed(code, text),
    };
    let outcome =
        outcome.with_metadata("terminal", "editor").with_metadata("truncated", result.cut);
    match result.end {
        TerminalEnd::Code(code) => outcome.with_metadata("exit_code", code),
        _ => outcome,
    }
}
