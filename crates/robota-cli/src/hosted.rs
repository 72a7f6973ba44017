//! Opens the sessions that `robota acp` and `robota mcp serve` serve to other programs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::hook::ModelSwitchSource;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, SessionFilter, SessionHead};
use robota_core::permission::Mode;
use robota_core::provider::Provider;
use robota_sdk::host::{HostErrorKind, mcp_config};
use robota_sdk::{
    AgentOptions, HostError, HostedSession, InteractiveSession, McpSetup, OpenRequest, SessionHost,
    store,
};

use crate::agent_process::{self, ProcessOptions};
use crate::args::{ServeArgs, SettingsArgs};
use crate::headless::SavedRules;
use crate::provider::{self, ChosenProvider, ProviderRequest, WantedModel, model_choices};
use crate::setup::{self, Setup};
use crate::{Usage, hint, main_agent};

/// Opens sessions with the settings of their folder and the arguments of the command.
pub(crate) struct ProgramSessions {
    args: ServeArgs,
    /// The stores that are open, by folder. Two sessions of one folder share a store.
    stores: tokio::sync::Mutex<HashMap<PathBuf, Arc<dyn JournalStore>>>,
}

impl ProgramSessions {
    pub(crate) fn new(args: ServeArgs) -> Self {
        Self { args, stores: tokio::sync::Mutex::default() }
    }

    /// Returns the settings arguments of a folder.
    fn settings(&self, cwd: Option<&Path>, directories: &[PathBuf]) -> SettingsArgs {
        let mut settings: SettingsArgs = self.args.settings.clone();
        if let Some(cwd) = cwd {
            settings.cwd = Some(cwd.to_owned());
        }
        settings.add_dir.extend_from_slice(directories);
        settings
    }

    /// Loads settings.
    fn setup(&self, settings: &SettingsArgs, mode: Option<Mode>) -> Result<Arc<Setup>, HostError> {
        let mode = mode.or(self.args.permission_mode);
        Ok(Arc::new(Setup::load(settings, mode).map_err(failed)?))
    }

    /// Loads the settings of a folder.
    fn folder(&self, cwd: Option<&Path>) -> Result<Arc<Setup>, HostError> {
        self.setup(&self.settings(cwd, &[]), None)
    }

    /// Returns how a session with a model runs agents.
    fn agents(&self, settings: SettingsArgs, request: &OpenRequest, setup: &Setup) -> AgentOptions {
        let options = ProcessOptions {
            settings,
            mode: request.mode.or(self.args.permission_mode),
            provider: self.args.provider.clone(),
            model: request.model.clone().or_else(|| self.args.model.clone()),
            store: self.args.store.clone(),
            durability: self.args.durability,
            ..ProcessOptions::default()
        };
        let program = agent_process::program(options, setup);
        AgentOptions { tool: true, program, ..AgentOptions::default() }
    }

    /// Returns the store of a folder.
    async fn store(&self, setup: &Setup) -> Result<Arc<dyn JournalStore>, HostError> {
        let cwd = setup.places.cwd.clone();
        // Held until the store is open: two requests for one folder must not open it twice.
        let mut stores = self.stores.lock().await;
        if let Some(store) = stores.get(&cwd) {
            return Ok(store.clone());
        }
        // Only this store is in the folder, where a checkout may have put links.
        if self.args.store.is_none() {
            store::check_project_folder(&cwd)?;
        }
        let level = self.args.durability.into();
        let opened = setup::open_store(self.args.store.as_deref(), level, setup).await;
        let opened = opened.map_err(failed)?;
        stores.insert(cwd, opened.clone());
        Ok(opened)
    }

    async fn choose(
        &self,
        setup: &Setup,
        model: Option<&str>,
    ) -> Result<ChosenProvider, HostError> {
        let provider = self.args.provider.as_deref();
        let model = WantedModel::Flag(model.or(self.args.model.as_deref()));
        let chosen = provider::choose(ProviderRequest { provider, model }, setup).await;
        chosen.map_err(|error| HostError { kind: HostErrorKind::NoModel, ..failed(error) })
    }

    fn scripted(&self) -> bool {
        self.args.provider.as_deref().is_some_and(|name| name.starts_with("scripted:"))
    }

    /// Returns the modes that clients can choose.
    fn modes(&self, setup: &Setup) -> Vec<Mode> {
        let started = self.args.permission_mode == Some(Mode::BypassPermissions);
        let may = started || self.args.allow_dangerously_skip_permissions;
        let may = may && !setup.settings.permissions.bypass_disabled;
        Mode::ALL.into_iter().filter(|mode| may || *mode != Mode::BypassPermissions).collect()
    }
}

#[async_trait::async_trait]
impl SessionHost for ProgramSessions {
    async fn check_model(&self) -> Result<(), HostError> {
        let setup = self.folder(None)?;
        self.choose(&setup, None).await.map(|_| ())
    }

