//! `robota demo`: a run that works offline and without a key. A script replaces the model; the
//! project, the edit, the command, the crash in the middle of it, the recovery and the journal
//! are real.

mod project;
mod show;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use robota_core::approve::{Answer, Question};
use robota_core::event::{Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, read_all};
use robota_core::permission::Mode;
use robota_core::sandbox::SandboxLevel;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_exec::{CommandSpec, OutputSink, Supervisor};
use robota_sdk::{
    Earlier, InteractiveSession, InteractiveSessionBuilder, ModelSetup, Project, ProjectOptions,
    SessionChoice, processes, store, working_directory,
};
use robota_session::{EventFilter, Session, approver_fn};
use robota_store::FileStore;
use show::Show;
use tokio_util::sync::CancellationToken;

use crate::args::DemoArgs;
use crate::{Exit, output, provider, setup, signals};

const FIRST_SCRIPT: &str = include_str!("demo/first.yaml");
const SECOND_SCRIPT: &str = include_str!("demo/second.yaml");
const PROMPT: &str = "check.sh fails. Find out why, fix it, and run it again.";
const SECOND_PROMPT: &str = "You were interrupted. Continue.";

/// The only command of the scripts, and the only one that the demo approves.
const COMMAND: &str = "sh check.sh";

/// The id of the demo's session.
const SESSION: &str = "agent:demo/session:main";

/// Runs the demo.
pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    let show = Show::new(args.colour);
    if args.first_act {
        return first_act(args.dir.as_deref().unwrap_or(Path::new(".")), show).await;
    }
    let project = project::create(args.dir)?;
    let cwd = working_directory(Some(&project))?;
    show.heading("A temporary project with a bug");
    show.plain(&format!("  {}", cwd.display()));
    show.plain("  check.sh checks the output of greet.sh; greet.sh has a typo.");
    show.heading("The prompt");
    show.plain(&format!("  {PROMPT}"));
    show.heading("The run (a script replaces the model; everything else is real)");
    let cancel = signals::cancel_on_interrupt()?;
    if !run_first_act(&cwd, show, cancel.token().clone()).await? {
        return Ok(Exit::Interrupted);
    }
    show.heading(
        "The process was killed (SIGKILL) while the command ran. A new process resumes the session",
    );
    let report = second_act(&cwd, show, cancel.token().clone()).await?;
    if report != Exit::Ok {
        return Ok(report);
    }
    show_journal(show, &cwd).await?;
    show.heading("Try next");
    show.plain(&format!("  cat {}/greet.sh", cwd.display()));
    show.plain("  robota -p \"…\" --provider scripted:FILE   your own script (docs/scripted.md)");
    show.plain("  robota --help");
    Ok(Exit::Ok)
}

fn session_store(cwd: &Path) -> Arc<FileStore> {
    Arc::new(FileStore::new(store::project_folder(cwd)))
}

fn builder(cwd: &Path, script: &str) -> anyhow::Result<InteractiveSessionBuilder> {
    let script = Script::from_yaml(script)
        .context("the demo script is invalid (this is a bug in robota)")?;
    let model = ModelSetup::new(ScriptedProvider::new(script), provider::scripted_model());
    // The demo is the same for everyone: no settings of the user, no key of the environment.
    let options = ProjectOptions {
        cwd: Some(cwd.to_owned()),
        environment: Some(robota_config::ProgramEnvironment::default()),
        mode: Some(Mode::AcceptEdits),
        sandbox: Some(SandboxLevel::Off),
        sources: Some(Vec::new()),
        ..ProjectOptions::default()
    };
    let builder = InteractiveSession::builder(Project::load(options)?, model)
        .store(session_store(cwd))
        .name("demo")
        .approver(approver_fn(|question| async move { approve(&question) }));
    Ok(match setup::reaper() {
        Some(reaper) => builder.reaper(reaper),
        None => builder,
    })
}

/// Runs the first act in a child process, which kills itself. Returns false if the user
/// interrupted it.
async fn run_first_act(cwd: &Path, show: Show, cancel: CancellationToken) -> anyhow::Result<bool> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let mut arguments = vec!["demo".into(), "--first-act".into(), "--dir".into(), cwd.into()];
    if show.colour() {
        arguments.push("--colour".into());
    }
    let spec = CommandSpec::new(own, cwd)
        .args::<std::ffi::OsString>(arguments)
        .env(processes::process_environment())
        // More than the minute for which the first run of check.sh sleeps.
        .timeout(Duration::from_secs(120))
        .sink(OutputSink::new(output::bytes));
    let outcome = Supervisor::new().run(spec, &cancel).await?;
    if cancel.is_cancelled() {
        return Ok(false);
    }
    anyhow::ensure!(
        outcome.exit == robota_exec::Exit::Signal(9),
        "the first part of the demo should have been killed, but ended with {:?}",
        outcome.exit
    );
    Ok(true)
}

