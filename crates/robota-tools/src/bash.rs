//! Bash: runs a command line.

use std::path::Path;
use std::time::Duration;

use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{
    DidRun, InvalidInput, KeptOutput, Tool, ToolContext, ToolOutcome, ToolSpec,
};
use robota_exec::{
    Captured, CommandSpec, ExecError, Exit, Limits, Outcome, OutputSink, ShellCommand, Spill,
    Stdin, Streams, TerminalSize,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of, whole_number};
use crate::bash_cd::Follow;
use crate::blocking::run_blocking;
use crate::workplace::Workplace;

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MOST_TIMEOUT_MS: u64 = 600_000;
/// Output that is kept is copied so much at a time.
const CHUNK: usize = 1024 * 1024;
/// What a model is shown where nobody says another limit: enough of both ends to work with.
const SHOWN: usize = 30_000;

const DESCRIPTION: &str = "Runs a command line with bash and returns its output (both streams, in \
    order) and its exit code. Variables do not last from call to call{cd}. Input is closed. Of \
    long output the start and the end are returned. When the command ends, so do all processes it \
    left behind; for a server or a long job set run_in_background, then use BashOutput.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line.
    command: String,
    /// When to end it, in milliseconds: 120000 if absent, 600000 at most.
    #[serde(default, deserialize_with = "whole_number")]
    timeout: Option<u64>,
    /// What it does, in a few words, for the user.
    #[serde(default)]
    description: Option<String>,
    /// Return at once and let it run.
    #[serde(default)]
    run_in_background: Option<bool>,
    /// Give it a terminal.
    #[serde(default)]
    terminal: Option<bool>,
}

/// Runs command lines.
pub struct Bash {
    spec: ToolSpec,
    place: Workplace,
}

impl Bash {
    /// A tool that runs commands in a workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let cd =
            if place.follows_cd() { "; the working directory does" } else { ", nor does `cd`" };
        let spec = ToolSpec {
            name: "Bash".to_owned(),
            description: DESCRIPTION.replace("{cd}", cd),
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        Self { spec, place: place.clone() }
    }

    async fn bash(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        if input.command.trim().is_empty() {
            return Err(InvalidInput("`command` is empty".to_owned()).into());
        }
        if context.scope.cancel.is_cancelled() {
            return Err(ToolOutcome::not_run("interrupted", "interrupted before it started").into());
        }
        let report = if input.run_in_background == Some(true) {
            self.start(&input, context).await?
        } else {
            self.run_to_end(&input, context).await?
        };
        Ok(match input.description {
            Some(description) => report.with_metadata("description", description),
            None => report,
        })
    }

    async fn run_to_end(&self, input: &Input, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let timeout = match input.timeout {
            None | Some(0) => DEFAULT_TIMEOUT_MS,
            Some(timeout) => timeout.min(MOST_TIMEOUT_MS),
        };
        let follow = if self.place.follows_cd() { Follow::of(&input.command) } else { None };
        let start = self.place.start_cwd(&context.call);
        let spec = self.spec(input, context, &start, follow.as_ref())?;
        let progress = context.progress.clone();
        let hidden = follow.as_ref().map(Follow::mark);
        let mut spec = spec;
        spec.spill = context.output.is_some().then(|| Spill::new(self.place.temporary()));
        let spec =
            spec.timeout(Duration::from_millis(timeout)).sink(OutputSink::new(move |bytes| {
                let text = String::from_utf8_lossy(bytes);
                let shown = match hidden.as_deref().and_then(|mark| text.find(mark)) {
                    Some(at) => &text[..at],
                    None => &text,
                };
                if !shown.is_empty() {
                    progress.show(shown);
                }
            }));
        let mut outcome = self
            .place
            .supervisor
            .run(spec, &context.scope.cancel)
            .await
            .map_err(|error| not_run(&error))?;
        let total = outcome.stdout.total_bytes();
        let went = follow.and_then(|follow| follow.take(&mut outcome.stdout));
        // The mark is the last thing a command line says.
        let marked = total - outcome.stdout.total_bytes();
        let kept = keep(&outcome.stdout, marked, context).await;
        let told = went.filter(|dir| *dir != start).map(|dir| {
            if self.place.went_to(&dir) {
                return format!("[working directory: {}]\n", dir.display());
            }
            let stays = self.place.shell_cwd();
            format!("[outside the workspace; the working directory stays {}]\n", stays.display())
        });
        // Calls of one answer are judged together, so they start where the first does.
        let told = told.or_else(|| {
            let now = self.place.shell_cwd();
            let (ran, now) = (start.display(), now.display());
            (start != self.place.shell_cwd())
                .then(|| format!("[ran in {ran}; the next answer's commands start in {now}]\n"))
        });
        let report = report(&outcome, timeout, told.as_deref(), kept.as_ref());
        Ok(report.with_metadata("cwd", self.place.shell_cwd().display().to_string()))
    }

    async fn start(&self, input: &Input, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let start = self.place.start_cwd(&context.call);
        let mut spec = self.spec(input, context, &start, None)?;
        spec.stdin = Stdin::Open;
        spec.watch = spec.watch.background();
        let running = self.place.supervisor.start(spec).await.map_err(|error| not_run(&error))?;
        let pid = running.process().map(|process| process.pid);
        let id = self.place.shells.add(&input.command, running);
        let text = format!(
            "Runs in the background as {id}. BashOutput shows what it writes, KillShell ends it.\n"
        );
        Ok(ToolOutcome::ok(text).with_metadata("bash_id", id).with_metadata("pid", pid))
    }

