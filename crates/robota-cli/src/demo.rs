//! `robota demo`: the main job, offline and without a key. The model is played from a script;
//! the project, the edit, the command, the crash in the middle of it, the recovery and the
//! journal are real.

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
use robota_core::redact::Redactor;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_exec::{CommandSpec, OutputSink, Supervisor};
use robota_policy::{Policy, PolicySpec, Workspace};
use robota_session::{Approvals, EventFilter, Resume, Session, SessionBuilder, approver_fn};
use robota_store::FileStore;
use show::Show;
use tokio_util::sync::CancellationToken;

use crate::args::DemoArgs;
use crate::compose::{self, Parts};
use crate::provider::{self, Chosen};
use crate::{Exit, output, setup, signals, store};

const FIRST: &str = include_str!("demo/first.yaml");
const SECOND: &str = include_str!("demo/second.yaml");
const PROMPT: &str = "check.sh fails. Find out why, fix it, and run it again.";
const AGAIN: &str = "You were cut off. Go on.";

/// The one command of the scripts: the demonstration approves this and nothing else.
const COMMAND: &str = "sh check.sh";

/// The session of the demonstration.
const SESSION: &str = "agent:demo/session:main";

/// Runs it.
pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    let show = Show::new(args.colour);
    if args.first_act {
        return first_act(args.dir.as_deref().unwrap_or(Path::new(".")), show).await;
    }
    let project = project::make(args.dir)?;
    let cwd = compose::working_directory(Some(&project))?;
    show.heading("A throw-away project with a bug");
    show.plain(&format!("  {}", cwd.display()));
    show.plain("  check.sh compares what greet.sh prints; greet.sh has a typo.");
    show.heading("The prompt");
    show.plain(&format!("  {PROMPT}"));
    show.heading("The run (the model is played from a script; everything else is real)");
    let cancel = signals::cancel_on_interrupt()?;
    if !play_first_act(&cwd, show, cancel.clone()).await? {
        return Ok(Exit::Interrupted);
    }
    show.heading("The process was killed (SIGKILL) in the middle of the command. Another one:");
    let report = second_act(&cwd, show, cancel).await?;
    if report != Exit::Ok {
        return Ok(report);
    }
    journal(show, &cwd).await?;
    show.heading("What to type next");
    show.plain(&format!("  cat {}/greet.sh", cwd.display()));
    show.plain("  robota -p \"…\" --provider scripted:FILE   a run of your own (docs/scripted.md)");
    show.plain("  robota --help");
    Ok(Exit::Ok)
}

fn sessions(cwd: &Path) -> Arc<FileStore> {
    Arc::new(FileStore::new(store::project_folder(cwd)))
}

fn builder(cwd: &Path, script: &str, supervisor: Supervisor) -> anyhow::Result<SessionBuilder> {
    let script = Script::from_yaml(script).context("the demonstration's own script is broken")?;
    let chosen = Chosen {
        provider: Arc::new(ScriptedProvider::new(script)),
        service: None,
        model: provider::scripted_model(),
        timeout: Duration::from_secs(120),
        secrets: Vec::new(),
    };
    let spec = PolicySpec::new(Workspace::new(cwd, "/nonexistent"))
        .mode(Mode::AcceptEdits)
        .with_defaults();
    let (policy, _) = Policy::new(&spec, &*setup::paths());
    Ok(compose::session(Parts {
        chosen,
        redactor: Redactor::default(),
        cwd: cwd.to_owned(),
        name: Some("demonstration".to_owned()),
        mode: Mode::AcceptEdits,
        policy,
        confinement: None,
        searcher: None,
        hooks: None,
        supervisor,
        environment: compose::environment(&indexmap::IndexMap::new()),
        approvals: Approvals::Handler(approver_fn(|question| async move { approve(&question) })),
        crash_cleanup: compose::crash_cleanup(cwd),
        max_rounds: 0,
    }))
}

