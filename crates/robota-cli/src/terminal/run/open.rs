//! Opens the session of the terminal: settings, trust, provider, store.

use std::path::Path;
use std::sync::Arc;

use robota_core::approve::RuleSink;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::permission::Mode;
use robota_core::sandbox::SandboxLevel;
use robota_sdk::{
    AgentOptions, InteractiveEvents, InteractiveSession, SdkError, SelectedSession, store,
};
use robota_session::{Approvals, SessionError, StartAt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::prompts::Prompts;
use super::{Mailbox, first_run, history, trust};
use crate::{Configuration, agent_process};
use crate::args::PrintArgs;
use crate::headless::{RunMode, RunOptions, SavedRules, session_choice};
use crate::provider::{self, NoProvider, ProviderRequest, WantedModel};
use crate::setup::{self, Setup};
use crate::terminal::event::{Event, Opened};

/// An open session, or one that another process writes.
pub(super) struct Opening {
    pub(super) setup: Arc<Setup>,
    pub(super) store: Arc<dyn JournalStore>,
    pub(super) session: Option<InteractiveSession>,
    pub(super) events: InteractiveEvents,
    pub(super) opened: Opened,
    pub(super) prompts: Option<Prompts>,
}

/// Loads everything and opens the session. `answers` are those to the question of trust.
pub(super) async fn open(
    args: &PrintArgs,
    mailbox: &Mailbox,
    answers: &mut UnboundedReceiver<bool>,
) -> anyhow::Result<Opening> {
    let options = RunOptions::from_args(args)?;
    let mut setup = load(args, &options, mailbox, answers).await?;
    let cwd = setup.places.cwd.clone();
    store::check_project_folder(&cwd)?;
    mailbox.send(Event::Branch(super::branch::of(&cwd)));
    let prompts = Prompts::new(setup.places.home.as_deref(), &cwd);
    if let Some(prompts) = &prompts {
        mailbox.send(Event::History(prompts.read()));
    }
    let request = ProviderRequest {
        provider: args.provider.as_deref(),
        model: WantedModel::Flag(args.model.as_deref()),
    };
    let mut chosen = provider::choose(request, &setup).await;
    if chosen.as_ref().is_err_and(|error| error.is::<NoProvider>())
        && first_run::offer(args, mailbox).await
    {
        setup = load(args, &options, mailbox, answers).await?;
        chosen = provider::choose(request, &setup).await;
    }
    let mut chosen = chosen.map_err(Configuration::wrap)?;
    chosen.calls = provider::calls::with_args(chosen.calls, args);
    let sessions = &args.session;
    let store = if sessions.no_session_persistence {
        Arc::new(robota_core::journal::MemoryStore::new())
    } else {
        setup::open_store(sessions.store.as_deref(), sessions.durability.into(), &setup).await?
    };
    let folder = cwd.display().to_string();
    let choice = session_choice(sessions, &*store, &folder).await?;
    let selected = choice.select(&*store, &folder).await.map_err(setup::usage)?;
    let (id, resumed) = (selected.id().clone(), matches!(selected, SelectedSession::Resume(..)));
    let notices = mailbox.clone();
    let model = chosen.into_setup(args.effort.clone());
    let mode = options.mode.map_or(setup.settings.permissions.mode, RunMode::session);
    let mut builder = InteractiveSession::builder(setup.project.clone(), model)
        .store(store.clone())
        .mode(mode)
        .may_bypass(options.may_bypass)
        .max_rounds(args.max_turns)
        .approvals(Approvals::Decide)
        .queue_limit(100)
        .rule_sink(Arc::new(SavedRules::new(setup.clone())) as Arc<dyn RuleSink>)
        .task_logs(!sessions.no_session_persistence)
        .agents(AgentOptions {
            tool: true,
            definitions: options.agents.clone(),
            program: agent_process::program(args, &options, &setup),
            ..AgentOptions::default()
        })
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
    let session = match builder.selected(selected).open().await {
        Ok(session) => session,
        Err(error) => {
            let Some(owner) = writer(&error) else { return Err(setup::usage(error)) };
            let events = InteractiveEvents::follow(store.clone(), &id, StartAt::Start).await?;
            let opened =
                Opened { session: id.to_string(), mode, follows: Some(owner), ..Opened::default() };
            return Ok(Opening { setup, store, session: None, events, opened, prompts });
        }
    };
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
        follows: None,
    };
    Ok(Opening { setup, store, session: Some(session), events, opened, prompts })
}

/// Loads the settings. If some need trust, asks first.
async fn load(
    args: &PrintArgs,
    options: &RunOptions,
    mailbox: &Mailbox,
    answers: &mut UnboundedReceiver<bool>,
) -> anyhow::Result<Arc<Setup>> {
    let level = args.sandbox.map(SandboxLevel::from);
    let mode: Option<Mode> = options.mode.map(RunMode::session);
    let load = || Setup::load_for(&args.settings, mode, level, options.sources.clone());
    let mut setup = load()?;
    if !args.settings.trust {
        let items = trust::open_items(&setup);
        if !items.is_empty() {
            mailbox.send(Event::TrustNeeded(items));
            if answers.recv().await == Some(true) {
                trust::grant(&setup)?;
                setup = load()?;
            }
        }
    }
    if let Some(problem) = &setup.keys.problem {
        mailbox.send(Event::Notice(robota_sdk::Notice::Error(problem.clone())));
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
pub(super) fn short(folder: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.display().to_string(),
    }
}
