//! The parts and options of a session.

use std::collections::HashSet;
use std::sync::Arc;

use robota_core::agent::AgentSettings;
use robota_core::approve::RuleSink;
use robota_core::checkpoint::CrashCleanup;
use robota_core::compact::Compactor;
use robota_core::driver::{Observer, Ports};
use robota_core::event::SpawnedBy;
use robota_core::hook::Hooks;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::plugin::{Plugin, PluginSet};
use robota_core::provider::Provider;
use robota_core::tool::{
    LiveTools, Tool, ToolFactory, ToolNameTaken, ToolScope, ToolSet, ToolSource,
};

use crate::approvals::{ApprovalQueue, Approvals};
use crate::callbacks::Callbacks;
use crate::compact::{HookedCompactor, SummaryCompactor};
use crate::error::SessionError;
use crate::hooks::{CodeHook, HookChain, HookFiles, HookedProvider};
use crate::live_tools::LiveToolSet;
use crate::session::ToolChange;
use crate::tool_output::{ReadOutput, SessionTool};

/// Makes the hooks of one session.
pub(crate) type HookMaker = Arc<dyn Fn(&SessionId) -> Arc<dyn Hooks> + Send + Sync>;

pub(crate) type ObserverMaker = Arc<dyn Fn(&SessionId) -> Observer + Send + Sync>;

/// The parts and options of a session. A fork uses the same, with its own tools.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) base: AgentSettings,
    pub(crate) factories: Vec<Arc<dyn ToolFactory>>,
    /// Tools of the factories that a client removed from the session; its forks do not have them
    /// either.
    pub(crate) removed: HashSet<String>,
    /// Tools that come and go while the session runs.
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) approvals: Approvals,
    pub(crate) rule_sink: Option<Arc<dyn RuleSink>>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    /// Make hooks for each session: a session and its forks.
    pub(crate) hook_makers: Vec<HookMaker>,
    /// Make observers for each session: a session and its forks.
    pub(crate) observer_makers: Vec<ObserverMaker>,
    pub(crate) code_hooks: Vec<Arc<dyn CodeHook>>,
    pub(crate) files: Option<Arc<dyn HookFiles>>,
    pub(crate) summaries: Summaries,
    pub(crate) mode: Mode,
    /// The mode from which plan mode was entered; none in other modes and if the session began in it.
    pub(crate) before_plan: Option<Mode>,
    pub(crate) cwd: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) spawned_by: Option<SpawnedBy>,
    pub(crate) callbacks: Callbacks,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    /// Output longer than this many bytes is cut for the model; none does not cut.
    pub(crate) output_limit: Option<usize>,
    /// Cleans up what a crash left on the machine.
    pub(crate) crash_cleanup: Option<Arc<dyn CrashCleanup>>,
}

/// What summarises long conversations.
#[derive(Clone)]
pub(crate) enum Summaries {
    /// Nothing: there is no compaction.
    None,
    /// The session's own model, with its provider and hooks.
    Model,
    /// A compactor of the caller.
    By(Arc<dyn Compactor>),
}

/// The parts of the next turn: the setup, and the tools created for this session.
pub(crate) struct TurnSetup {
    pub(crate) setup: Setup,
    scope: ToolScope,
    /// Tools that factories created for this session.
    from_factories: Vec<Arc<dyn Tool>>,
    tools: ToolSet,
}

impl TurnSetup {
    /// Creates the session's tools.
    ///
    /// # Errors
    /// If two tools have the same name.
    pub(crate) fn new(
        setup: Setup,
        store: &dyn JournalStore,
        session: &SessionId,
    ) -> Result<Self, ToolNameTaken> {
        let blobs = store.blobs(session);
        let scope = ToolScope { session: session.clone(), cwd: setup.cwd.clone(), blobs };
        let from_factories = setup.factories.iter().flat_map(|factory| factory.make(&scope));
        let from_factories =
            from_factories.filter(|tool| !setup.removed.contains(&tool.spec().name)).collect();
        let mut this = Self { setup, scope, from_factories, tools: ToolSet::default() };
        this.tools = this.tool_set()?;
        Ok(this)
    }

    /// Changes the tools, from the next turn on. After an error nothing has changed.
    pub(crate) fn change_tools(&mut self, change: ToolChange) -> Result<(), ToolNameTaken> {
        match change {
            ToolChange::Add(tools) => {
                let before = self.setup.base.tools.len();
                self.setup.base.tools.extend(tools);
                // All of the change or nothing: a session with half of it could not be explained.
                match self.tool_set() {
                    Ok(tools) => self.tools = tools,
                    Err(taken) => {
                        self.setup.base.tools.truncate(before);
                        return Err(taken);
                    }
                }
            }
            ToolChange::Remove(names) => {
                for tools in [&mut self.setup.base.tools, &mut self.from_factories] {
                    tools.retain(|tool| !names.contains(&tool.spec().name));
                }
                self.setup.removed.extend(names);
                self.tools = self.tool_set()?;
            }
            ToolChange::Replace(tools) => {
                let before = std::mem::replace(&mut self.setup.base.tools, tools);
                let made = std::mem::take(&mut self.from_factories);
                match self.tool_set() {
                    Ok(tools) => self.tools = tools,
                    Err(taken) => {
                        (self.setup.base.tools, self.from_factories) = (before, made);
                        return Err(taken);
                    }
                }
                // Removed too: otherwise their tools would come back in a fork.
                self.setup.factories.clear();
            }
        }
        Ok(())
    }

