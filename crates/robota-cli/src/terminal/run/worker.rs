//! The worker: opens the session, performs effects, and passes events to the thread that draws.

use std::sync::Arc;
use std::time::Duration;

use robota_core::approve::Scope;
use robota_core::ids::{CallId, SessionId};
use robota_core::message::ToolUse;
use robota_core::task::NotMoved;
use robota_sdk::{ClientHooks, InteractiveEvent, InteractiveEvents, InteractiveSession};
use robota_session::Decision;
use tokio::sync::{mpsc, watch};

use super::open::{self, Opening};
use super::prompts::Prompts;
use super::status_line::StatusLine;
use super::{Mailbox, RunningShell, WorkContext, clipboard, enter, preview, rules};
use crate::args::PrintArgs;
use crate::setup::Setup;
use crate::telemetry::Telemetry;
use crate::terminal::composer::Draft;
use crate::terminal::effect::{Decided, Effect};
use crate::terminal::event::{Event, RuleTest, clock_text};
use crate::{Exit, output, signals};

/// How long the end of the session may take before the program ends all the same.
const END: Duration = Duration::from_secs(10);

type Effects = mpsc::UnboundedReceiver<Effect>;

/// The end of the thread that draws.
pub(super) struct UiEnd(pub(super) watch::Receiver<Option<Result<(), String>>>);

impl UiEnd {
    /// Waits for the end. The error says why the thread had to stop.
    async fn wait(&mut self) -> Result<(), String> {
        match self.0.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(Ok(())),
            Err(_) => Err("its thread panicked".to_owned()),
        }
    }
}

/// Runs the sessions of a terminal, one after the other, until the user quits.
pub(super) async fn run(
    mut args: PrintArgs,
    mailbox: Mailbox,
    mut effects: Effects,
    mut ui: UiEnd,
) -> anyhow::Result<Exit> {
    let cancel = signals::cancel_on_interrupt()?;
    watch_size(&mailbox);
    // Opened with the first session and kept: an exporter is of the process, not of a session.
    let mut telemetry = None;
    let lines = loop {
        let ends = (&mut ui, &cancel);
        match run_session(&args, &mailbox, &mut effects, ends, &mut telemetry).await {
            After::Quit(lines) => break lines,
            After::Failed(exit) => {
                mailbox.send(Event::Ended(Vec::new()));
                let _ = ui.wait().await;
                return Ok(cancel.exit().unwrap_or(exit));
            }
            After::Switch(Switch { session, fork }) => {
                args.session.resume_only(session.as_str(), fork);
                // The prompt of the command line was for the first session.
                args.words.clear();
            }
        }
    };
    if let Some(telemetry) = telemetry {
        telemetry.finish().await;
    }
    // The thread prints them after it has restored the terminal.
    mailbox.send(Event::Ended(lines.clone()));
    match tokio::time::timeout(END, ui.wait()).await {
        // The thread could not print them.
        Ok(Err(error)) => {
            lines.iter().for_each(|line| output::note(line));
            match cancel.exit() {
                Some(exit) => Ok(exit),
                None => Err(anyhow::anyhow!("the terminal cannot be used: {error}")),
            }
        }
        Ok(Ok(())) | Err(_) => Ok(cancel.exit().unwrap_or(Exit::Ok)),
    }
}

/// What follows the end of a session.
enum After {
    /// The program ends; these lines stay on the terminal.
    Quit(Vec<String>),
    /// The session could not be opened, and the user has seen why.
    Failed(Exit),
    /// Another session is opened.
    Switch(Switch),
}

/// The session to open next.
struct Switch {
    session: SessionId,
    fork: bool,
}

