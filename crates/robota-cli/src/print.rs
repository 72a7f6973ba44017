//! A headless run: one prompt in, an answer out.

use std::sync::Arc;

use robota_core::event::{Event, TurnEnd};
use robota_core::ids::SessionId;
use robota_core::sandbox::SandboxLevel;
use robota_core::turn::TurnReport;
use robota_session::{Approvals, ChatEnd, EventFilter, Resume, Session, StartAt, SubscriptionItem};
use tokio_util::sync::CancellationToken;

use crate::args::{OutputFormat, PrintArgs};
use crate::compose::{self, Parts};
use crate::provider::{self, Wish};
use crate::setup::Setup;
use crate::telemetry::Telemetry;
use crate::which::{Which, which};
use crate::{Exit, debug, hooks, output, sandbox, signals, stdin, store};

/// Runs it.
pub(crate) async fn run(args: PrintArgs) -> anyhow::Result<Exit> {
    let given = args.print.clone().flatten().or_else(|| args.prompt.clone());
    let Some(prompt) = stdin::prompt(given)? else {
        output::complain(
            "no prompt. Say what to do: robota -p \"PROMPT\", or pipe it in. See --help.",
        );
        return Ok(Exit::Usage);
    };
    let level = args.sandbox.map(SandboxLevel::from);
    let setup = Setup::load_for(&args.settings, args.permission_mode, level)?;
    setup.tell_problems();
    let cwd = setup.places.cwd.clone();
    let telemetry = Telemetry::start(&setup.environment);
    debug::start(args.debug.as_ref().map(Option::as_deref), &cwd, &telemetry)?;
    let wish = Wish { provider: args.provider.as_deref(), model: args.model.as_deref() };
    let chosen = provider::choose(wish, &setup).await?;
    let sessions = &args.session;
    let store = store::open(sessions.store.as_deref(), sessions.durability.into(), &setup).await?;
    let which = which(sessions, &*store, &cwd.display().to_string()).await?;
    let cancel = signals::cancel_on_interrupt()?;
    let supervisor = compose::supervisor(&cwd);
    let environment = compose::environment(&setup.settings.values.env);
    let wanted = sandbox::wanted(level, &setup);
    let confinement = sandbox::confinement(wanted, &environment).await?;
    let confined = confinement.is_some();
    let hooks = Arc::new(hooks::runner(&setup, which.id(), &supervisor, &environment));
    let crash_cleanup = compose::crash_cleanup(&cwd);
    let builder = compose::session(Parts {
        redactor: setup.redactor(&chosen.secrets),
        chosen,
        cwd: cwd.clone(),
        name: sessions.name.clone(),
        mode: setup.settings.permissions.mode,
        policy: setup.policy.clone(),
        confinement,
        searcher: compose::searcher(&setup.environment),
        hooks: Some(hooks),
        supervisor: supervisor.clone(),
        environment: sandbox::environment(&environment, confined, &setup),
        approvals: Approvals::Deny,
        crash_cleanup: crash_cleanup.clone(),
        max_rounds: args.max_turns,
    });
    let (session, since) = match &which {
        Which::New(id) => (builder.create(store, Some(id.clone())).await?, StartAt::Start),
        Which::Resume(id, last) => {
            let since = StartAt::After(*last);
            let resume = Resume { hints: compose::recovery_hints(&cwd), ..Resume::default() };
            let session = builder.resume(store, id, resume).await?;
            crash_cleanup.remove_records();
            if let Some(name) = &sessions.name {
                session.rename(name.clone()).await?;
            }
            (session, since)
        }
    };
    let counted = telemetry.count(&session, since).await?;
    let watcher = match args.output_format {
        OutputFormat::Events => Some(watch(&session, since).await?),
        OutputFormat::Text | OutputFormat::Json => None,
    };
    let id = session.id().clone();
    let report = say(&session, &prompt, cancel).await;
    let reason = match &report {
        Ok(report) if report.interrupted() => "interrupted",
        _ => "other",
    };
    // What was said is safe by now; a store that fails here has nothing more to lose.
    if let Err(error) = session.shutdown(reason).await {
        output::complain(&error.to_string());
    }
    drop(session);
    supervisor.shutdown().await;
    // They end with the session.
    for task in [watcher, counted].into_iter().flatten() {
        let _ = task.await;
    }
    telemetry.finish().await;
    Ok(finish(&report?, &id, args.output_format))
}

/// Says the prompt and waits for the end of its turn.
pub(crate) async fn say(
    session: &Session,
    prompt: &str,
    cancel: CancellationToken,
) -> anyhow::Result<TurnReport> {
    let mut chat = session.chat(prompt, EventFilter::Everything).await?;
    chat.wait_for_approvals();
    let stop = session.clone();
    let interrupt = tokio::spawn(async move {
        cancel.cancelled().await;
        stop.interrupt(None).await
    });
    while let Some(event) = chat.next().await {
        if let Event::ModelRetry(data) = event?.event() {
            output::retry(data);
        }
    }
    interrupt.abort();
    let reply = chat.finish().await?;
    let (end, error) = match reply.end {
        ChatEnd::Ended { end, error } => (end, error),
        ChatEnd::Blocked { reason } => {
            output::note(&format!("robota: {reason}"));
            (TurnEnd::Blocked, None)
        }
        _ => (TurnEnd::Interrupted, None),
    };
    Ok(TurnReport {
        end,
        text: reply.text,
        stop: reply.stop,
        rounds: reply.rounds,
        tools_executed: reply.tools_executed,
        usage: reply.usage,
        cost: reply.cost,
        duration: reply.duration,
        error,
    })
}

/// Prints the journal's lines as they are written.
async fn watch(session: &Session, since: StartAt) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    use futures::StreamExt as _;

    let mut events = session.subscribe(since, EventFilter::Everything).await?;
    Ok(tokio::spawn(async move {
        while let Some(observed) = events.next().await {
            match observed {
                Ok(SubscriptionItem::Event(event)) => output::line(&event.envelope.to_line()),
                Ok(_) => {}
                Err(error) => {
                    output::complain(&error.to_string());
                    return;
                }
            }
        }
    }))
}

fn finish(report: &TurnReport, session: &SessionId, format: OutputFormat) -> Exit {
    match format {
        OutputFormat::Text => output::text(report),
        OutputFormat::Json => output::line(&output::json(report, session).to_string()),
        OutputFormat::Events => {
            if let Some(error) = &report.error {
                output::complain(&error.message);
            }
        }
    }
    output::exit(report)
}
