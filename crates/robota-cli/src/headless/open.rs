//! Opens the session of a headless run.

use std::sync::Arc;

use robota_core::approve::RuleSink;
use robota_core::hook::{HookContext, Hooks};
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::Message;
use robota_core::sandbox::SandboxLevel;
use robota_exec::Supervisor;
use robota_session::{
    Approvals, Callbacks, EventFilter, Resume, Session, SessionError, StartAt, SubscriptionItem,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::drive::{Drive, RunFacts};
use super::input::FromHost;
use super::meter::{BudgetHooks, Meter};
use super::options::RunOptions;
use super::permissions::HostCommand;
use super::project::{Projection, Shown};
use super::requests::Requests;
use super::structured::{Answer, StructuredHooks, StructuredOutput};
use super::writer::{LineWriter, block_line_id};
use crate::args::{OutputFormat, PrintArgs};
use crate::compose::{self, Parts, ToolChoice};
use crate::select_session::SelectedSession;
use crate::setup::Setup;
use crate::signals::Cancel;
use crate::{Usage, output, sandbox};

/// What a session is opened with.
pub(crate) struct Opening<'a> {
    pub(crate) args: &'a PrintArgs,
    pub(crate) options: &'a Arc<RunOptions>,
    pub(crate) setup: &'a Arc<Setup>,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) selected: &'a SelectedSession,
    pub(crate) requests: Requests,
    pub(crate) writer: &'a Arc<LineWriter>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) commands: mpsc::UnboundedReceiver<HostCommand>,
    pub(crate) from_host: Option<mpsc::UnboundedReceiver<FromHost>>,
}

/// An open session.
pub(crate) struct Opened {
    /// The run.
    pub(crate) drive: Drive,
    /// The first event of the run.
    pub(crate) since: StartAt,
    /// Owns every child process.
    pub(crate) supervisor: Supervisor,
}

