//! Composition: the one place where the parts become a program. It never grows a second.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use indexmap::IndexMap;
use robota_core::approve::Approver;
use robota_core::catalogue::Catalogue;
use robota_core::clock::SystemClock;
use robota_core::driver::{DriveConfig, Mailbox, Observer, Ports, Recorder, run_turn};
use robota_core::event::{Delivery, FORMAT, ModeChanged, Opened, SessionCreated};
use robota_core::gate::Gate;
use robota_core::hook::Hooks;
use robota_core::ids::{RandomIds, SessionId};
use robota_core::journal::JournalStore as _;
use robota_core::message::Block;
use robota_core::permission::Mode;
use robota_core::provider::Provider;
use robota_core::redact::Redactor;
use robota_core::state::State;
use robota_core::tool::ToolSet;
use robota_core::turn::{TurnConfig, TurnInput, TurnReport};
use robota_exec::{Environment, Supervisor};
use robota_store::FileStore;

use crate::Usage;

/// What a session is made of.
pub(crate) struct Parts {
    /// What it is called.
    pub(crate) id: SessionId,
    /// Who answers.
    pub(crate) provider: Arc<dyn Provider>,
    /// Which model.
    pub(crate) model: String,
    /// How long the provider may be silent.
    pub(crate) idle_timeout: Duration,
    /// Takes secrets out of what is said.
    pub(crate) redactor: Redactor,
    /// Where it works.
    pub(crate) cwd: PathBuf,
    /// The mode, for the journal.
    pub(crate) mode: Mode,
    /// Judges every call.
    pub(crate) gate: Arc<dyn Gate>,
    /// The user's hooks.
    pub(crate) hooks: Arc<dyn Hooks>,
    /// Owns every child process.
    pub(crate) supervisor: Supervisor,
    /// What commands see of the environment.
    pub(crate) environment: Environment,
    /// Who is asked.
    pub(crate) approver: Arc<dyn Approver>,
    /// At most this many model calls; zero is no limit.
    pub(crate) max_rounds: u32,
    /// Is shown every event.
    pub(crate) observer: Observer,
}

/// One session, open.
pub(crate) struct Session {
    ports: Ports,
    config: DriveConfig,
    recorder: Recorder,
    /// Its id.
    pub(crate) id: SessionId,
    /// Where its journal lies.
    pub(crate) folder: PathBuf,
}

impl Session {
    /// Begins a session: its journal exists when this returns.
    pub(crate) async fn create(parts: Parts) -> anyhow::Result<Self> {
        let root = parts.cwd.join(".robota").join("sessions");
        let store = FileStore::new(&root);
        let id = parts.id;
        let journal = store
            .create(&id)
            .await
            .with_context(|| format!("cannot begin a session below {}", root.display()))?;
        let folder = store.folder(&id);
        let mut recorder = Recorder::new(journal, Arc::new(SystemClock), State::default());
        recorder.observe(parts.observer);
        let created = SessionCreated {
            session: id.clone(),
            format: FORMAT,
            cwd: Some(parts.cwd.display().to_string()),
            parent: None,
        };
        let opened =
            Opened { epoch: recorder.epoch(), after_seq: 0, pid: Some(std::process::id()) };
        let mode = ModeChanged { mode: parts.mode };
        recorder.append(None, vec![created.into(), opened.into(), mode.into()]).await?;

        let tools = robota_tools::toolset(&parts.cwd, parts.supervisor, parts.environment);
        let ports = Ports {
            provider: parts.provider,
            tools: ToolSet::new(tools)?,
            gate: parts.gate,
            approver: parts.approver,
            hooks: parts.hooks,
            compactor: None,
            ids: Arc::new(RandomIds),
        };
        let catalogue = Catalogue::builtin();
        let mut turn = TurnConfig::new(ports.provider.name(), parts.model);
        turn.context_window = catalogue.context_window(&turn.model);
        turn.max_output = catalogue.max_output(&turn.model);
        turn.max_rounds = parts.max_rounds;
        let mut config = DriveConfig::new(turn);
        config.idle_timeout = parts.idle_timeout;
        config.redactor = parts.redactor;
        config.system = Some(system_prompt(&parts.cwd).into());
        Ok(Self { ports, config, recorder, id, folder })
    }

    /// Says something and waits for the end of the turn.
    pub(crate) async fn turn(
        &mut self,
        prompt: &str,
        mailbox: &mut Mailbox,
    ) -> anyhow::Result<TurnReport> {
        let content = vec![Block::text(prompt)];
        let input = self
            .recorder
            .accept(&*self.ports.ids, Delivery::AfterTurn, content.clone())
            .await
            .context("the prompt could not be saved, so nothing was done")?;
        let input = TurnInput::Message { input: Some(input), content };
        Ok(run_turn(&self.ports, &self.config, &mut self.recorder, input, mailbox).await)
    }
}

/// The folder to work in, as the operating system knows it.
pub(crate) fn working_directory(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let dir = match given {
        Some(dir) => dir.to_owned(),
        #[expect(clippy::disallowed_methods, reason = "the program starts somewhere")]
        None => std::env::current_dir().context("the current folder is gone")?,
    };
    let dir = dir
        .canonicalize()
        .map_err(|error| Usage(format!("cannot work in {}: {error}", dir.display())))?;
    anyhow::ensure!(dir.is_dir(), "cannot work in {}: it is not a folder", dir.display());
    Ok(dir)
}

/// What commands see of the environment: what the program sees, changed by the `env` settings,
/// where an empty value takes a variable out.
#[expect(clippy::disallowed_methods, reason = "the program hands its environment on, once")]
pub(crate) fn environment(settings: &IndexMap<String, String>) -> Environment {
    let kept = std::env::vars_os()
        .filter(|(name, _)| !settings.iter().any(|(set, _)| name.as_os_str() == set.as_str()));
    let set = settings.iter().filter(|(_, value)| !value.is_empty());
    let set = set.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    kept.chain(set).fold(Environment::new(), |env, (name, value)| env.with(name, value))
}

/// Neutral facts only: what to do and when stands in the tools' own descriptions.
fn system_prompt(cwd: &Path) -> String {
    format!("You are a coding agent in a terminal.\nWorking directory: {}", cwd.display())
}
