//! Bash: runs a command line.

mod ended;
mod moved;
mod terminal;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::gate::Grant;
use robota_core::hook::{HookData, HookEvent};
use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{
    DidRun, InvalidInput, KeptOutput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec,
};
use robota_exec::sandbox::{ReadOnlyFence, SharedConfinement};
use robota_exec::{
    Captured, CommandSpec, ExecError, Exit, Limits, Outcome, OutputSink, ShellCommand, Spill,
    Stdin, Streams, TerminalSize,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, HiddenArguments, parse, schema_of, whole_number};
use crate::background_commands::{NewCommand, NotStarted};
use crate::blocking::run_blocking;
use crate::cwd_tracker::CwdTracker;
use crate::tool_workspace::ToolWorkspace;

use moved::Waited;
pub use terminal::{TerminalCommand, TerminalEnd, TerminalResult};

// The default and the limit of Claude Code, which models expect.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// The chunk size for copying spilled output to the blob store.
const CHUNK: usize = 1024 * 1024;
/// The bytes of output that the model sees, unless the session sets another limit.
const DEFAULT_SHOWN_BYTES: usize = 30_000;

/// Takes the place of the output of a command that printed nothing.
const NO_OUTPUT: &str = "[no output]\n";

const DESCRIPTION: &str = "Runs a command line with bash and returns its output (both streams, in \
    order) and its exit code. Variables do not persist between calls{cd}. Standard input is closed. \
    Of long output only the start and the end are returned. When the command ends, all processes it \
    left behind are ended; for a server or a long job set run_in_background, then use BashOutput.";

