//! The user's status line: a command that gets the state of the session as JSON and prints lines.
//! It runs in parallel to the session, one run at a time, and neither the session nor the drawing
//! waits for it.

mod input;
mod measures;

use std::sync::Arc;
use std::time::Duration;

use robota_config::model::CommandLine;
use robota_core::driver::Observer;
use robota_core::hook::HookTranscript as _;
use robota_exec::{Environment, Exit, ShellCommand, Supervisor};
use robota_sdk::transcript::SessionTranscript;
use robota_sdk::{InteractiveEvent, Notice};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::WorkContext;
use crate::terminal::event::Event;
use input::{Input, Model};
pub(super) use measures::Measures;

/// Changes within this time lead to one run.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// How long the command may run.
const LIMIT: Duration = Duration::from_secs(5);
/// How many lines are shown.
const LINES: usize = 3;

/// The status line of a session: what the events change, and who is notified of it.
#[derive(Clone)]
pub(super) struct StatusLine {
    measures: Measures,
    changed: watch::Sender<u64>,
}

impl StatusLine {
    /// Creates the status line with what was measured so far. Nothing runs before [`Self::start`].
    pub(super) fn new(measures: Measures) -> Self {
        Self { measures, changed: watch::channel(0).0 }
    }

    /// Takes an event of the session.
    pub(super) fn observe(&self, event: &InteractiveEvent) {
        match event {
            InteractiveEvent::ToolEnd(tool) => self.measures.count_lines(&tool.diff),
            InteractiveEvent::Complete(_)
            | InteractiveEvent::Interrupted(_)
            | InteractiveEvent::Error(_)
            | InteractiveEvent::ModeChanged { .. }
            | InteractiveEvent::ContextUpdate(_)
            | InteractiveEvent::Compacted { .. } => {}
            _ => return,
        }
        self.touch();
    }

    /// Takes what all calls of the session used.
    pub(super) fn set_costs(&self, costs: robota_sdk::Costs) {
        self.measures.set_costs(costs);
        self.touch();
    }

    /// Lets the command run again.
    pub(super) fn touch(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Runs the command of the settings now and after each change, until the task is aborted. Without
    /// a command nothing happens.
    pub(super) fn start(&self, context: &WorkContext) -> Option<tokio::task::JoinHandle<()>> {
        let setting = context.setup.settings.values.status_line.clone()?;
        let changes = self.changed.subscribe();
        let script = Script::new(setting, self.measures.clone(), context.clone());
        let (status, session) = (self.clone(), context.session.clone());
        Some(tokio::spawn(async move {
            // A session that is resumed has costs already.
            if let Ok(costs) = session.spending().costs().await {
                status.set_costs(costs);
            }
            drop(session);
            script.serve(changes).await;
        }))
    }
}

/// The command with everything that it needs.
struct Script {
    setting: CommandLine,
    measures: Measures,
    context: WorkContext,
    supervisor: Supervisor,
    environment: Environment,
    transcript: SessionTranscript,
    /// Whether a failure was reported.
    reported: bool,
}

impl Script {
    fn new(setting: CommandLine, measures: Measures, context: WorkContext) -> Self {
        let secrets: Vec<_> = context.setup.keys.secrets().collect();
        let settings = &context.setup.settings;
        let environment = robota_sdk::processes::command_environment(settings, &secrets);
        let cwd = context.setup.places.cwd.display().to_string();
        let id = context.session.id().clone();
        let transcript = SessionTranscript::new(context.store.clone(), id, cwd);
        let supervisor = Supervisor::new();
        Self { setting, measures, context, supervisor, environment, transcript, reported: false }
    }