/// Plays the first act in a process of its own; whether it died as it should.
async fn play_first_act(cwd: &Path, show: Show, cancel: CancellationToken) -> anyhow::Result<bool> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut arguments = vec!["demo".into(), "--first-act".into(), "--dir".into(), cwd.into()];
    if show.colour() {
        arguments.push("--colour".into());
    }
    let spec = CommandSpec::new(own, cwd)
        .args::<std::ffi::OsString>(arguments)
        .env(compose::environment(&indexmap::IndexMap::new()))
        .timeout(Duration::from_secs(120))
        .sink(OutputSink::new(output::bytes));
    let outcome = Supervisor::new().run(spec, &cancel).await?;
    if cancel.is_cancelled() {
        return Ok(false);
    }
    anyhow::ensure!(
        outcome.exit == robota_exec::Exit::Signal(9),
        "the first act was to be killed, but ended otherwise: {:?}",
        outcome.exit
    );
    Ok(true)
}

/// A session that is killed while its command runs.
async fn first_act(cwd: &Path, show: Show) -> anyhow::Result<Exit> {
    let builder = builder(cwd, FIRST, compose::supervisor(cwd))?;
    let session = builder.create(sessions(cwd), Some(SessionId::from(SESSION))).await?;
    let started = cwd.join(project::STARTED);
    drop(tokio::spawn(async move {
        // The command says that it runs; then, in the middle of it, the process is gone.
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        robota_exec::crash();
    }));
    play(&session, PROMPT, show, CancellationToken::new()).await
}

/// The same session in another process.
async fn second_act(cwd: &Path, show: Show, cancel: CancellationToken) -> anyhow::Result<Exit> {
    // The reaper ends what the dead process left and writes down how; it needs a moment.
    let mut hints = compose::recovery_hints(cwd);
    for _ in 0..200 {
        if hints.iter().any(|hint| hint.exit.is_some()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        hints = compose::recovery_hints(cwd);
    }
    let supervisor = compose::supervisor(cwd);
    let builder = builder(cwd, SECOND, supervisor.clone())?;
    let (store, id) = (sessions(cwd), SessionId::from(SESSION));
    let last = store.head(&id).await?.last;
    let resume = Resume { hints, ..Resume::default() };
    let session = builder.resume(store.clone(), &id, resume).await?;
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
    show.plain(&format!("  {AGAIN}"));
    let exit = play(&session, AGAIN, show, cancel).await?;
    session.shutdown("done").await?;
    supervisor.shutdown().await;
    Ok(exit)
}

/// Says something, and shows what becomes of it.
async fn play(
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

async fn journal(show: Show, cwd: &Path) -> anyhow::Result<()> {
    let (store, id) = (sessions(cwd), SessionId::from(SESSION));
    let events = read_all(&*store, &id, 0).await?;
    show.heading("The journal it left behind: the session, event by event");
    show.plain(&format!("  {} ({} events)", store.folder(&id).display(), events.len()));
    let interesting = [
        "input_accepted",
        "tool_started",
        "tool_finished",
        "opened",
        "recovered",
        "turn_finished",
        "closed",
    ];
    for envelope in events.iter().filter(|event| interesting.contains(&event.event.kind())) {
        show.dim(&journal_line(envelope)?);
    }
    Ok(())
}

fn journal_line(envelope: &Envelope) -> anyhow::Result<String> {
    let value: serde_json::Value = serde_json::from_str(&envelope.to_line())?;
    let (seq, kind) = (envelope.cursor(), envelope.event.kind());
    Ok(format!("  {seq:>5}  {kind:<14}  {}", show::cut(&value["data"].to_string(), 80)))
}

/// Says yes to the one command of the scripts.
fn approve(question: &Question) -> Answer {
    let command = question.call.input.json().and_then(|input| input.get("command")?.as_str());
    if question.call.name == "Bash" && command == Some(COMMAND) {
        let note = Some("approved: the demonstration approves this one command".to_owned());
        Answer::Allow { note }
    } else {
        let note = Some("the demonstration approves only its own command".to_owned());
        Answer::Deny { note }
    }
}
