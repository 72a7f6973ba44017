//! Building a session.

use std::sync::Arc;
use std::time::Duration;

use robota_core::approve::RuleSink;
use robota_core::catalogue::Catalogue;
use robota_core::checkpoint::Aftermath;
use robota_core::clock::{Clock, SystemClock};
use robota_core::compact::Compactor;
use robota_core::driver::SessionConfig;
use robota_core::event::SpawnedBy;
use robota_core::gate::{Gate, ReadOnlyGate};
use robota_core::hook::Hooks;
use robota_core::ids::{Ids, RandomIds, SessionId};
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::provider::Provider;
use robota_core::tool::{Tool, ToolFactory};
use robota_core::turn::TurnRules;

use crate::approvals::Approvals;
use crate::callbacks::Callbacks;
use crate::error::SessionError;
use crate::hooks::{CodeHook, HookFiles};
use crate::open::{self, Resume};
use crate::session::Session;
use crate::setup::{Setup, Summaries};
use crate::spill::DEFAULT_LIMIT;

/// Builds a [`Session`]. Without a gate only read-only tools may run. Without anyone to answer,
/// questions are denied.
#[derive(Clone)]
pub struct SessionBuilder {
    setup: Setup,
}

impl SessionBuilder {
    pub(crate) fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        let catalogue = Catalogue::builtin();
        let mut turn = TurnRules::new(model);
        turn.context_window = catalogue.context_window(&turn.model);
        turn.max_output = catalogue.max_output(&turn.model);
        // A session has no limit of its own: abort, the window and the idle timer bound it.
        turn.max_rounds = 0;
        let setup = Setup {
            provider,
            tools: Vec::new(),
            factories: Vec::new(),
            gate: Arc::new(ReadOnlyGate),
            approvals: Approvals::default(),
            rule_sink: None,
            hooks: Vec::new(),
            code_hooks: Vec::new(),
            files: None,
            summaries: Summaries::Model,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            config: SessionConfig::new(turn),
            mode: Mode::Default,
            cwd: None,
            name: None,
            spawned_by: None,
            callbacks: Callbacks::new(),
            spill: Some(DEFAULT_LIMIT),
            aftermath: None,
        };
        Self { setup }
    }

    /// The system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.setup.config.system = Some(prompt.into());
        self
    }

    /// More tools. They are shared by all sessions built with them, forks included; tools that
    /// keep something belong into a [`SessionBuilder::tool_factory`].
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.setup.tools.extend(tools);
        self
    }

    /// More tools, made for each session: a fork gets tools of its own.
    #[must_use]
    pub fn tool_factory(mut self, factory: Arc<dyn ToolFactory>) -> Self {
        self.setup.factories.push(factory);
        self
    }

    /// Who judges every call.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.setup.gate = gate;
        self
    }

    /// The permission mode.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.setup.mode = mode;
        self
    }

    /// Who answers when a call needs approval.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.setup.approvals = approvals;
        self
    }

    /// Saves the rules that a user answered "always" to.
    #[must_use]
    pub fn rule_sink(mut self, sink: Arc<dyn RuleSink>) -> Self {
        self.setup.rule_sink = Some(sink);
        self
    }

    /// Hooks of settings, after those there are.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.setup.hooks.push(hooks);
        self
    }

    /// Hooks in code, after those there are.
    #[must_use]
    pub fn code_hook(mut self, hook: Arc<dyn CodeHook>) -> Self {
        self.setup.code_hooks.push(hook);
        self
    }

    /// The files hooks in code may look at and write.
    #[must_use]
    pub fn hook_files(mut self, files: Arc<dyn HookFiles>) -> Self {
        self.setup.files = Some(files);
        self
    }

    /// Who summarises a conversation that grows too long, in place of the session's own model.
    /// None never summarises.
    #[must_use]
    pub fn compactor(mut self, compactor: Option<Arc<dyn Compactor>>) -> Self {
        self.setup.summaries = compactor.map_or(Summaries::None, Summaries::By);
        self
    }

    /// Functions that are called as things happen.
    #[must_use]
    pub fn callbacks(mut self, callbacks: Callbacks) -> Self {
        self.setup.callbacks = callbacks;
        self
    }

    /// Where it works.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.setup.cwd = Some(cwd.into());
        self
    }

    /// What it is called.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.setup.name = Some(name.into());
        self
    }

    /// The call of another session that starts this one.
    #[must_use]
    pub fn spawned_by(mut self, parent: SpawnedBy) -> Self {
        self.setup.spawned_by = Some(parent);
        self
    }

    /// A provider silent for longer than this has failed.
    #[must_use]
    pub fn provider_timeout(mut self, timeout: Duration) -> Self {
        self.setup.config.idle_timeout = timeout;
        self
    }

    /// At most this many model calls a turn; without it there is no limit.
    #[must_use]
    pub fn max_turns(mut self, rounds: u32) -> Self {
        self.setup.config.turn.max_rounds = rounds;
        self
    }

    /// The share of the window above which the conversation is summarised by itself; none never
    /// does.
    #[must_use]
    pub fn auto_compact(mut self, threshold: Option<f64>) -> Self {
        self.setup.config.turn.compact_at = threshold;
        self
    }

    /// Output of one call longer than this many bytes is cut to its head and tail; none never cuts.
    #[must_use]
    pub fn output_limit(mut self, bytes: Option<usize>) -> Self {
        self.setup.spill = bytes;
        self
    }

    /// Cleans up after a crash, when the session is resumed: ends processes that its calls left
    /// running, and puts back files that a call changed only in part. Without one, the model only
    /// learns that calls may have had effects.
    #[must_use]
    pub fn aftermath(mut self, aftermath: Arc<dyn Aftermath>) -> Self {
        self.setup.aftermath = Some(aftermath);
        self
    }

    /// Where the time comes from.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.setup.clock = clock;
        self
    }

    /// Where ids come from.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.setup.ids = ids;
        self
    }

    /// Any other setting of the driver: the window, timeouts, retries, concurrency, secrets.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut SessionConfig)) -> Self {
        change(&mut self.setup.config);
        self
    }

    /// Creates a session; without an id it gets a fresh one.
    ///
    /// # Errors
    /// When there is one of that id, a setting makes no sense, or the store fails.
    pub async fn create(
        self,
        store: Arc<dyn JournalStore>,
        id: Option<SessionId>,
    ) -> Result<Session, SessionError> {
        open::create(store, id, self.setup).await
    }

    /// Resumes a session. What a crash left open is sealed, or reported and left to the caller.
    ///
    /// # Errors
    /// When there is none, another process has it open, or the store fails.
    pub async fn resume(
        self,
        store: Arc<dyn JournalStore>,
        id: &SessionId,
        resume: Resume,
    ) -> Result<Session, SessionError> {
        open::resume(store, id, resume, self.setup).await
    }
}
