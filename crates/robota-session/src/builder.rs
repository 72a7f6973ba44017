//! The builder of [`Session`].

use std::collections::HashSet;
use std::sync::Arc;

use robota_core::agent::AgentSettings;
use robota_core::approve::{Approver, RuleSink};
use robota_core::checkpoint::CrashCleanup;
use robota_core::compact::Compactor;
use robota_core::driver::Observer;
use robota_core::event::SpawnedBy;
use robota_core::hook::Hooks;
use robota_core::ids::SessionId;
use robota_core::into_arc::IntoArc;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::permission::Mode;
use robota_core::plugin::Plugin;
use robota_core::provider::Provider;
use robota_core::tool::{ToolFactory, ToolSource};

use crate::approvals::Approvals;
use crate::callbacks::Callbacks;
use crate::early_load::EarlyLoad;
use crate::error::SessionError;
use crate::hooks::{CodeHook, HookFiles};
use crate::open::{self, Resume};
use crate::session::Session;
use crate::setup::{Setup, Summaries};
use crate::tool_output::DEFAULT_LIMIT;

/// Builds a [`Session`]. Without a gate only read-only tools may run; without an approver every call
/// that needs approval is denied. What it shares with the builder of agents in memory is defined once, in
/// [`AgentSettings`].
///
/// ```
/// use robota_core::permission::Mode;
/// use robota_core::journal::MemoryStore;
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_session::Session;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedProvider::new(Script::new());
/// let session = Session::builder(model, "any-model")
///     .name("nightly")
///     .mode(Mode::Plan)
///     .create(MemoryStore::new(), None)
///     .await?;
/// assert_eq!(session.info().await?.name.as_deref(), Some("nightly"));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SessionBuilder {
    setup: Setup,
}

