//! Opens the session of the terminal: settings, trust, provider, store.

use std::path::Path;
use std::sync::Arc;

use robota_core::approve::RuleSink;
use robota_core::hook::HookData;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::permission::Mode;
use robota_core::sandbox::SandboxLevel;
use robota_sdk::{
    AgentOptions, BackgroundOptions, ClientHooks, InteractiveEvents, InteractiveSession, McpSetup,
    Notice, SdkError, SelectedSession, agent_mode, store,
};
use robota_session::{Approvals, Callbacks, SessionError, StartAt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::approver::AgentQuestions;
use super::choices::UserQuestions;
use super::prompts::Prompts;
use super::status_line::{self, Measures};
use super::trust::TrustQuestion;
use super::{Mailbox, first_run, flags, history, model};
use crate::agent_process::{self, ProcessOptions};
use crate::args::{PermissionPrompts, PrintArgs};
use crate::headless::{RunOptions, SavedRules, session_choice};
use crate::provider::NoProvider;
use crate::setup::{self, Setup};
use crate::telemetry::Telemetry;
use crate::terminal::event::{Event, Opened};
use crate::{Configuration, Usage, debug, main_agent};

/// An open session, or one that another process writes.
pub(super) struct Opening {
    pub(super) setup: Arc<Setup>,
    pub(super) store: Arc<dyn JournalStore>,
    pub(super) session: Option<InteractiveSession>,
    pub(super) events: InteractiveEvents,
    pub(super) opened: Opened,
    pub(super) prompts: Option<Prompts>,
    pub(super) measures: Measures,
    pub(super) choices: UserQuestions,
}

/// Loads everything and opens the session. `answers` are those to the question of trust.
pub(super) async fn open(
    args: &PrintArgs,
    mailbox: &Mailbox,
    answers: &mut UnboundedReceiver<bool>,
    telemetry: &mut Option<Telemetry>,
) -> anyhow::Result<Opening> {
    flags::check(args)?;
    let options = RunOptions::from_args(args)?;
    let mut setup = load(args, &options, mailbox, answers).await?;
    let cwd = setup.places.cwd.clone();
    store::check_project_folder(&cwd)?;
    for argument in &options.mcp_config {
        robota_config::check_mcp_argument(&setup.places, argument)
            .map_err(|problem| Usage(format!("--mcp-config: {problem}")))?;
    }
    // Other sessions of this process use the same log.
    let telemetry = match telemetry {
        Some(telemetry) => &*telemetry,
        None => telemetry.insert(record(args, &setup, mailbox)?),
    };
    mailbox.send(Event::Branch(super::branch::of(&cwd)));
    let prompts = Prompts::new(setup.places.home.as_deref(), &cwd);
    if let Some(prompts) = &prompts {
        mailbox.send(Event::History(prompts.read()));
    }
    let agent = main_agent::find(options.agent.as_deref(), &setup, options.agents.clone())?;
    let mut chosen = model::choose(args, &setup, None, mailbox).await;
    if chosen.as_ref().is_err_and(is_first_run) && first_run::offer(args, mailbox).await {
        setup = load(args, &options, mailbox, answers).await?;
        chosen = model::choose(args, &setup, None, mailbox).await;
    }
    let mut chosen = chosen?;
    let model = agent.as_ref().and_then(|agent| main_agent::model(agent, &chosen.model));
    if let Some(model) = model.filter(|_| args.model.is_none()) {
        chosen = model::choose(args, &setup, Some(&model), mailbox).await?;
    }
    if let Some(note) = chosen.betas_note(&setup) {
        mailbox.send(Event::Notice(Notice::Note(note)));
    }
    let sessions = &args.session;
    let store = setup::session_store(sessions, &setup).await?;
    let folder = cwd.display().to_string();
    let choice = session_choice(sessions, &*store, &folder).await?;
    let selected = choice.select(&*store, &folder).await.map_err(setup::usage)?;
    let (id, resumed) = (selected.id().clone(), matches!(selected, SelectedSession::Resume(..)));
    let notices = mailbox.clone();
    let chosen = chosen.into_setup(args.effort.clone());
    let mode = options.mode.unwrap_or(setup.settings.permissions.mode);
    let of_agent = agent.as_ref().and_then(|agent| agent.permission_mode);
    // A mode of the arguments is stronger than that of the agent.
    let mode = options.mode.unwrap_or_else(|| agent_mode(mode, of_agent));
    let approvals = match args.permission_prompts {
        PermissionPrompts::Host => Approvals::Handler(Arc::new(AgentQuestions {
            mailbox: mailbox.clone(),
            setup: setup.clone(),
        })),
        PermissionPrompts::None => Approvals::Deny,
    };
    let agents = AgentOptions {
        tool: true,
        main: agent.clone(),
        definitions: options.agents.clone(),
        program: ProcessOptions::of_run(args, &options)
            .and_then(|options| agent_process::program(options, &setup)),
        permissions: args.agent_permissions.map(robota_sdk::AgentPermissions::from),
        ..AgentOptions::default()
    };
    let mcp = McpSetup {
        arguments: options.mcp_config.clone(),
        strict: options.strict_mcp,
        ..McpSetup::default()
    };
    let choices = UserQuestions::new(mailbox.clone());
    let (measures, observer) = status_line::measures();
    let mut builder = InteractiveSession::builder(setup.project.clone(), chosen)
        .store(store.clone())
        .mode(mode)
        .may_bypass(options.may_bypass)
        .max_rounds(args.max_turns)
        .callbacks(Callbacks::new().on_event(observer))
        .budget(model::budget(&options))
        .approvals(approvals)
        .questions(Arc::new(choices.clone()))
        .agents(agents)
        .background(BackgroundOptions {
            task_logs: !sessions.no_session_persistence,
            ..BackgroundOptions::default()
        })
        .mcp(mcp)
        // The user may enter several prompts while a turn runs; the default is one.
        .queue_limit(100)
        .rule_sink(Arc::new(SavedRules::new(setup.clone())) as Arc<dyn RuleSink>)
        .on_notice(move |notice| notices.send(Event::Notice(notice)));
    if let Some(names) = &options.tools {
        builder = builder.only_tools(names.clone());
    }
    if let Some(name) = &args.session.name {
        builder = builder.name(name);
    }
    if let Some(system) = &options.system {
        builder = builder.system(system);
    }
    if let Some(append) = &options.append_system {
        builder = builder.append_system(append);
    }
    if let Some(reaper) = setup::reaper() {
        builder = builder.reaper(reaper);
    }
    let session = match builder.choose(selected).open().await {
        Ok(session) => session,
        Err(error) => {
            let Some(owner) = writer(&error) else { return Err(setup::usage(error)) };
            // Another process writes the session: this terminal shows it from its start, and sends
            // nothing.
            let events = InteractiveEvents::follow(store.clone(), &id, StartAt::Start).await?;
            let mut opened = of_settings(&setup, args.verbose);
            (opened.session, opened.mode, opened.follows) = (id.to_string(), mode, Some(owner));
            return Ok(Opening {
                setup,
                store,
                session: None,
                events,
                opened,
                prompts,
                measures,
                choices,
            });
        }
    };
    if let Some(trigger) = args.setup_trigger() {
        session.session().config().run_hooks(HookData::Setup { trigger }).await;
    }
    telemetry.count(session.session(), session.opened_at()).await?;
    // From now on: what was before is in the history below.
    let events = session.events(StartAt::Now).await?;
    let info = session.session().info().await?;
    let history = if resumed {
        history::entries(&session.conversation().messages().await?)
    } else {
        Vec::new()
    };
    let mut commands = session.commands().list("");
    commands.retain(|info| info.user_invocable);
    let opened = Opened {
        session: id.to_string(),
        name: info.name,
        model: info.model,
        mode: session.session().permissions().mode(),
        sandbox: sandbox_name(&setup),
        context: session.conversation().context_state().await.ok(),
        commands,
        history,
        budget: session.spending().budget().session.usd,
        first_prompt: session.conversation().initial_prompt(),
        idle_after: Some(ClientHooks::of(&session).idle_threshold()),
        ..of_settings(&setup, args.verbose)
    };
    Ok(Opening { setup, store, session: Some(session), events, opened, prompts, measures, choices })
}

/// Returns what the settings say about the terminal; `verbose` is the option of the command line.
fn of_settings(setup: &Setup, verbose: bool) -> Opened {
    let values = &setup.settings.values;
    Opened {
        notify: values.preferred_notif_channel,
        built_in_status: values.statusline,
        verbose: verbose || values.verbose.unwrap_or(false),
        ..Opened::default()
    }
}

/// Returns whether no provider is configured.
fn is_first_run(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<Configuration>().map_or(error, |Configuration(cause)| cause);
    cause.is::<NoProvider>()
}

/// Starts the log of `--debug` and the export of traces.
fn record(args: &PrintArgs, setup: &Setup, mailbox: &Mailbox) -> anyhow::Result<Telemetry> {
    let telemetry = Telemetry::start(&setup.environment);
    let log = debug::start(args.screen_debug_log(), &setup.places.cwd, &telemetry)?;
    if let Some(log) = log {
        mailbox.send(Event::Notice(Notice::Note(debug::note(&log))));
    }
    Ok(telemetry)
}

/// Loads the settings. If some need trust, asks first.
async fn load(
    args: &PrintArgs,
    options: &RunOptions,
    mailbox: &Mailbox,
    answers: &mut UnboundedReceiver<bool>,
) -> anyhow::Result<Arc<Setup>> {
    let level = args.sandbox.map(SandboxLevel::from);
    let mode: Option<Mode> = options.mode;
    let load = || {
        let setup = Setup::load_for(&args.settings, mode, level, options.sources.clone())?;
        anyhow::Ok(setup.with_betas(&args.betas))
    };
    let mut setup = load()?;
    if !args.settings.trust {
        let question = TrustQuestion::read(&setup);
        let items = question.items(&setup);
        if !items.is_empty() {
            mailbox.send(Event::TrustNeeded(items));
            if answers.recv().await == Some(true) {
                question.grant(&setup)?;
                setup = load()?;
            }
        }
    }
    if let Some(problem) = &setup.keys.problem {
        mailbox.send(Event::Notice(Notice::Error(problem.clone())));
    }
    setup.notices().into_iter().for_each(|notice| mailbox.send(Event::Notice(notice)));
    Ok(Arc::new(setup))
}

/// Returns who writes the session, if that is why it could not be opened.
fn writer(error: &SdkError) -> Option<String> {
    match error {
        SdkError::Journal(JournalError::Locked { owner, .. })
        | SdkError::Session(SessionError::Journal(JournalError::Locked { owner, .. })) => {
            Some(owner.to_string())
        }
        _ => None,
    }
}

fn sandbox_name(setup: &Setup) -> String {
    let level = robota_sdk::sandbox::request(&setup.project).fence.level;
    match level {
        SandboxLevel::Off => "off",
        SandboxLevel::ReadOnly => "read-only",
        SandboxLevel::WorkspaceWrite => "workspace",
    }
    .to_owned()
}

/// Returns a path with `~` for the home folder.
pub(crate) fn short(folder: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.display().to_string(),
    }
}