/// Opens a session and serves it until the user leaves it.
async fn run_session(
    args: &PrintArgs,
    mailbox: &Mailbox,
    effects: &mut Effects,
    (ui, cancel): (&mut UiEnd, &signals::Cancel),
    telemetry: &mut Option<Telemetry>,
) -> After {
    let started = tokio::time::Instant::now();
    let (trust, mut answers) = mpsc::unbounded_channel();
    // What is asked for while the session is being opened, such as what a page shows.
    let mut early = Vec::new();
    let opening = tokio::select! {
        opened = open::open(args, mailbox, &mut answers, telemetry) => opened,
        () = until_quit(effects, &trust, &mut early) => return After::Quit(Vec::new()),
        () = cancel.token().cancelled() => return After::Quit(Vec::new()),
        _ = ui.wait() => return After::Quit(Vec::new()),
    };
    let Opening { setup, store, session, events, opened, prompts, measures, choices } =
        match opening {
            Ok(opening) => opening,
            Err(error) => {
                let (message, hint) = (format!("{error:#}"), crate::hint(&error));
                mailbox.send(Event::OpenFailed { message, hint });
                tokio::select! {
                    () = until_quit(effects, &trust, &mut early) => {}
                    () = cancel.token().cancelled() => {}
                    _ = ui.wait() => {}
                }
                return After::Failed(crate::exit_of(&error));
            }
        };
    mailbox.send(Event::Opened(Box::new(opened)));
    let Some(session) = session else {
        tokio::select! {
            // This terminal only follows the session, so it performs nothing but the end.
            () = pass_on(None, events, mailbox.clone(), setup, StatusLine::new(measures)) => {}
            () = until_quit(effects, &trust, &mut early) => {}
            () = cancel.token().cancelled() => {}
            _ = ui.wait() => {}
        }
        return After::Quit(Vec::new());
    };
    let status = StatusLine::new(measures);
    let (mailbox, provider) = (mailbox.clone(), args.provider.clone());
    let shell = RunningShell::default();
    let context = WorkContext { session, store, setup, mailbox, provider, status, choices, shell };
    let status_line = context.status.start(&context);
    let worker = Worker::new(context, args.clone(), prompts);
    let events = worker.pass_on(events);
    let switch = tokio::select! {
        switch = worker.serve(early, effects) => switch,
        () = cancel.token().cancelled() => None,
        _ = ui.wait() => None,
    };
    let mut unused = Vec::new();
    let lines = tokio::select! {
        lines = worker.end(cancel.exit().is_some(), started.elapsed()) => lines,
        // The user quit a second time, so the program does not wait for the shutdown.
        () = until_quit(effects, &trust, &mut unused) => worker.resume_line(),
    };
    // Only now: events of the shutdown are still shown.
    events.abort();
    if let Some(status_line) = status_line {
        status_line.abort();
    }
    switch.map_or(After::Quit(lines), After::Switch)
}

/// Waits until the user quits. Answers to the question of trust are passed on; other effects are
/// kept.
async fn until_quit(
    effects: &mut Effects,
    trust: &mpsc::UnboundedSender<bool>,
    kept: &mut Vec<Effect>,
) {
    loop {
        match effects.recv().await {
            Some(Effect::Quit) | None => return,
            Some(Effect::Trust(answer)) => {
                let _ = trust.send(answer);
            }
            Some(effect) => kept.push(effect),
        }
    }
}

/// Notifies the thread that draws when the terminal changes its size.
fn watch_size(mailbox: &Mailbox) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mailbox = mailbox.clone();
        // A process that is stopped is not in the foreground and gets no signal about a new size;
        // it asks for the size when it continues.
        for kind in [SignalKind::window_change(), SignalKind::from_raw(libc_sigcont())] {
            let mailbox = mailbox.clone();
            let Ok(mut signals) = signal(kind) else { continue };
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    mailbox.send(Event::Resize(super::terminal_size()));
                }
            });
        }
    }
    #[cfg(not(unix))]
    let _ = mailbox;
}

#[cfg(unix)]
fn libc_sigcont() -> i32 {
    // Tokio has no name for this signal.
    rustix::process::Signal::CONT.as_raw()
}

/// Performs effects.
struct Worker {
    context: WorkContext,
    args: Arc<PrintArgs>,
    /// What the user entered is taken in order.
    entered: mpsc::UnboundedSender<Entry>,
}

enum Entry {
    Text(Draft, bool),
    Shell(String),
}

impl Entry {
    fn typed(&self) -> String {
        match self {
            Self::Text(draft, _) => draft.text.clone(),
            Self::Shell(command) => format!("!{command}"),
        }
    }
}

