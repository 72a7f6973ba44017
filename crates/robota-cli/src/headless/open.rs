//! Opens the session of a headless run.

use std::sync::{Arc, OnceLock};

use robota_core::approve::RuleSink;
use robota_core::event::{Event, InputAccepted, InputSource};
use robota_core::hook::{HookContext, HookEffort, HookEvent, ModelSwitchSource};
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::Message;
use robota_sdk::{
    AgentOptions, BackgroundOptions, CommandInfo, CommandOrigin, HOOK_WAKE, InteractiveSession,
    SdkError, SelectedSession, SessionTranscript, agent_mode, session_end_timeout,
};
use robota_session::{
    Approvals, Callbacks, EventFilter, Session, SessionError, StartAt, SubscriptionItem,
    WeakSession,
};
use robota_stream_json::{MemoryPaths, TurnOrigin};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::after_turn::AfterTurn;
use super::background::Background;
use super::compactions::Compactions;
use super::decisions::InterruptTurn;
use super::describe;
use super::drive::{Drive, ProgramInput, RunFacts};
use super::follow_up::FollowUps;
use super::hook_approver::HookApprover;
use super::hook_lines::HookChanges;
use super::input::FromHost;
use super::mcp;
use super::meter::{BudgetHooks, Meter};
use super::model_change::ModelChanges;
use super::options::{LineMode, RunOptions};
use super::project::{Projection, Shown};
use super::requests::Requests;
use super::structured::{Answer, StructuredHooks, StructuredOutput};
use super::tool_approver::ToolApprover;
use super::tool_policies::ToolPolicies;
use super::writer::{LineWriter, block_line_id};
use crate::agent_process::{self, ProcessOptions};
use crate::args::{OutputFormat, PrintArgs};
use crate::setup::{self, Setup, print_notice};
use crate::signals::Cancel;
use crate::{Configuration, Usage, main_agent, output};

/// What a session is opened with.
pub(crate) struct Opening<'a> {
    pub(crate) args: &'a PrintArgs,
    pub(crate) options: &'a Arc<RunOptions>,
    pub(crate) setup: &'a Arc<Setup>,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) selected: SelectedSession,
    pub(crate) requests: Requests,
    pub(crate) writer: &'a Arc<LineWriter>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) commands: mpsc::UnboundedReceiver<InterruptTurn>,
    pub(crate) from_host: Option<mpsc::UnboundedReceiver<FromHost>>,
}

/// An open session.
pub(crate) struct Opened {
    /// What runs the prompts, and follows the events of the session.
    pub(crate) drive: Drive,
    /// The session that it runs them in.
    pub(crate) session: InteractiveSession,
}