/// Runs the session in a process that kills itself while the command runs.
async fn first_act(cwd: &Path, show: Show) -> anyhow::Result<Exit> {
    let new = SessionChoice::New(Some(SESSION.to_owned()));
    let session = builder(cwd, FIRST_SCRIPT)?.choose(new).open().await?;
    let started = cwd.join(project::STARTED);
    drop(tokio::spawn(async move {
        // The command creates this file when it starts. The crash comes while it runs.
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        robota_exec::crash();
    }));
    run_turn(session.session(), PROMPT, show, CancellationToken::new()).await
}

/// Resumes the session in this process, and finishes the work.
async fn second_act(cwd: &Path, show: Show, cancel: CancellationToken) -> anyhow::Result<Exit> {
    // The reaper of the crashed process ends the command and records its exit; that takes a moment.
    // Two seconds at most: without the record the session is resumed all the same.
    for _ in 0..200 {
        if processes::recovery_hints(cwd).iter().any(|hint| hint.exit.is_some()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (store, id) = (session_store(cwd), SessionId::from(SESSION));
    let last = store.head(&id).await?.last;
    let session = builder(cwd, SECOND_SCRIPT)?
        .choose(SessionChoice::Earlier(Earlier::Named(SESSION.to_owned())))
        .open()
        .await?;
    let mut calls = Vec::new();
    for envelope in read_all(&*store, &id, 0).await? {
        if let Event::ToolCalled(data) = &envelope.event {
            calls.push(data.tool_use.clone());
        }
        if envelope.seq > last.seq {
            show.event(&envelope.event, &mut calls);
        }
    }
    show.heading("The prompt");
    show.plain(&format!("  {SECOND_PROMPT}"));
    let exit = run_turn(session.session(), SECOND_PROMPT, show, cancel).await?;
    session.shutdown("done").await?;
    Ok(exit)
}

/// Sends a prompt and shows the events of its turn.
async fn run_turn(
    session: &Session,
    prompt: &str,
    show: Show,
    cancel: CancellationToken,
) -> anyhow::Result<Exit> {
    let mut chat = session.chat(prompt, EventFilter::Everything).await?;
    chat.wait_for_approvals();
    let mut calls = Vec::new();
    loop {
        tokio::select! {
            // First the signal: events that are ready could otherwise delay it.
            biased;
            () = cancel.cancelled() => {
                session.interrupt(None).await?;
                return Ok(Exit::Interrupted);
            }
            event = chat.next() => match event {
                Some(event) => show.event(event?.event(), &mut calls),
                None => break,
            },
        }
    }
    chat.finish().await?.into_text()?;
    Ok(Exit::Ok)
}

async fn show_journal(show: Show, cwd: &Path) -> anyhow::Result<()> {
    let (store, id) = (session_store(cwd), SessionId::from(SESSION));
    let events = read_all(&*store, &id, 0).await?;
    show.heading("The journal of the session (main events)");
    show.plain(&format!("  {} ({} events)", store.folder(&id).display(), events.len()));
    let shown = [
        "input_accepted",
        "tool_started",
        "tool_finished",
        "opened",
        "recovered",
        "turn_finished",
        "closed",
    ];
    for envelope in events.iter().filter(|event| shown.contains(&event.event.kind())) {
        show.dim(&journal_line(envelope)?);
    }
    Ok(())
}

fn journal_line(envelope: &Envelope) -> anyhow::Result<String> {
    let value: serde_json::Value = serde_json::from_str(&envelope.to_line())?;
    let (seq, kind) = (envelope.cursor(), envelope.event.kind());
    Ok(format!("  {seq:>5}  {kind:<14}  {}", show::truncate(&value["data"].to_string(), 80)))
}

/// Approves the command of the scripts and nothing else.
fn approve(question: &Question) -> Answer {
    let command = question.call.input.json().and_then(|input| input.get("command")?.as_str());
    if question.call.name == "Bash" && command == Some(COMMAND) {
        let note = Some("approved: the demo approves this one command".to_owned());
        Answer::Allow { note }
    } else {
        let note = Some("the demo approves only its own command".to_owned());
        Answer::Deny { note }
    }
}