fn time_limit_ms(asked: Option<u64>) -> u64 {
    match asked {
        // Some models write 0 for "no opinion"; a limit of zero would end every command at once.
        None | Some(0) => DEFAULT_TIMEOUT_MS,
        Some(timeout) => timeout.min(MAX_TIMEOUT_MS),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line.
    command: String,
    /// Timeout in milliseconds: 120000 if absent, 600000 at most.
    #[serde(default, deserialize_with = "whole_number")]
    timeout: Option<u64>,
    /// What the command does, in a few words, for the user.
    #[serde(default)]
    description: Option<String>,
    /// Return immediately and let it run.
    #[serde(default)]
    run_in_background: Option<bool>,
    /// Run it in a terminal.
    #[serde(default)]
    terminal: Option<bool>,
    /// It has no effect: only the user can switch the sandbox off.
    #[serde(default, rename = "dangerouslyDisableSandbox")]
    _disable_sandbox: Option<bool>,
}

/// The tool Bash: runs a command line and returns its output.
pub struct Bash {
    spec: Arc<ToolSpec>,
    hidden: HiddenArguments,
    workspace: ToolWorkspace,
}

impl Bash {
    /// Models call the tool by this name.
    pub const NAME: &str = "Bash";

    /// Returns after which time a command with these arguments is ended; none for one that runs in the
    /// background.
    ///
    /// ```
    /// use robota_tools::Bash;
    /// use serde_json::json;
    ///
    /// let limit = Bash::time_limit(&json!({"command": "make", "timeout": 5000}));
    /// assert_eq!(limit, Some(std::time::Duration::from_secs(5)));
    /// assert_eq!(Bash::time_limit(&json!({"command": "make", "run_in_background": true})), None);
    /// ```
    #[must_use]
    pub fn time_limit(arguments: &Value) -> Option<Duration> {
        let background = arguments.get("run_in_background").and_then(Value::as_bool);
        let asked = arguments.get("timeout").and_then(Value::as_u64);
        (background != Some(true)).then(|| Duration::from_millis(time_limit_ms(asked)))
    }

    /// Creates the tool. Commands run in the directory and the environment of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let cd =
            if workspace.tracks_cwd() { "; the working directory does" } else { ", nor does `cd`" };
        let mut spec = ToolSpec {
            name: Self::NAME.to_owned(),
            description: DESCRIPTION.replace("{cd}", cd),
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        let hidden = HiddenArguments::of(&mut spec, &["dangerouslyDisableSandbox"]);
        Self { spec: shared_spec(spec), hidden, workspace: workspace.clone() }
    }

    async fn bash(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        if input.command.trim().is_empty() {
            return Err(InvalidInput("`command` is empty".to_owned()).into());
        }
        // A call may be cancelled while it waits for its turn.
        if context.scope.cancel.is_cancelled() {
            return Err(ToolOutcome::not_run(
                "interrupted",
                "interrupted before the command started",
            )
            .into());
        }
        let outcome = if input.run_in_background == Some(true) {
            self.start(&input, context).await?
        } else {
            self.run_to_end(&input, context).await?
        };
        Ok(match input.description {
            Some(description) => outcome.with_metadata("description", description),
            None => outcome,
        })
    }

    async fn run_to_end(
        &self,
        input: &Input,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let timeout = time_limit_ms(input.timeout);
        let tracker =
            if self.workspace.tracks_cwd() { CwdTracker::of(&input.command) } else { None };
        let start = self.workspace.start_cwd(&context.call);
        let mut spec = self.spec(input, context, &start, tracker.as_ref())?;
        spec.end_marker = tracker.as_ref().map(CwdTracker::marker);
        spec.spill =
            context.output.is_some().then(|| Spill::new(self.workspace.temporary_folder()));
        // A call that has ended shows nothing more.
        let (progress, shows) = (context.progress.clone(), Arc::new(AtomicBool::new(true)));
        let still_shows = shows.clone();
        let spec =
            spec.timeout(Duration::from_millis(timeout)).sink(OutputSink::new(move |bytes| {
                if still_shows.load(Ordering::Relaxed) {
                    progress.show(String::from_utf8_lossy(bytes));
                }
            }));
        self.save_files(context).await?;
        let limit = Duration::from_millis(timeout);
        if let Some(result) = self.run_in_editor(input, &spec, limit, context).await {
            let missed = self.report_changes(context).await;
            return Ok(terminal::report(&result, limit, missed.as_deref(), context));
        }
        let run = match self.workspace.supervisor.start(spec).await {
            Ok(running) => match moved::wait(&self.workspace, input, &running, context).await {
                Waited::Ended(ended) => ended.map_err(|error| unknown_end(&error)),
                Waited::Moved(outcome) => {
                    shows.store(false, Ordering::Relaxed);
                    self.workspace
                        .capture
                        .in_background(&context.call, &*context.checkpoints)
                        .await;
                    let missed = self.report_changes(context).await;
                    return Ok(match missed {
                        Some(missed) => outcome.with_metadata("note", missed),
                        None => outcome,
                    });
                }
            },
            Err(error) => Err(not_run(&error)),
        };
        let missed = self.report_changes(context).await;
        let mut outcome = run?;
        let total = outcome.stdout.total_bytes();
        let new_cwd = tracker.and_then(|tracker| tracker.take(&mut outcome.stdout));
        // The marker is at the end of the output: what the stored output must leave out.
        let marker_bytes = total - outcome.stdout.total_bytes();
        let stored = store_output(&outcome.stdout, marker_bytes, context).await;
        let cwd_note = match new_cwd.filter(|dir| *dir != start) {
            Some(dir) => Some(self.move_to(&dir, context).await),
            None => None,
        };
        // The gate judges the calls of one answer together, so all start in the same directory.
        let cwd_note = cwd_note.or_else(|| {
            let now = self.workspace.shell_cwd();
            let (ran, now) = (start.display(), now.display());
            (start != self.workspace.shell_cwd())
                .then(|| format!("[ran in {ran}; the next answer's commands start in {now}]\n"))
        });
        let fenced = self.read_only_fence(context).is_some();
        let fence_note = fenced && may_have_failed_by_the_fence(&outcome);
        let notes: String = cwd_note
            .into_iter()
            .chain(missed)
            .chain(fence_note.then(|| FENCE_NOTE.to_owned()))
            .collect();
        let notes = Some(notes).filter(|notes| !notes.is_empty());
        let report = report(&outcome, timeout, notes.as_deref(), stored.as_ref());
        Ok(report.with_metadata("cwd", self.workspace.shell_cwd().display().to_string()))
    }

    /// Lets the next commands start in the directory in which one ended. Returns what the model is
    /// shown.
    async fn move_to(&self, dir: &Path, context: &ToolContext) -> String {
        let Some(before) = self.workspace.change_shell_cwd(dir) else {
            let cwd = self.workspace.shell_cwd();
            return format!(
                "[outside the workspace; the working directory stays {}]\n",
                cwd.display()
            );
        };
        // Another command of the same answer may have moved there already.
        if before != dir && context.hooks.has_event(HookEvent::CwdChanged) {
            let text = |path: &Path| path.display().to_string();
            let data = HookData::CwdChanged { old_cwd: text(&before), new_cwd: text(dir) };
            // Awaited, because hooks may set variables for the next command.
            tokio::select! {
                _ = context.hooks.run_event(data) => {}
                () = context.scope.cancel.cancelled() => {}
            }
        }
        format!("[working directory: {}]\n", dir.display())
    }

    async fn start(
        &self,
        input: &Input,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let start = self.workspace.start_cwd(&context.call);
        let mut spec = self.spec(input, context, &start, None)?;
        // A background program may be asked for input later.
        spec.stdin = Stdin::Open;
        spec.watch = spec.watch.background();
        self.save_files(context).await?;
        self.workspace.capture.in_background(&context.call, &*context.checkpoints).await;
        let command = NewCommand {
            command_line: input.command.clone(),
            label: input.description.clone().unwrap_or_else(|| input.command.clone()),
            call: context.call.clone(),
            spec,
        };
        let started = self.workspace.background.start(command, &self.workspace.supervisor).await;
        let command = started.map_err(|error| match error {
            NotStarted::Exec(error) => not_run(&error),
            NotStarted::Refused(text) => ToolOutcome::not_run("refused", text),
        })?;
        let pid = command.running.process().map(|process| process.pid);
        let id = &command.id;
        let text = format!(
            "Runs in the background as {id}. BashOutput returns its output, KillShell ends it.\n"
        );
        Ok(ToolOutcome::ok(text).with_metadata("bash_id", id.as_str()).with_metadata("pid", pid))
    }

    /// Starts a command in the background, for BackgroundProcess.
    pub(crate) async fn start_in_background(
        &self,
        command: String,
        description: Option<String>,
        context: &ToolContext,
    ) -> ToolOutcome {
        let input = Input {
            command,
            timeout: None,
            description,
            run_in_background: Some(true),
            terminal: None,
            _disable_sandbox: None,
        };
        let started = self.start(&input, context).await;
        started.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }

    /// Saves the files of the workspace before a command that may change them.
    async fn save_files(&self, context: &ToolContext) -> Result<(), EarlyOutcome> {
        let (capture, blobs) = (&self.workspace.capture, &*context.scope.blobs);
        let running = self.workspace.background.any_runs();
        let command = (context.scope.turn.as_ref(), &context.call);
        capture.before(command, &*context.checkpoints, blobs, running).await.map_err(|error| {
            let text = format!(
                "the files of the workspace cannot be saved before the command, so it was not run: {}",
                error.message
            );
            ToolOutcome::not_run("no_checkpoint", text).into()
        })
    }

    /// Records the files that a command changed. Returns a note if that failed.
    async fn report_changes(&self, context: &ToolContext) -> Option<String> {
        let (capture, blobs) = (&self.workspace.capture, &*context.scope.blobs);
        let reported = capture.after(&context.call, &*context.checkpoints, blobs).await;
        let error = reported.err()?;
        Some(format!("[the files it changed could not be recorded: {}]\n", error.message))
    }

    fn spec(
        &self,
        input: &Input,
        context: &ToolContext,
        start: &Path,
        tracker: Option<&CwdTracker>,
    ) -> Result<CommandSpec, EarlyOutcome> {
        let command = ShellCommand::new(&input.command, start);
        let command = command.env(self.workspace.command_env());
        let spec = match tracker {
            Some(tracker) => tracker.wrap(&input.command, command),
            None => command.into_spec(),
        };
        let mut spec = spec
            .map_err(|error| not_run(&error))?
            .streams(Streams::Merged)
            .limits(limits(context))
            .redactor(context.scope.redactor.clone())
            .call(context.call.to_string(), context.processes.clone());
        spec.confinement = self.workspace.confinement.as_ref().map(SharedConfinement::current);
        if input.terminal == Some(true) {
            spec.terminal = Some(TerminalSize::default());
        }
        match self.read_only_fence(context) {
            Some(fence) => fence.apply(spec).map_err(|error| {
                let text = format!("cannot create a folder for temporary files: {error}");
                EarlyOutcome::from(ToolOutcome::not_run("cannot_run", text))
            }),
            None => Ok(spec),
        }
    }

    /// Returns the fence of a call that may only read.
    fn read_only_fence(&self, context: &ToolContext) -> Option<&ReadOnlyFence> {
        match context.grant {
            Grant::ReadOnly => self.workspace.read_only_fence.as_deref(),
            Grant::Full => None,
        }
    }
}

#[async_trait::async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.hidden.check(input)
    }

    /// Adds the directory in which the command will start, because the gate judges relative paths
    /// in that directory.
    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        let cwd = self.workspace.cwd_for_gate(call);
        let mut input = input.as_object()?.clone();
        // The gate needs the folder in which the command will start, which is not an argument of
        // the model.
        input.insert("cwd".to_owned(), Value::from(cwd.to_str()?));
        Some(Value::Object(input))
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.bash(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

/// The hint for the model when a command fails that was allowed only as one that reads.
const FENCE_NOTE: &str = "[it ran without write access and network, because it was allowed only as \
    a command that changes nothing; if it has to write, the user can allow it by a rule]\n";

/// Returns whether a command failed and mentions an error that the fence causes. Only the command
/// knows why it failed, so the note for the model does not claim more.
fn may_have_failed_by_the_fence(outcome: &Outcome) -> bool {
    const ERRORS: [&str; 3] =
        ["Permission denied", "Operation not permitted", "Read-only file system"];
    let text = || outcome.stdout.text();
    !outcome.exit.is_success() && ERRORS.iter().any(|error| text().contains(error))
}

/// Returns the limits of the output: half of the shown bytes from its start, half from its end.
fn limits(context: &ToolContext) -> Limits {
    let shown = context.output.as_ref().map_or(DEFAULT_SHOWN_BYTES, |output| output.limit());
    Limits { head: shown / 2, tail: shown - shown / 2 }
}

/// Stores output that is too long to be shown, without the marker at its end. `None` if the output
/// was not spilled or there is no store.
async fn store_output(
    output: &Captured,
    marker_bytes: u64,
    context: &ToolContext,
) -> Option<Result<KeptOutput, ErrorData>> {
    let (spilled, store) = (output.spilled.as_ref()?, context.output.as_ref()?);
    // A file that reached its maximum size does not contain the marker.
    let complete = spilled.bytes == output.total_bytes() + marker_bytes;
    let end = if complete { spilled.bytes - marker_bytes } else { spilled.bytes };
    let mut writer = store.keep();
    let copied = async {
        let mut from = 0;
        while from < end {
            let (file, rest) = (spilled.clone(), usize::try_from(end - from).unwrap_or(CHUNK));
            let part = run_blocking(move || {
                let mut part = vec![0; rest.min(CHUNK)];
                let read = file.read_at(from, &mut part)?;
                part.truncate(read);
                std::io::Result::Ok(part)
            });
            let failed = |message: String| ErrorData::new(ErrorKind::Storage, message);
            let part = part.await.map_err(|EarlyOutcome(outcome)| failed(outcome.text()))?;
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
    notes: Option<&str>,
    stored: Option<&Result<KeptOutput, ErrorData>>,
) -> ToolOutcome {
    let total = outcome.stdout.total_bytes();
    let mut text = match stored {
        Some(Ok(stored)) => outcome.stdout.text_with(|cut, at| stored.note(cut, total, at)),
        Some(Err(error)) => outcome.stdout.text_with(|cut, _| {
            format!(
                "[... {cut} of {total} bytes cut; they could not be stored: {} ...]",
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
        note(NO_OUTPUT);
    }
    if outcome.left_open {
        note("[a process it left behind holds the output open; its later output is not shown]\n");
    }
    if let Some(notes) = notes {
        note(notes);
    }
    // Libraries often try local sockets (for name lookups, for example) and work without them.
    let relevant = outcome.denied.iter().filter(|denial| denial.action != "local socket");
    let denied: Vec<_> =
        relevant.map(|denial| format!("{} ({})", denial.action, denial.subject)).collect();
    if !denied.is_empty() {
        note(&format!("[denied by the sandbox: {}]\n", denied.join(", ")));
    }
    // An exit code other than 0 is not a failure of the tool: the model judges it (`grep` exits with
    // 1 if nothing matches).
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
            note(&format!("[ended after the timeout of {timeout_ms} ms]\n"));
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
    let report = match stored {
        Some(Ok(stored)) => report.with_metadata("spilled", stored.place.clone()),
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

/// Returns the outcome of a command that ran, and whose end is not known.
fn unknown_end(message: &str) -> ToolOutcome {
    ToolOutcome { ran: DidRun::Maybe, ..ToolOutcome::failed("cannot_run", message) }
}

fn not_run(error: &ExecError) -> ToolOutcome {
    let ran = match error {
        // It was started, and nothing is known about its end.
        ExecError::Wait { .. } | ExecError::SupervisorFailed => DidRun::Maybe,
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