/// Opens the session: creates it, or resumes it.
pub(crate) async fn open(opening: Opening<'_>) -> anyhow::Result<Opened> {
    let Opening { args, options, setup, store, selected, mut requests, writer, cancel, .. } =
        opening;
    let agent = main_agent::find(options.agent.as_deref(), setup, requests.agents.clone())?;
    if let Some(agent) = &agent {
        let model = main_agent::model(agent, &requests.model);
        if let Some(model) = model.filter(|_| args.model.is_none()) {
            let changed = requests.set_model(Some(model), ModelSwitchSource::Api).await;
            changed.map_err(|(_, why)| Configuration::wrap(anyhow::anyhow!(why)))?;
        }
        // A mode that the user or the host chose is stronger.
        if options.mode.is_none() && requests.mode == setup.settings.permissions.mode {
            requests.mode = agent_mode(requests.mode, agent.permission_mode);
            requests.decisions.set_mode(requests.mode);
        }
    }
    let Some(mut chosen) = requests.chosen.take() else { anyhow::bail!("no model is selected") };
    chosen.calls.thinking = requests.thinking;
    let cwd = setup.places.cwd.clone();
    let given = std::mem::take(&mut requests.host_setup);
    let servers = mcp::setup(options, (&requests.host, &requests.call_ids), &given);
    let schema = given.schema.or_else(|| options.schema.clone());
    let structured = schema.as_ref().map(|_| Arc::new(Answer::default()));
    let compactions: Arc<Compactions> = Arc::default();
    let (meter, observed) = (requests.meter.clone(), structured.clone());
    let (compacted, call_ids) = (compactions.clone(), requests.call_ids.clone());
    let redactor = setup.project.redactor(&chosen.secrets)?;
    let model = chosen.into_setup(requests.effort.clone());
    let (hook_changes, changes) = HookChanges::new(options.hook_events);
    let mut builder = InteractiveSession::builder(setup.project.clone(), model)
        .store(store.clone())
        .mode(requests.mode)
        .may_bypass(options.may_bypass)
        .max_rounds(args.max_turns)
        .budget(options.limits)
        // First, so that no other hook runs for a call that the budget denies.
        .first_hooks(BudgetHooks(requests.meter.clone()))
        // A run with one prompt ends with it, so nothing may start another turn.
        .background(BackgroundOptions {
            task_logs: !args.session.no_session_persistence,
            schedules: options.stream_input,
            hooks_wake: options.stream_input,
            ..BackgroundOptions::default()
        })
        .on_notice(|notice| print_notice(&notice))
        // In the session's own task: costs and the ids of calls are known before the next call
        // runs, although lines are printed later.
        .callbacks(Callbacks::new().on_event(Arc::new(move |event| {
            meter.observe(event);
            compacted.observe(event);
            call_ids.observe(event);
            if let Some(answer) = &observed {
                answer.observe(event);
            }
        })));
    let mut agents = AgentOptions {
        tool: true,
        main: agent.clone(),
        definitions: [given.agents, options.agents.clone()].concat(),
        observer: Some(requests.meter.observe_agents()),
        program: ProcessOptions::of_run(args, options)
            .and_then(|options| agent_process::program(options, setup)),
        permissions: args.agent_permissions.map(robota_sdk::AgentPermissions::from),
        ..AgentOptions::default()
    };
    let folder = cwd.display().to_string();
    let mut context = HookContext::new(selected.id().as_str(), &*folder);
    let effort = requests.effort.clone().or_else(|| setup.settings.values.effort_level.clone());
    context.effort = effort.map(|level| HookEffort { level });
    let transcript = Arc::new(SessionTranscript::new(store.clone(), selected.id().clone(), folder));
    // Hooks of a prompt may name the session, which is opened after the hooks are made.
    // Weak, because the session keeps its hooks: a handle in them would keep it open.
    let titled: Arc<OnceLock<WeakSession>> = Arc::default();
    if !requests.host_hooks.is_empty() {
        let runner =
            requests.host_hooks.runner(context, requests.host.clone(), requests.call_ids.clone());
        let runner = runner.session_end_timeout(session_end_timeout(&setup.environment));
        let named = titled.clone();
        let runner = runner.on_title(move |name| {
            if let Some(session) = named.get().and_then(WeakSession::upgrade) {
                // The prompt does not wait for it.
                drop(tokio::spawn(async move { session.rename(name).await }));
            }
        });
        let runner = Arc::new(runner.transcript(transcript).observer(hook_changes.clone()));
        requests.hook_runners.push(runner.clone());
        agents.hooks.push(runner.clone());
        if runner.has_event(HookEvent::PermissionRequest) {
            let (hooks, decisions) = (runner.clone(), requests.decisions.clone());
            let approver = HookApprover { hooks, decisions };
            builder = builder.approvals(Approvals::Handler(Arc::new(approver)));
        }
        builder = builder.hooks(runner);
    }
    if let (Some(schema), Some(answer)) = (schema, &structured) {
        builder = builder.hooks(StructuredHooks(answer.clone()));
        agents.conversation_tools.push(Arc::new(StructuredOutput::new(schema, answer.clone())));
    }
    builder = builder.hook_observer(hook_changes).agents(agents);
    // This replaces the approver above: a host that answers questions decides itself, after its
    // hooks. So does the tool of `--permission-prompt-tool` below.
    if let Some(approver) = &requests.approver {
        builder =
            builder.approvals(Approvals::Handler(approver.clone())).questions(approver.clone());
    }
    let prompt_tool = options.prompt_tool.clone();
    let prompt_tool = prompt_tool.map(|tool| {
        let decisions = requests.decisions.clone();
        Arc::new(ToolApprover::new(tool, options.host_timeout, decisions))
    });
    if let Some(approver) = &prompt_tool {
        builder = builder.approvals(Approvals::Handler(approver.clone()));
    }
    builder = builder.mcp(servers);
    if let Some(names) = options.tools.clone() {
        builder = builder.only_tools(names);
    }
    if let Some(names) = given.skills.clone() {
        builder = builder.only_skills(names);
    }
    if let Some(name) = args.session.name.clone().or(given.title) {
        builder = builder.name(name);
    }
    let system = given.system.or_else(|| options.system.clone());
    // A host that sets no prompt sends an empty one.
    if let Some(system) = system.filter(|text| !text.is_empty() || agent.is_none()) {
        builder = builder.system(system);
    }
    if let Some(append) = given.append_system.or_else(|| options.append_system.clone()) {
        builder = builder.append_system(append);
    }
    if let Some(reaper) = setup::reaper() {
        builder = builder.reaper(reaper);
    }
    let builder = builder.rule_sink(requests.saved.clone() as Arc<dyn RuleSink>);
    // Begins before the session is opened, and is awaited only before the first result.
    let earlier = count_earlier(&store, &selected, &requests.meter, options.format);
    let interactive = builder.choose(selected).open().await.map_err(in_use)?;
    let session = interactive.session().clone();
    let _ = titled.set(WeakSession::from(&session));
    requests.hook_runners.extend(interactive.settings_hooks());
    for hooks in &requests.hook_runners {
        let mode = requests.mode;
        hooks.update_context(|context| context.permission_mode = Some(mode));
    }
    let at = args.session.resume_session_at.as_deref();
    let program_inputs = match start(&interactive, &given.tool_policies, at, options).await {
        Ok(inputs) => inputs,
        Err(error) => {
            // Nothing else closes the session: its hooks run, and the journal says that it was closed.
            if let Err(error) = interactive.shutdown("other").await {
                output::error(&error.to_string());
            }
            return Err(error);
        }
    };
    for file in &given.seen_files {
        if let Err((_, why)) = file.apply(&interactive, &cwd).await {
            output::note(&format!("robota: seed_read_state: {why}"));
        }
    }
    requests.interactive = Some(interactive.clone());
    if let Some(approver) = &prompt_tool {
        approver.connect(interactive.mcp());
    }
    let shown = Shown {
        partial: options.partial,
        replay: options.replay,
        host: requests.approver.is_some(),
        agent_text: given.agent_text || options.agent_text,
        notes: options.format == OutputFormat::Text,
        progress: options.format == OutputFormat::Text && (args.verbose || output::is_watched()),
    };
    let facts = RunFacts {
        cwd: cwd.display().to_string(),
        agents: interactive
            .agent_runs()
            .map(|runs| runs.kinds().into_iter().map(|(name, _)| name).collect())
            .unwrap_or_default(),
        commands: names(&interactive, options, |_| true),
        skills: names(&interactive, options, |info| {
            matches!(info.origin, CommandOrigin::Skill | CommandOrigin::Plugin)
                && given.skills.as_ref().is_none_or(|names| names.contains(&info.name))
        }),
        output_style: describe::output_style(&setup.project),
        plugins: describe::plugins(&setup.project),
        memory_paths: MemoryPaths { auto: format!("{}/", cwd.join(MEMORY_FOLDER).display()) },
    };
    let drive = Drive {
        interactive: interactive.clone(),
        session,
        blobs: interactive.session().journal().blobs(),
        projection: Projection::new(
            writer.clone(),
            shown,
            structured.clone(),
            (requests.meter.clone(), requests.watch.clone()),
            cwd.clone(),
        ),
        approver: requests.approver.clone(),
        requests,
        compactions,
        options: options.clone(),
        writer: writer.clone(),
        structured,
        facts,
        cancel: cancel.clone(),
        from_host: opening.from_host,
        // Without the output of the tasks, which could push the other events out.
        tasks: interactive.tasks().map(|tasks| tasks.subscribe_changes()),
        command: None,
        commands: opening.commands,
        hook_changes: changes,
        redactor,
        program_inputs,
        earlier,
        interrupting: None,
        after_turn: AfterTurn::default(),
        injected: Vec::new(),
        model_changes: ModelChanges::default(),
        background: Background::default(),
        follow_ups: FollowUps::new(&setup.environment),
    };
    Ok(Opened { drive, session: interactive })
}

