//! A headless run (`robota -p`): sends one prompt and prints the answer.

use std::sync::Arc;

use robota_core::event::{Event, TurnEnd};
use robota_core::ids::SessionId;
use robota_core::sandbox::SandboxLevel;
use robota_core::turn::TurnReport;
use robota_session::{Approvals, ChatEnd, EventFilter, Resume, Session, StartAt, SubscriptionItem};
use tokio_util::sync::CancellationToken;

use crate::args::{OutputFormat, PrintArgs};
use crate::compose::{self, Parts};
use crate::provider::{self, ProviderRequest, WantedModel};
use crate::select_session::{SelectedSession, select_session};
use crate::setup::Setup;
use crate::telemetry::Telemetry;
use crate::{Exit, debug, hooks, output, sandbox, signals, stdin, store};

/// Runs one turn and prints its result.
pub(crate) async fn run(args: PrintArgs) -> anyhow::Result<Exit> {
    let given = args.print.clone().flatten().or_else(|| args.prompt.clone());
    let Some(prompt) = stdin::prompt(given)? else {
        output::error("no prompt; pass one with -p \"PROMPT\" or pipe it in (see robota --help)");
        return Ok(Exit::Usage);
    };
    let level = args.sandbox.map(SandboxLevel::from);
    let setup = Setup::load_for(&args.settings, args.permission_mode, level)?;
    setup.report_problems();
    let cwd = setup.places.cwd.clone();
    store::check_project_folder(&cwd)?;
    let telemetry = Telemetry::start(&setup.environment);
    debug::start(args.debug.as_ref().map(Option::as_deref), &cwd, &telemetry)?;
    let request = ProviderRequest {
        provider: args.provider.as_deref(),
        model: WantedModel::Flag(args.model.as_deref()),
    };
    let chosen = provider::choose(request, &setup).await?;
    let sessions = &args.session;
    let store = store::open(sessions.store.as_deref(), sessions.durability.into(), &setup).await?;
    let selected = select_session(sessions, &*store, &cwd.display().to_string()).await?;
    let cancel = signals::cancel_on_interrupt()?;
    let supervisor = compose::supervisor(&cwd);
    let environment = compose::environment(&setup.settings, &chosen.secrets);
    let request = sandbox::request(level, &setup);
    let fences = sandbox::prepare(request, &environment).await?;
    let confined = fences.confinement.is_some();
    let hooks = Arc::new(hooks::runner(&setup, selected.id(), &supervisor, &environment));
    let crash_cleanup = compose::crash_cleanup(&cwd);
    let builder = compose::session(Parts {
        redactor: setup.redactor(&chosen.secrets)?,
        chosen,
        cwd: cwd.clone(),
        name: sessions.name.clone(),
        mode: setup.settings.permissions.mode,
        policy: setup.policy.clone(),
        fences,
        searcher: compose::searcher(&setup.environment),
        hooks: Some(hooks),
        supervisor: supervisor.clone(),
        environment: sandbox::environment(&environment, confined, &setup),
        approvals: Approvals::Deny,
        crash_cleanup: crash_cleanup.clone(),
        max_rounds: args.max_turns,
    });
    let (session, since) = match &selected {
        SelectedSession::New(id) => {
            (builder.create(store, Some(id.clone())).await?, StartAt::Start)
        }
        SelectedSession::Resume(id, last) => {
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
    let metrics = telemetry.count(&session, since).await?;
    let watcher = match args.output_format {
        OutputFormat::Events => Some(print_events(&session, since).await?),
        OutputFormat::Text | OutputFormat::Json => None,
    };
    let id = session.id().clone();
    let report = run_turn(&session, &prompt, cancel).await;
    let reason = match &report {
        Ok(report) if report.interrupted() => "interrupted",
        _ => "other",
    };
    // The turn is recorded by now, so a store that fails here is reported but not an error of the
    // run.
    if let Err(error) = session.shutdown(reason).await {
        output::error(&error.to_string());
    }
    drop(session);
    supervisor.shutdown().await;
    // Both tasks end when the session ends.
    for task in [watcher, metrics].into_iter().flatten() {
        let _ = task.await;
    }
    telemetry.finish().await;
    Ok(finish(&report?, &id, args.output_format))
}

/// Sends the prompt and waits for the end of its turn.
async fn run_turn(
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

/// Starts a task that prints each event as it is written.
async fn print_events(
    session: &Session,
    since: StartAt,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    use futures::StreamExt as _;

    let mut events = session.subscribe(since, EventFilter::Everything).await?;
    Ok(tokio::spawn(async move {
        while let Some(observed) = events.next().await {
            match observed {
                Ok(SubscriptionItem::Event(event)) => output::line(&event.envelope.to_line()),
                Ok(_) => {}
                Err(error) => {
                    output::error(&error.to_string());
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
                output::error(&error.message);
            }
        }
    }
    output::exit(report)
}