/// Opens the session: creates it, or resumes it.
pub(crate) async fn open(opening: Opening<'_>) -> anyhow::Result<Opened> {
    let Opening { args, options, setup, store, selected, mut requests, writer, cancel, .. } =
        opening;
    let Some(chosen) = requests.chosen.take() else { anyhow::bail!("no model is selected") };
    let cwd = setup.places.cwd.clone();
    let supervisor = compose::supervisor(&cwd);
    let environment = compose::environment(&setup.settings, &chosen.secrets);
    let request = sandbox::request(args.sandbox.map(SandboxLevel::from), setup);
    let fences = sandbox::prepare(request, &environment).await?;
    let confined = fences.confinement.is_some();
    let settings_hooks = crate::hooks::runner(setup, selected.id(), &supervisor, &environment);
    requests.hook_runners.push(Arc::new(settings_hooks));
    let given = std::mem::take(&mut requests.host_setup);
    if !given.hooks.is_empty() {
        let mut context = HookContext::new(selected.id().as_str(), cwd.display().to_string());
        context.transcript_path = Some(String::new());
        let runner = given.hooks.runner(context, requests.host.clone());
        requests.hook_runners.push(Arc::new(runner));
    }
    for hooks in &requests.hook_runners {
        let mode = requests.mode.session();
        hooks.update_context(|context| context.permission_mode = Some(mode));
    }
    let mut all_hooks: Vec<Arc<dyn Hooks>> = vec![Arc::new(BudgetHooks(requests.meter.clone()))];
    all_hooks.extend(requests.hook_runners.iter().map(|hooks| hooks.clone() as Arc<dyn Hooks>));
    let schema = given.schema.or_else(|| options.schema.clone());
    let structured = schema.as_ref().map(|_| Arc::new(Answer::default()));
    let mut tools = ToolChoice { only: options.tools.clone(), ..ToolChoice::default() };
    if let (Some(schema), Some(answer)) = (schema, &structured) {
        all_hooks.push(Arc::new(StructuredHooks(answer.clone())));
        tools.more.push(Arc::new(StructuredOutput::new(schema, answer.clone())));
    }
    if let Some(approver) = &requests.approver {
        tools.questions = Some(approver.clone());
    }
    let offered = tools.offered.clone();
    let (meter, observed) = (requests.meter.clone(), structured.clone());
    let crash_cleanup = compose::crash_cleanup(&cwd);
    let name = args.session.name.clone().or(given.title);
    let system = given.system.as_deref().or(options.system.as_deref());
    let append = given.append_system.as_deref().or(options.append_system.as_deref());
    let builder = compose::session(Parts {
        redactor: setup.redactor(&chosen.secrets)?,
        chosen,
        cwd: cwd.clone(),
        name: name.clone(),
        mode: requests.mode.session(),
        policy: setup.policy.clone(),
        fences,
        searcher: compose::searcher(&setup.environment),
        hooks: all_hooks,
        supervisor: supervisor.clone(),
        environment: sandbox::environment(&environment, confined, setup),
        approvals: match &requests.approver {
            Some(approver) => Approvals::Handler(approver.clone()),
            None => Approvals::Deny,
        },
        crash_cleanup: crash_cleanup.clone(),
        max_rounds: args.max_turns,
        system: compose::system_prompt(&cwd, system, append),
        tools,
        effort: args.effort.clone(),
        callbacks: Callbacks::new().on_event(Arc::new(move |event| {
            meter.observe(event);
            if let Some(answer) = &observed {
                answer.observe(event);
            }
        })),
    });
    let builder = builder.rule_sink(requests.saved.clone() as Arc<dyn RuleSink>);
    let blobs = store.blobs(selected.id());
    let earlier = count_earlier(&store, selected, &requests.meter, options.format);
    let (session, since) = match selected {
        SelectedSession::New(id) => {
            let created = builder.create(store, Some(id.clone())).await;
            (created.map_err(|error| in_use(error.into()))?, StartAt::Start)
        }
        SelectedSession::Resume(id, last) => {
            let resume = Resume { hints: compose::recovery_hints(&cwd), ..Resume::default() };
            let session = builder.resume(store, id, resume).await?;
            crash_cleanup.remove_records();
            if let Some(name) = name {
                session.rename(name).await?;
            }
            (session, StartAt::After(*last))
        }
    };
    if let Some(uuid) = &args.session.resume_session_at {
        rewind(&session, uuid).await?;
    }
    requests.session = Some(session.clone());
    let shown = Shown {
        partial: options.partial,
        hooks: options.hook_events,
        replay: options.replay,
        host: requests.approver.is_some(),
        notes: options.format == OutputFormat::Text,
    };
    let facts = RunFacts {
        cwd: cwd.display().to_string(),
        directories: setup
            .workspace()
            .additional
            .iter()
            .map(|folder| folder.display().to_string())
            .collect(),
        tools: offered.get().cloned().unwrap_or_default(),
    };
    let drive = Drive {
        session,
        blobs,
        projection: Projection::new(
            writer.clone(),
            shown,
            structured.clone(),
            (requests.meter.clone(), requests.watch.clone()),
            cwd.clone(),
        ),
        approver: requests.approver.clone(),
        requests,
        options: options.clone(),
        writer: writer.clone(),
        structured,
        facts,
        cancel: cancel.clone(),
        from_host: opening.from_host,
        commands: opening.commands,
        earlier,
        interrupting: None,
        injected: Vec::new(),
    };
    Ok(Opened { drive, since, supervisor })
}

/// Says that a session with the id exists in the words that hosts look for.
pub(crate) fn in_use(error: anyhow::Error) -> anyhow::Error {
    let journal = match error.downcast_ref() {
        Some(SessionError::Journal(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    match journal {
        Some(JournalError::Exists(id)) => {
            let text = format!("Session ID {id} is already in use.");
            error.context(text)
        }
        _ => error,
    }
}

/// Starts to count the model calls of earlier runs of a session, if the result tells them.
fn count_earlier(
    store: &Arc<dyn JournalStore>,
    selected: &SelectedSession,
    meter: &Arc<Meter>,
    format: OutputFormat,
) -> Option<JoinHandle<Result<(), JournalError>>> {
    let SelectedSession::Resume(id, last) = selected else { return None };
    match format {
        OutputFormat::Json | OutputFormat::StreamJson => {}
        OutputFormat::Text | OutputFormat::Events => return None,
    }
    let (store, id, last, meter) = (store.clone(), id.clone(), *last, meter.clone());
    // A long journal is read while the model answers.
    Some(tokio::spawn(async move { meter.count_earlier(&*store, &id, last).await }))
}

/// Goes back to the message of which a line has this id.
async fn rewind(session: &Session, uuid: &str) -> anyhow::Result<()> {
    let context = session.context();
    let messages = context.messages().await?;
    let has_line = |message: &Message| {
        (0..message.content.len().max(1)).any(|index| {
            block_line_id(message.id.as_str(), index).is_some_and(|line| line.as_str() == uuid)
        })
    };
    let found = messages.iter().rev().find(|message| has_line(message));
    let Some(message) = found else {
        return Err(Usage(format!("No message found with message.uuid of: {uuid}")).into());
    };
    Ok(context.rewind(&message.id).await?)
}

/// Starts a task that prints each event as it is written.
pub(crate) async fn print_events(
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