    async fn open(&self, request: OpenRequest) -> Result<HostedSession, HostError> {
        let settings = self.settings(request.cwd.as_deref(), &request.directories);
        let setup = self.setup(&settings, request.mode)?;
        setup.notices().into_iter().for_each(|notice| (request.on_notice)(notice));
        let store = self.store(&setup).await?;
        let folder = setup.places.cwd.display().to_string();
        let selected = request.choice.select(&*store, &folder).await?;
        let effort =
            self.args.effort.clone().or_else(|| setup.settings.values.effort_level.clone());
        let agents = match &request.provider {
            Some(_) => AgentOptions::default(),
            None => {
                let main = main_agent::find(None, &setup, Vec::new());
                let main = main.map_err(|error| failed(error.into()))?;
                AgentOptions { main, ..self.agents(settings, &request, &setup) }
            }
        };
        let mode = request.mode.or(self.args.permission_mode);
        let (given, vendor) = match request.provider {
            Some(given) => (given, None),
            None => {
                let mut chosen = self.choose(&setup, request.model.as_deref()).await?;
                let of_agent = agents.main.as_ref();
                let of_agent = of_agent.and_then(|agent| main_agent::model(agent, &chosen.model));
                let named = request.model.is_some() || self.args.model.is_some();
                if let Some(model) = of_agent.filter(|_| !named) {
                    chosen = self.choose(&setup, Some(&model)).await?;
                }
                let vendor = chosen.service.as_ref().map(|service| service.vendor.vendor.clone());
                (chosen.into_setup(self.args.effort.clone()), vendor)
            }
        };
        let (model, on_notice) = (given.model.clone(), request.on_notice.clone());
        let mut builder = InteractiveSession::builder(setup.project.clone(), given)
            .store(store)
            .choose(selected)
            .may_bypass(self.args.allow_dangerously_skip_permissions)
            .approvals(request.approvals)
            .agents(agents)
            .rule_sink(SavedRules::new(setup.clone()))
            .on_notice(move |notice| on_notice(notice));
        let given = !request.mcp_servers.is_empty();
        let arguments = given.then(|| mcp_config(&request.mcp_servers)).into_iter().collect();
        let elicitor = request.elicitor;
        builder = builder.mcp(McpSetup { arguments, elicitor, ..McpSetup::default() });
        if let Some(questions) = request.questions {
            builder = builder.questions(questions);
        }
        if let Some(mode) = mode {
            // Stronger than the mode of an agent.
            builder = builder.mode(mode);
        }
        if let Some(editor) = request.editor {
            builder = builder.editor(editor);
        }
        if let Some(limit) = request.queue_limit {
            builder = builder.queue_limit(limit);
        }
        if let Some(reaper) = setup::reaper() {
            builder = builder.reaper(reaper);
        }
        let session = builder.open().await?;
        let modes = self.modes(&setup);
        let available = &setup.settings.available_models;
        let models = model_choices(vendor.as_deref(), &model, available);
        Ok(HostedSession { session, model, models, effort, modes })
    }

    async fn list(&self, cwd: Option<&Path>) -> Result<Vec<SessionHead>, HostError> {
        let setup = self.folder(cwd)?;
        let store = self.store(&setup).await?;
        let cwd = cwd.map(|_| setup.places.cwd.display().to_string());
        let filter = SessionFilter { cwd, ..SessionFilter::default() };
        // A session of another user cannot be opened before it was imported.
        Ok(store.list(&filter).await?.sessions.into_iter().filter(|head| !head.foreign).collect())
    }

    async fn delete(&self, cwd: Option<&Path>, id: &SessionId) -> Result<bool, HostError> {
        let setup = self.folder(cwd)?;
        Ok(self.store(&setup).await?.delete(id).await?)
    }

    async fn set_model(
        &self,
        session: &InteractiveSession,
        model: &str,
    ) -> Result<String, HostError> {
        if self.scripted() {
            // A script has one provider for all model names.
            let project = session.project();
            if let Some(error) = project
                .and_then(|project| project.settings.available_models.check(None, model).err())
            {
                return Err(HostError::new(HostErrorKind::Invalid, error.to_string()));
            }
            switch_model(session, model, None).await?;
            return Ok(model.to_owned());
        }
        let missing = || HostError::new(HostErrorKind::NotFound, "the session is not open");
        let setup = Setup::of(session.project().cloned().ok_or_else(missing)?);
        let chosen = self.choose(&setup, Some(model)).await?;
        // The session was opened without these keys.
        let hidden = setup.late_secrets.add(chosen.secrets.iter().cloned());
        hidden.map_err(|error| failed(error.into()))?;
        switch_model(session, &chosen.model, Some(chosen.provider)).await?;
        Ok(chosen.model)
    }
}

/// Changes the model for a client, unless hooks block it.
async fn switch_model(
    session: &InteractiveSession,
    model: &str,
    provider: Option<Arc<dyn Provider>>,
) -> Result<(), HostError> {
    let config = session.session().config();
    let changed = config.switch_model(ModelSwitchSource::Host, model, provider).await;
    changed.map_err(|error| HostError::new(HostErrorKind::Invalid, error.to_string()))
}

/// Converts an error of the program.
#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` needs")]
fn failed(error: anyhow::Error) -> HostError {
    let kind = if error.is::<Usage>() { HostErrorKind::Invalid } else { HostErrorKind::Failed };
    HostError { kind, message: format!("{error:#}"), hint: hint(&error) }
}