    async fn serve(mut self, mut changes: watch::Receiver<u64>) {
        let interval = self.setting.refresh_interval;
        loop {
            // Before the state is read, so that a change during the run leads to another run.
            changes.mark_unchanged();
            let input = self.input().await;
            let command = ShellRun {
                supervisor: &self.supervisor,
                environment: &self.environment,
                cwd: &self.context.setup.places.cwd,
                columns: super::terminal_size().columns,
            };
            match command.run(&self.setting.command, &input).await {
                Ok(text) => self.show(&text),
                Err(why) => self.fail(&why),
            }
            let timer = async {
                match interval {
                    Some(seconds) => {
                        tokio::time::sleep(Duration::from_secs(seconds.get().into())).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = timer => {}
            }
            // Behind the change: the changes of one step come together, and the run shows the last
            // of them.
            tokio::time::sleep(DEBOUNCE).await;
        }
    }

    fn show(&self, text: &str) {
        // Bounded: a large value must not push the text out of the terminal.
        let padding = " ".repeat(self.setting.padding.unwrap_or(0).min(40).into());
        let lines = text.lines().take(LINES).map(|line| format!("{padding}{line}")).collect();
        self.context.mailbox.send(Event::StatusLines(lines));
    }

    /// Reports the first failure and removes the lines of the last success.
    fn fail(&mut self, why: &str) {
        self.context.mailbox.send(Event::StatusLines(Vec::new()));
        // Only the first: the command runs after every call, and may fail each time.
        if !std::mem::replace(&mut self.reported, true) {
            let text = format!("the status line command failed: {why} (setting `statusLine`)");
            self.context.mailbox.send(Event::Notice(Notice::Error(text)));
        }
    }

    async fn input(&self) -> String {
        let session = &self.context.session;
        let project = &self.context.setup.project;
        let info = session.session().info().await.ok();
        let folders = session.session().permissions().folders().unwrap_or_default();
        let input = Input {
            session: session.id().as_str(),
            name: info.as_ref().and_then(|info| info.name.as_deref()),
            transcript: self.transcript.write().await,
            cwd: project.places.cwd.display().to_string(),
            added: folders.iter().map(|it| it.display().to_string()).collect(),
            model: Model::named(info.as_ref().map_or("", |info| info.model.as_str())),
            mode: session.session().permissions().mode(),
            output_style: session.conversation().loaded().output_style.as_deref(),
            context: session.conversation().context_state().await.ok(),
            measured: self.measures.snapshot(),
        };
        input.json().to_string()
    }
}

/// Runs a command line of the user.
struct ShellRun<'a> {
    supervisor: &'a Supervisor,
    environment: &'a Environment,
    cwd: &'a std::path::Path,
    columns: usize,
}

impl ShellRun<'_> {
    /// Returns what the command printed.
    ///
    /// # Errors
    /// If it cannot be started, fails, or takes too long; the text says why.
    async fn run(&self, command: &str, input: &str) -> Result<String, String> {
        let environment = self.environment.clone().with("COLUMNS", self.columns.to_string());
        let spec = ShellCommand::new(command, self.cwd).env(environment).into_spec();
        let spec = spec.map_err(|error| error.to_string())?;
        let spec = spec.stdin(input.as_bytes()).timeout(LIMIT).grace(Duration::from_millis(200));
        let ran = self.supervisor.run(spec, &CancellationToken::new()).await;
        let ran = ran.map_err(|error| error.to_string())?;
        match ran.exit {
            Exit::Code(0) => Ok(ran.stdout.text()),
            Exit::Code(code) => {
                let said = ran.stderr.text();
                let said = said.lines().next().unwrap_or_default();
                Err(format!("exit code {code}: {said}"))
            }
            Exit::TimedOut => Err(format!("it took longer than {} s", LIMIT.as_secs())),
            Exit::Signal(signal) => Err(format!("signal {signal}")),
            Exit::Cancelled => Err("it was cancelled".to_owned()),
        }
    }
}

/// Creates what counts from the first event on.
pub(super) fn measures() -> (Measures, Observer) {
    let measures = Measures::default();
    let observing = measures.clone();
    (measures, Arc::new(move |envelope| observing.observe(envelope)))
}

#[cfg(test)]
mod tests;