impl SessionBuilder {
    pub(crate) fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        let mut base = AgentSettings::new(provider, model);
        // A session has no round limit by default: an interrupt, the context window or the idle timeout
        // ends a turn.
        base.config.turn.max_rounds = 0;
        let setup = Setup {
            base,
            factories: Vec::new(),
            removed: HashSet::new(),
            sources: Vec::new(),
            before_plan: None,
            approvals: Approvals::default(),
            rule_sink: None,
            hooks: Vec::new(),
            hook_makers: Vec::new(),
            observer_makers: Vec::new(),
            code_hooks: Vec::new(),
            files: None,
            summaries: Summaries::Model,
            mode: Mode::Default,
            cwd: None,
            name: None,
            spawned_by: None,
            callbacks: Callbacks::new(),
            plugins: Vec::new(),
            output_limit: Some(DEFAULT_LIMIT),
            crash_cleanup: None,
        };
        Self { setup }
    }

    robota_core::agent_setters!(setup.base);

    /// Adds a factory that makes tools for each session: a fork gets its own.
    #[must_use]
    pub fn tool_factory(mut self, factory: impl IntoArc<dyn ToolFactory>) -> Self {
        self.setup.factories.push(factory.into_arc());
        self
    }

    /// Adds tools that come and go while the session runs. Tools of a source whose name is taken are
    /// left out. Forks share the source.
    #[must_use]
    pub fn tool_source(mut self, source: impl IntoArc<dyn ToolSource>) -> Self {
        self.setup.sources.push(source.into_arc());
        self
    }

    /// Sets the permission mode of the session; [`Mode::Default`] if it is not set.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.setup.mode = mode;
        self
    }

    /// Sets the approver, which decides calls that the gate answers with "ask".
    #[must_use]
    pub fn approver(self, approver: impl IntoArc<dyn Approver>) -> Self {
        self.approvals(Approvals::Handler(approver.into_arc()))
    }

    /// Sets how calls that the gate answers with "ask" are decided: by an approver, by the clients of
    /// the session, or never. By default they are denied.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.setup.approvals = approvals;
        self
    }

    /// Sets where the rules of "always" decisions are saved.
    #[must_use]
    pub fn rule_sink(mut self, sink: impl IntoArc<dyn RuleSink>) -> Self {
        self.setup.rule_sink = Some(sink.into_arc());
        self
    }

    /// Adds hooks, which run after those added before.
    #[must_use]
    pub fn hooks(mut self, hooks: impl IntoArc<dyn Hooks>) -> Self {
        self.setup.hooks.push(hooks.into_arc());
        self
    }

    /// Adds hooks that are made for each session: for this one, and for each of its forks. They run
    /// after those of [`SessionBuilder::hooks`].
    #[must_use]
    pub fn session_hooks(
        mut self,
        make: impl Fn(&SessionId) -> Arc<dyn Hooks> + Send + Sync + 'static,
    ) -> Self {
        self.setup.hook_makers.push(Arc::new(make));
        self
    }

    /// Adds an observer that is made for each session: for this one, and for each of its forks. It is
    /// called in the session's task after an event was written, and must not block.
    #[must_use]
    pub fn session_observer(
        mut self,
        make: impl Fn(&SessionId) -> Observer + Send + Sync + 'static,
    ) -> Self {
        self.setup.observer_makers.push(Arc::new(make));
        self
    }

    /// Adds a hook written in Rust, which runs after those added before.
    #[must_use]
    pub fn code_hook(mut self, hook: impl CodeHook + 'static) -> Self {
        self.setup.code_hooks.push(Arc::new(hook));
        self
    }

    /// Sets the files that hooks written in Rust may read and write.
    #[must_use]
    pub fn hook_files(mut self, files: impl HookFiles + 'static) -> Self {
        self.setup.files = Some(Arc::new(files));
        self
    }

    /// Sets the compactor, which summarises a conversation that fills the context window. By default
    /// the session's own model does.
    #[must_use]
    pub fn compactor(mut self, compactor: impl IntoArc<dyn Compactor>) -> Self {
        self.setup.summaries = Summaries::By(compactor.into_arc());
        self
    }

    /// Never summarises: a conversation that fills the context window ends the turn.
    #[must_use]
    pub fn without_compactor(mut self) -> Self {
        self.setup.summaries = Summaries::None;
        self
    }

    /// Adds a plugin, which follows the runs and can stop them. Plugins run before the hooks.
    #[must_use]
    pub fn plugin(mut self, plugin: impl IntoArc<dyn Plugin>) -> Self {
        self.setup.plugins.push(plugin.into_arc());
        self
    }

    /// Sets functions that are called for the text, calls and usage of the session.
    #[must_use]
    pub fn callbacks(mut self, callbacks: Callbacks) -> Self {
        self.setup.callbacks = callbacks;
        self
    }

    /// Sets the working directory that the journal records and tools use.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.setup.cwd = Some(cwd.into());
        self
    }

    /// Sets the name of a session that is created.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.setup.name = Some(name.into());
        self
    }

    /// Records the call of another session that starts this one.
    #[must_use]
    pub fn spawned_by(mut self, parent: SpawnedBy) -> Self {
        self.setup.spawned_by = Some(parent);
        self
    }

    /// Sets the share of the context window above which the conversation is summarised
    /// automatically; `None` switches this off.
    #[must_use]
    pub fn auto_compact(mut self, threshold: Option<f64>) -> Self {
        self.setup.base.config.turn.compact_at = threshold;
        self
    }

    /// Limits the output of one call that the model sees, in bytes: longer output is cut to its head
    /// and tail. `None` means no limit.
    #[must_use]
    pub fn output_limit(mut self, bytes: Option<usize>) -> Self {
        self.setup.output_limit = bytes;
        self
    }

    /// Cleans up after a crash, when the session is resumed: ends processes that its calls left
    /// running, and restores files that a call changed only in part. Without one, the model only
    /// learns that calls may have had effects.
    #[must_use]
    pub fn crash_cleanup(mut self, crash_cleanup: impl IntoArc<dyn CrashCleanup>) -> Self {
        self.setup.crash_cleanup = Some(crash_cleanup.into_arc());
        self
    }

    /// Opens the session with this id: resumes it if the store has it, creates it otherwise. A turn
    /// that a crash interrupted is closed first, as [`Resume::default`] says.
    ///
    /// # Errors
    /// When another process has the session open, a setting is invalid, or the store fails.
    pub async fn open(
        self,
        store: impl IntoArc<dyn JournalStore>,
        id: impl Into<SessionId>,
    ) -> Result<Session, SessionError> {
        let (store, id) = (store.into_arc(), id.into());
        match self.clone().resume(store.clone(), &id, Resume::default()).await {
            Err(SessionError::Journal(JournalError::NotFound(_))) => {}
            opened => return opened,
        }
        match self.clone().create(store.clone(), Some(id.clone())).await {
            // Another process created it in the meantime.
            Err(SessionError::Journal(JournalError::Exists(_))) => {
                self.resume(store, &id, Resume::default()).await
            }
            created => created,
        }
    }

    /// Creates a session, with a new id when none is given.
    ///
    /// # Errors
    /// When a session with this id exists, a setting is invalid, or the store fails.
    pub async fn create(
        self,
        store: impl IntoArc<dyn JournalStore>,
        id: Option<SessionId>,
    ) -> Result<Session, SessionError> {
        // Boxed: callers would copy the whole state of the start.
        Box::pin(open::create(store.into_arc(), id, self.setup)).await
    }

    /// Resumes a session. [`Resume`] says what happens to a turn that a crash interrupted.
    ///
    /// # Errors
    /// When the session does not exist, another process has it open, or the store fails.
    pub async fn resume(
        self,
        store: impl IntoArc<dyn JournalStore>,
        id: &SessionId,
        resume: Resume,
    ) -> Result<Session, SessionError> {
        self.resume_loaded(store, id, resume, None).await
    }

    /// Resumes a session whose state may already be read. Otherwise as [`resume`](Self::resume).
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub async fn resume_loaded(
        self,
        store: impl IntoArc<dyn JournalStore>,
        id: &SessionId,
        resume: Resume,
        early: Option<EarlyLoad>,
    ) -> Result<Session, SessionError> {
        Box::pin(open::resume(store.into_arc(), id, resume, early, self.setup)).await
    }
}