impl Worker {
    fn new(context: WorkContext, args: PrintArgs, prompts: Option<Prompts>) -> Self {
        let (entered, mut received) = mpsc::unbounded_channel::<Entry>();
        let taking = context.clone();
        let args = Arc::new(args);
        let with = args.clone();
        // One task for all entries: a prompt must not overtake the one that was entered before it.
        tokio::spawn(async move {
            while let Some(entry) = received.recv().await {
                if let Some(prompts) = &prompts {
                    prompts.add(&entry.typed());
                }
                match entry {
                    Entry::Text(draft, now) => enter::enter(&taking, &with, draft, now).await,
                    Entry::Shell(command) => enter::shell(&taking, command).await,
                }
            }
        });
        Self { context, args, entered }
    }

    /// Passes on what happens, until the session ends.
    fn pass_on(&self, events: InteractiveEvents) -> tokio::task::JoinHandle<()> {
        let WorkContext { session, setup, mailbox, status, .. } = self.context.clone();
        tokio::spawn(pass_on(Some(session), events, mailbox, setup, status))
    }

    /// Performs effects until the user quits, or chooses another session.
    async fn serve(&self, early: Vec<Effect>, effects: &mut Effects) -> Option<Switch> {
        let mut early = early.into_iter();
        loop {
            let effect = match early.next() {
                Some(effect) => effect,
                None => effects.recv().await?,
            };
            // What takes time runs in a task of its own, so that the user can quit at any moment.
            let context = self.context.clone();
            match effect {
                // Not in a task: what follows these two must not run in this session.
                Effect::Quit => return None,
                Effect::Switch { session, fork } => return Some(Switch { session, fork }),
                Effect::Enter(draft) => self.enter(Entry::Text(draft, false)),
                Effect::EnterNow(draft) => self.enter(Entry::Text(draft, true)),
                Effect::Shell(command) => self.enter(Entry::Shell(command)),
                Effect::Interrupt => {
                    tokio::spawn(async move {
                        if let Err(error) = context.session.session().interrupt(None).await {
                            context.report(&error.to_string());
                        }
                    });
                }
                Effect::StopShell => self.context.shell.stop(),
                Effect::StartNext => {
                    tokio::spawn(async move {
                        if let Err(error) = context.session.queue().start_next().await {
                            context.report(&error.to_string());
                        }
                    });
                }
                Effect::CancelPrompt(input) => {
                    tokio::spawn(async move {
                        if let Err(error) = context.session.queue().cancel(&input).await {
                            context.report(&error.to_string());
                        }
                    });
                }
                Effect::MovePrompt(input, position) => {
                    tokio::spawn(async move {
                        if let Err(error) = context.session.queue().move_to(&input, position).await
                        {
                            context.report(&error.to_string());
                        }
                    });
                }
                Effect::Decide { call, answer, note } => {
                    tokio::spawn(decide(context, call, answer, note));
                }
                Effect::AnswerUser { id, answer } => self.context.choices.answer(id, answer),
                Effect::TestRule { call, rule } => {
                    tokio::spawn(async move { test_rule(&context, call, rule) });
                }
                Effect::MoveToBackground(calls) => {
                    tokio::spawn(move_to_background(context, calls));
                }
                Effect::SetMode(mode) => {
                    tokio::spawn(async move {
                        if let Err(error) = context.session.set_mode(mode).await {
                            context.report(&error.to_string());
                        }
                    });
                }
                Effect::NotifyIdle => {
                    tokio::spawn(
                        async move { ClientHooks::of(&context.session).notify_idle().await },
                    );
                }
                Effect::PasteImage => {
                    tokio::spawn(async move {
                        let environment = robota_sdk::processes::process_environment();
                        let cwd = &context.setup.places.cwd;
                        let pasted = clipboard::image(&environment, cwd).await;
                        context.mailbox.send(Event::ImagePasted(pasted));
                    });
                }
                Effect::Work(work) => {
                    tokio::spawn(async move {
                        let mailbox = context.mailbox.clone();
                        mailbox.send(Event::Answered(work(context).await));
                    });
                }
                // The thread that draws takes these itself, and trust was answered before.
                Effect::Trust(_)
                | Effect::ListFiles
                | Effect::Editor(_)
                | Effect::EditFile(_)
                | Effect::Reflow
                | Effect::Write(_)
                | Effect::WatchFocus
                | Effect::Suspend => {}
            }
        }
    }

    fn enter(&self, entry: Entry) {
        let _ = self.entered.send(entry);
    }