/// Does what can fail after the session was opened. Returns the inputs of schedules and hooks.
async fn start(
    interactive: &InteractiveSession,
    policies: &ToolPolicies,
    at: Option<&str>,
    options: &RunOptions,
) -> anyhow::Result<Option<mpsc::UnboundedReceiver<ProgramInput>>> {
    policies.apply(interactive.session())?;
    if let Some(uuid) = at {
        rewind(interactive.session(), uuid).await?;
    }
    // Without a host no schedule fires.
    Ok(match options.stream_input {
        true => Some(program_inputs(interactive).await?),
        false => None,
    })
}

/// The folder of the project's memory.
const MEMORY_FOLDER: &str = ".robota/memory";

/// Returns the names of the commands that a prompt can start with. Their files are read only for a
/// host, because only a host receives the names.
fn names(
    session: &InteractiveSession,
    options: &RunOptions,
    which: impl Fn(&CommandInfo) -> bool,
) -> Vec<String> {
    match options.lines {
        LineMode::Stream if options.commands => {}
        LineMode::Stream | LineMode::Off | LineMode::Collect => return Vec::new(),
    }
    let commands = session.commands().list("").into_iter();
    let usable = commands.filter(|info| info.user_invocable && which(info));
    usable.map(|info| info.name).collect()
}

