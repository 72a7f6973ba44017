//! The session that every client uses.

mod builder;

use std::sync::{Arc, OnceLock};

use robota_core::blob::Blobs;
use robota_exec::Supervisor;
use robota_session::{Session, StartAt};

pub use builder::InteractiveSessionBuilder;

use crate::error::SdkError;
use crate::model_setup::ModelSetup;
use crate::project::Project;

/// A durable session with the settings and files of a folder. Clones are handles to the same
/// session.
#[derive(Clone)]
pub struct InteractiveSession {
    session: Session,
    shared: Arc<Shared>,
}

/// What the handles of a session share.
struct Shared {
    project: Option<Arc<Project>>,
    blobs: Arc<dyn Blobs>,
    since: StartAt,
    supervisor: Supervisor,
    tools: Arc<OnceLock<Vec<String>>>,
}

impl InteractiveSession {
    /// Builds a session for the folder of a project.
    pub fn builder(
        project: impl Into<Arc<Project>>,
        model: ModelSetup,
    ) -> InteractiveSessionBuilder {
        InteractiveSessionBuilder::new(project.into(), model)
    }

    fn new(
        session: Session,
        project: Option<Arc<Project>>,
        blobs: Arc<dyn Blobs>,
        since: StartAt,
        supervisor: Supervisor,
        tools: Arc<OnceLock<Vec<String>>>,
    ) -> Self {
        let shared = Arc::new(Shared { project, blobs, since, supervisor, tools });
        Self { session, shared }
    }

    /// Returns the durable session, for everything that this type has no method for.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the settings of the folder; none for a session that was built elsewhere.
    #[must_use]
    pub fn project(&self) -> Option<&Arc<Project>> {
        self.shared.project.as_ref()
    }

    /// Returns the large contents of the session, such as images.
    #[must_use]
    pub fn blobs(&self) -> &Arc<dyn Blobs> {
        &self.shared.blobs
    }

    /// Returns where the events of this process begin: everything before was recorded by an earlier
    /// one.
    #[must_use]
    pub fn opened_at(&self) -> StartAt {
        self.shared.since
    }

    /// Returns the names of the offered tools.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.shared.tools.get().cloned().unwrap_or_default()
    }

    /// Ends the session: stops what runs, records the end, and ends its child processes.
    ///
    /// # Errors
    /// If the journal cannot be written. The processes are ended all the same.
    pub async fn shutdown(&self, reason: &str) -> Result<(), SdkError> {
        let ended = self.session.shutdown(reason).await;
        self.shared.supervisor.shutdown().await;
        Ok(ended?)
    }
}