    /// Ends the session. Returns the lines that stay on the terminal.
    async fn end(&self, signal: bool, elapsed: Duration) -> Vec<String> {
        let session = &self.context.session;
        let costs = session.spending().costs().await;
        // Matchers of SessionEnd hooks know this word from Claude Code.
        let reason = if signal { "interrupted" } else { "prompt_input_exit" };
        let mut lines = self.resume_line();
        match tokio::time::timeout(END, session.shutdown(reason)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => lines.insert(0, format!("robota: {error}")),
            Err(_) => lines.insert(0, "robota: the session did not end in time".to_owned()),
        }
        if let Ok(costs) = costs {
            let usage = costs.usage();
            let mut line = format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
            if let Some(cost) = costs.cost() {
                line.push_str(&format!(" · ${cost:.2}"));
            }
            lines.push(format!("{line} · {}", clock_text(elapsed)));
        }
        lines
    }

    fn resume_line(&self) -> Vec<String> {
        if self.args.session.no_session_persistence {
            return Vec::new();
        }
        vec![format!("To resume this session: robota -r {}", self.context.session.id())]
    }
}

impl WorkContext {
    /// Shows a failure.
    pub(crate) fn report(&self, message: &str) {
        self.mailbox.send(Event::Notice(robota_sdk::Notice::Error(message.to_owned())));
    }
}

/// Passes on what happens in a session. Calls that need approval come with what they would do.
async fn pass_on(
    session: Option<InteractiveSession>,
    mut events: InteractiveEvents,
    mailbox: Mailbox,
    setup: Arc<Setup>,
    status: StatusLine,
) {
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                mailbox.send(Event::Notice(robota_sdk::Notice::Error(error.to_string())));
                return;
            }
        };
        let (asked, ended) = match &event {
            InteractiveEvent::ApprovalAsked { call, .. } => (Some(call.clone()), false),
            InteractiveEvent::Complete(_)
            | InteractiveEvent::Interrupted(_)
            | InteractiveEvent::Error(_) => (None, true),
            _ => (None, false),
        };
        status.observe(&event);
        mailbox.send(Event::Session(event));
        let Some(session) = &session else { continue };
        if let Some(call) = asked {
            // The preview reads files, so it is made here and not by the thread that draws.
            let question = session.approvals().into_iter().find(|it| it.call.call == call);
            if let Some(question) = question {
                mailbox.send(Event::Asked(Box::new(preview::asked(question, &setup))));
            }
        }
        if ended {
            if let Some(why) = session.spending().stop_reason() {
                mailbox.send(Event::Notice(robota_sdk::Notice::Error(why)));
            }
            mailbox.send(Event::Branch(super::branch::of(&setup.places.cwd)));
            if let Ok(costs) = session.spending().costs().await {
                mailbox.send(Event::Cost(costs.known_cost()));
                status.set_costs(costs);
            }
        }
    }
}

async fn decide(context: WorkContext, call: CallId, answer: Decided, note: Option<String>) {
    let permissions = context.session.session().permissions();
    let decided = match answer {
        Decided::Allow(scope) => permissions.decide(&call, Decision::Allow(scope), note).await,
        Decided::AllowRules(scope, rules) => {
            permissions.allow_with_rules(&call, scope, rules, note).await
        }
        Decided::Plan(mode) => {
            // The mode counts when the call runs.
            if let Err(error) = context.session.set_mode(mode).await {
                context.report(&error.to_string());
            }
            permissions.decide(&call, Decision::Allow(Scope::Once), note).await
        }
        Decided::Deny => permissions.decide(&call, Decision::Deny, note).await,
    };
    if let Err(error) = decided {
        context.report(&error.to_string());
    }
}

async fn move_to_background(context: WorkContext, calls: Vec<CallId>) {
    let Some(tasks) = context.session.tasks() else { return };
    for call in calls {
        match tasks.foreground().move_to_background(&call).await {
            // A call that has just ended needs no place in the background.
            Ok(_) | Err(NotMoved::NotWaiting(_)) => {}
            Err(error) => context.report(&error.to_string()),
        }
    }
}

fn test_rule(context: &WorkContext, call: CallId, rule: String) {
    let question = context.session.approvals().into_iter().find(|it| it.call.call == call);
    let Some(question) = question else { return };
    let call_of: &ToolUse = &question.call;
    let outcome = rules::test(&context.setup, call_of, &rule);
    context.mailbox.send(Event::RuleTested(RuleTest { call, rule, outcome }));
}