    /// Returns the tools as the driver runs them: long output is cut, and a tool reads the rest.
    fn tool_set(&self) -> Result<ToolSet, ToolNameTaken> {
        let (limit, blobs) = (self.setup.output_limit, &self.scope.blobs);
        let inner: Vec<_> =
            self.setup.base.tools.iter().chain(&self.from_factories).cloned().collect();
        // Without a limit nothing is cut, and without tools nothing is read: the tool would only
        // lengthen each request.
        let reads = limit.is_some() && !inner.is_empty();
        let hosted = inner.into_iter().map(|inner| {
            let (blobs, redactor) = (blobs.clone(), self.setup.base.config.redactor.clone());
            Arc::new(SessionTool { inner, blobs, limit, redactor }) as Arc<dyn Tool>
        });
        let reader: Option<Arc<dyn Tool>> =
            reads.then(|| Arc::new(ReadOutput::new(blobs.clone())) as _);
        ToolSet::new(hosted.chain(reader))
    }

    /// Returns the ports that a turn runs against.
    pub(crate) fn ports(&self, approvals: &Arc<ApprovalQueue>, hooks: &Arc<HookChain>) -> Ports {
        // Made for each turn, since the tools of a source change between turns too.
        let live = LiveToolSet::new(&self.tools, &self.setup, &self.scope).map(Arc::new);
        let tools = live.as_ref().and_then(|live| live.changed());
        Ports {
            provider: self.setup.provider(hooks),
            tools: tools.unwrap_or_else(|| self.tools.clone()),
            live_tools: live.map(|live| live as Arc<dyn LiveTools>),
            gate: self.setup.base.gate.clone(),
            approver: approvals.clone(),
            hooks: hooks.clone(),
            compactor: self.setup.compactor(hooks),
            blobs: Some(self.scope.blobs.clone()),
            ids: self.setup.base.ids.clone(),
        }
    }
}

impl Setup {
    pub(crate) fn approval_queue(
        &self,
        session: SessionId,
        hooks: Arc<HookChain>,
    ) -> Arc<ApprovalQueue> {
        let (approvals, gate) = (self.approvals.clone(), self.base.gate.clone());
        Arc::new(ApprovalQueue::new(session, approvals, hooks, gate, self.rule_sink.clone()))
    }

    pub(crate) fn hook_chain(&self, session: &SessionId) -> Arc<HookChain> {
        let scope = crate::hooks::HookScope {
            session: session.clone(),
            cwd: self.cwd.clone(),
            files: self.files.clone(),
        };
        let made = self.hook_makers.iter().map(|make| make(session));
        let plugins = self.plugins().map(|plugins| plugins as Arc<dyn Hooks>).into_iter();
        let hooks = plugins.chain(self.hooks.iter().cloned()).chain(made).collect();
        Arc::new(HookChain::new(scope, self.code_hooks.clone(), hooks))
    }

    /// Returns the plugins; none if there are none.
    pub(crate) fn plugins(&self) -> Option<Arc<PluginSet>> {
        let plugins = Some(&self.plugins).filter(|plugins| !plugins.is_empty())?;
        Some(Arc::new(PluginSet::new(plugins.iter().cloned())))
    }

    /// Returns what restores files, and the working directory.
    pub(crate) fn workspace_files(&self) -> Result<(Arc<dyn CrashCleanup>, String), SessionError> {
        let no_files = || {
            let text =
                "the session has no working directory, or no crash cleanup, which restores files";
            SessionError::Setting(text.to_owned())
        };
        let files = self.crash_cleanup.clone().ok_or_else(no_files)?;
        Ok((files, self.cwd.clone().ok_or_else(no_files)?))
    }

    /// Returns the provider with the session's hooks around every model call.
    pub(crate) fn provider(&self, hooks: &Arc<HookChain>) -> Arc<dyn Provider> {
        HookedProvider::wrap(self.base.provider.clone(), hooks, &self.base.ids)
    }

    pub(crate) fn compactor(&self, hooks: &Arc<HookChain>) -> Option<Arc<dyn Compactor>> {
        let inner: Arc<dyn Compactor> = match &self.summaries {
            Summaries::None => return None,
            Summaries::By(compactor) => compactor.clone(),
            Summaries::Model => Arc::new(
                SummaryCompactor::new(
                    // With the hooks of the session: a summary is a model call like any other.
                    self.provider(hooks),
                    self.base.config.turn.model.clone(),
                    self.base.config.turn.context_window,
                    self.base.ids.clone(),
                )
                .limits(self.base.config.ask_limits()),
            ),
        };
        Some(Arc::new(HookedCompactor { inner, hooks: Arc::clone(hooks) }))
    }
}