    fn spec(
        &self,
        input: &Input,
        context: &ToolContext,
        start: &Path,
        follow: Option<&Follow>,
    ) -> Result<CommandSpec, Early> {
        let command = ShellCommand::new(&input.command, start);
        let command = command.env(self.place.env.clone());
        let spec = match follow {
            Some(follow) => follow.wrap(&input.command, command),
            None => command.into_spec(),
        };
        let mut spec = spec
            .map_err(|error| not_run(&error))?
            .streams(Streams::Merged)
            .limits(limits(context))
            .clean(context.scope.redactor.clone())
            .call(context.call.to_string(), context.processes.clone());
        spec.confinement = self.place.confinement.clone();
        if input.terminal == Some(true) {
            spec.terminal = Some(TerminalSize::default());
        }
        Ok(spec)
    }
}

#[async_trait::async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// With the directory the command will start in, where its relative paths are judged.
    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        let cwd = self.place.judged_cwd(call);
        let mut input = input.as_object()?.clone();
        input.insert("cwd".to_owned(), Value::from(cwd.to_str()?));
        Some(Value::Object(input))
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.bash(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

/// Half of what is shown is the beginning, half the end.
fn limits(context: &ToolContext) -> Limits {
    let shown = context.output.as_ref().map_or(SHOWN, |output| output.limit());
    Limits { head: shown / 2, tail: shown - shown / 2 }
}

/// Keeps output that is too long to be shown, but for what follows it that is ours.
async fn keep(
    output: &Captured,
    marked: u64,
    context: &ToolContext,
) -> Option<Result<KeptOutput, ErrorData>> {
    let (spilled, store) = (output.spilled.as_ref()?, context.output.as_ref()?);
    // Where the file ends before the stream does, the mark is not in it.
    let whole = spilled.bytes == output.total_bytes() + marked;
    let end = if whole { spilled.bytes - marked } else { spilled.bytes };
    let mut writer = store.keep();
    let copied = async {
        let mut from = 0;
        while from < end {
            let (file, most) = (spilled.clone(), usize::try_from(end - from).unwrap_or(CHUNK));
            let part = run_blocking(move || {
                let mut part = vec![0; most.min(CHUNK)];
                let read = file.read_at(from, &mut part)?;
                part.truncate(read);
                std::io::Result::Ok(part)
            });
            let failed = |message: String| ErrorData::new(ErrorKind::Storage, message);
            let part = part.await.map_err(|Early(early)| failed(early.text()))?;
            let part = part.map_err(|error| failed(error.to_string()))?;
            if part.is_empty() {
                break;
            }
            writer.write(&part).await?;
            from += part.len() as u64;
        }
        writer.finish().await
    };
    Some(copied.await)
}

fn report(
    outcome: &Outcome,
    timeout_ms: u64,
    told: Option<&str>,
    kept: Option<&Result<KeptOutput, ErrorData>>,
) -> ToolOutcome {
    let total = outcome.stdout.total_bytes();
    let mut text = match kept {
        Some(Ok(kept)) => outcome.stdout.text_with(|cut, at| kept.note(cut, total, at)),
        Some(Err(error)) => outcome.stdout.text_with(|cut, _| {
            format!(
                "[... {cut} of {total} bytes cut; they could not be kept: {} ...]",
                error.message
            )
        }),
        None => outcome.stdout.text(),
    };
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
    if let Some(told) = told {
        note(told);
    }
    // Libraries knock at local sockets all the time and take no for an answer.
    let loud = outcome.denied.iter().filter(|denial| denial.action != "local socket");
    let denied: Vec<_> =
        loud.map(|denial| format!("{} ({})", denial.action, denial.subject)).collect();
    if !denied.is_empty() {
        note(&format!("[the sandbox refused: {}]\n", denied.join(", ")));
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
    let report = match kept {
        Some(Ok(kept)) => report.with_metadata("spilled", kept.place.clone()),
        Some(Err(_)) | None => report,
    };
    let report =
        if denied.is_empty() { report } else { report.with_metadata("sandbox_denied", denied) };
    match outcome.exit {
        Exit::Code(code) => report.with_metadata("exit_code", code),
        Exit::Signal(signal) => report.with_metadata("signal", signal),
        Exit::TimedOut | Exit::Cancelled => report,
    }
}

fn not_run(error: &ExecError) -> ToolOutcome {
    let ran = match error {
        ExecError::Wait { .. } | ExecError::Gone => DidRun::Maybe,
        ExecError::ProgramMissing { .. }
        | ExecError::BashMissing { .. }
        | ExecError::BadDirectory { .. }
        | ExecError::Spawn { .. }
        | ExecError::Reaper { .. }
        | ExecError::Supervisor(_)
        | ExecError::ShutDown
        | ExecError::Unsupported => DidRun::No,
    };
    let text = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    ToolOutcome { ran, ..ToolOutcome::failed("cannot_run", text) }
}

#[cfg(test)]
mod tests;
