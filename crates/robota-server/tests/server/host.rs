//! Opens sessions in a temporary folder, with a scripted model and a store in memory.

use std::path::Path;
use std::sync::{Arc, Mutex};

use robota_config::ProgramEnvironment;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, MemoryStore, SessionFilter, SessionHead};
use robota_core::permission::Mode;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_sdk::host::ModelChoice;
use robota_sdk::{
    HostError, HostedSession, InteractiveSession, ModelSetup, OpenRequest, Project, ProjectOptions,
    SessionHost,
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// The sessions of a test.
pub(crate) struct TestSessions {
    pub(crate) folder: TempDir,
    pub(crate) provider: Arc<ScriptedProvider>,
    pub(crate) store: Arc<dyn JournalStore>,
    /// A change of the model takes a permit, and waits for one.
    pub(crate) model_changes: Semaphore,
    /// The models that sessions were set to.
    pub(crate) models: Mutex<Vec<String>>,
}

impl TestSessions {
    pub(crate) fn new(script: &str) -> Arc<Self> {
        let script = Script::from_yaml(script).unwrap();
        Arc::new(Self {
            folder: tempfile::tempdir().unwrap(),
            provider: Arc::new(ScriptedProvider::new(script)),
            store: Arc::new(MemoryStore::new()),
            model_changes: Semaphore::new(0),
            models: Mutex::default(),
        })
    }
}

#[async_trait::async_trait]
impl SessionHost for TestSessions {
    async fn check_model(&self) -> Result<(), HostError> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<HostedSession, HostError> {
        let home = self.folder.path().display().to_string();
        let project = Project::load(ProjectOptions {
            cwd: Some(self.folder.path().to_owned()),
            environment: Some(ProgramEnvironment::from_iter([("HOME".to_owned(), home)])),
            mode: request.mode,
            ..ProjectOptions::default()
        })?;
        let folder = self.folder.path().display().to_string();
        let selected = request.choice.select(&*self.store, &folder).await?;
        let given = request.provider;
        let model = given.unwrap_or_else(|| ModelSetup::new(self.provider.clone(), "first"));
        let session = InteractiveSession::builder(project, model)
            .store(self.store.clone())
            .choose(selected)
            .approvals(request.approvals)
            .open()
            .await?;
        let model = |id: &str| ModelChoice { id: id.to_owned(), name: id.to_owned() };
        Ok(HostedSession {
            session,
            model: "first".to_owned(),
            models: vec![model("first"), model("second")],
            effort: None,
            modes: vec![Mode::Default, Mode::Plan],
        })
    }

    async fn list(&self, _cwd: Option<&Path>) -> Result<Vec<SessionHead>, HostError> {
        Ok(self.store.list(&SessionFilter::default()).await?.sessions)
    }

    async fn delete(&self, _cwd: Option<&Path>, id: &SessionId) -> Result<bool, HostError> {
        Ok(self.store.delete(id).await?)
    }

    async fn set_model(
        &self,
        session: &InteractiveSession,
        model: &str,
    ) -> Result<String, HostError> {
        self.model_changes.acquire().await.unwrap().forget();
        self.models.lock().unwrap().push(model.to_owned());
        session.session().config().set_model(model, None).await.unwrap();
        Ok(model.to_owned())
    }
}