/// Reports that a session with the id exists, with the text that hosts look for.
pub(crate) fn in_use(error: SdkError) -> anyhow::Error {
    match &error {
        SdkError::Journal(JournalError::Exists(id))
        | SdkError::Session(SessionError::Journal(JournalError::Exists(id))) => {
            anyhow::anyhow!(
                "Error: Session ID {id} is already in use. Choose another id, or resume the session."
            )
        }
        _ => setup::usage(error),
    }
}

/// Starts to count the model calls of earlier runs of a session, if the result includes them.
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

/// Returns the inputs that schedules and hooks send from now on.
async fn program_inputs(
    interactive: &InteractiveSession,
) -> anyhow::Result<mpsc::UnboundedReceiver<ProgramInput>> {
    use futures::StreamExt as _;

    let (send, receive) = mpsc::unbounded_channel();
    // From the opening on: a schedule may fire before this subscription exists.
    let since = interactive.opened_at();
    let mut events = interactive.session().subscribe(since, EventFilter::Everything).await?;
    drop(tokio::spawn(async move {
        while let Some(Ok(item)) = events.next().await {
            let SubscriptionItem::Event(event) = item else { continue };
            let Event::InputAccepted(InputAccepted { input, content, source, metadata, .. }) =
                event.event()
            else {
                continue;
            };
            let origin = match source {
                Some(InputSource::Schedule { .. }) => TurnOrigin::ScheduledTrigger,
                _ if metadata.contains_key(HOOK_WAKE) => TurnOrigin::TaskNotification,
                _ => continue,
            };
            let (input, content, at) = (input.clone(), content.clone(), event.cursor());
            if send.send(ProgramInput { input, content, at, origin }).is_err() {
                return;
            }
        }
    }));
    Ok(receive)
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
