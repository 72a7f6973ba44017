//! A session in a temporary folder, with a scripted model.

use std::path::Path;
use std::sync::Arc;

use robota_config::ProgramEnvironment;
use robota_core::journal::{JournalStore, MemoryStore};
use robota_core::permission::Mode;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_sdk::{
    InteractiveSession, InteractiveSessionBuilder, ModelSetup, Project, ProjectOptions,
};
use tempfile::TempDir;

/// A folder, the model and the store of a test.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) provider: Arc<ScriptedProvider>,
    pub(crate) store: Arc<dyn JournalStore>,
}

impl Scene {
    pub(crate) fn new(script: &str) -> Self {
        let script = Script::from_yaml(script).unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            provider: Arc::new(ScriptedProvider::new(script)),
            store: Arc::new(MemoryStore::new()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub(crate) fn project(&self) -> Project {
        self.project_with(ProjectOptions::default())
    }

    pub(crate) fn project_with(&self, options: ProjectOptions) -> Project {
        let home = self.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let folder = self.path().join("project");
        std::fs::create_dir_all(&folder).unwrap();
        let home = home.display().to_string();
        let environment = ProgramEnvironment::from_iter([("HOME".to_owned(), home)]);
        Project::load(ProjectOptions {
            cwd: Some(folder),
            environment: Some(environment),
            mode: options.mode.or(Some(Mode::AcceptEdits)),
            ..options
        })
        .unwrap()
    }

    pub(crate) fn builder(&self) -> InteractiveSessionBuilder {
        self.builder_for(self.project())
    }

    pub(crate) fn builder_for(&self, project: Project) -> InteractiveSessionBuilder {
        let model = ModelSetup::new(self.provider.clone(), "scripted");
        InteractiveSession::builder(project, model).store(self.store.clone())
    }

    pub(crate) async fn open(&self) -> InteractiveSession {
        self.builder().open().await.unwrap()
    }
}
