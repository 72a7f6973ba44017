//! What a session is made of.

use std::sync::Arc;

use robota_core::approve::RuleSink;
use robota_core::checkpoint::CrashCleanup;
use robota_core::clock::Clock;
use robota_core::compact::Compactor;
use robota_core::driver::{Ports, SessionConfig};
use robota_core::event::SpawnedBy;
use robota_core::gate::Gate;
use robota_core::hook::Hooks;
use robota_core::ids::{Ids, SessionId};
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::provider::Provider;
use robota_core::tool::{Tool, ToolFactory, ToolNameTaken, ToolScope, ToolSet};

use crate::approvals::{ApprovalQueue, Approvals};
use crate::callbacks::Callbacks;
use crate::compact::{HookedCompactor, SummaryCompactor};
use crate::hooks::{CodeHook, HookChain, HookFiles, HookedProvider};
use crate::spill::{Hosted, ReadOutput};

/// What a session is made of. A fork is made of the same, with tools of its own.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) factories: Vec<Arc<dyn ToolFactory>>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) approvals: Approvals,
    pub(crate) rule_sink: Option<Arc<dyn RuleSink>>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) code_hooks: Vec<Arc<dyn CodeHook>>,
    pub(crate) files: Option<Arc<dyn HookFiles>>,
    pub(crate) summaries: Summaries,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) config: SessionConfig,
    pub(crate) mode: Mode,
    pub(crate) cwd: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) spawned_by: Option<SpawnedBy>,
    pub(crate) callbacks: Callbacks,
    /// Output longer than this is cut for the model; none never cuts.
    pub(crate) spill: Option<usize>,
    /// Cleans up what a crash left on the machine.
    pub(crate) crash_cleanup: Option<Arc<dyn CrashCleanup>>,
}

/// What summarises long conversations.
#[derive(Clone)]
pub(crate) enum Summaries {
    /// Nothing.
    None,
    /// The session's own model.
    Model,
    /// This compactor.
    By(Arc<dyn Compactor>),
}

/// What the next turn is made of: the setup, and the tools made for this session.
pub(crate) struct TurnSetup {
    pub(crate) setup: Setup,
    scope: ToolScope,
    /// Tools that factories made for this session.
    made: Vec<Arc<dyn Tool>>,
    tools: ToolSet,
}

impl TurnSetup {
    /// Makes the session's tools.
    ///
    /// # Errors
    /// When two have one name.
    pub(crate) fn new(
        setup: Setup,
        store: &dyn JournalStore,
        session: &SessionId,
    ) -> Result<Self, ToolNameTaken> {
        let blobs = store.blobs(session);
        let scope = ToolScope { session: session.clone(), cwd: setup.cwd.clone(), blobs };
        let made = setup.factories.iter().flat_map(|factory| factory.make(&scope)).collect();
        let mut this = Self { setup, scope, made, tools: ToolSet::default() };
        this.tools = this.tool_set()?;
        Ok(this)
    }

    /// Changes the tools, from the next turn on. On an error nothing changes.
    pub(crate) fn change_tools(
        &mut self,
        change: impl FnOnce(&mut Vec<Arc<dyn Tool>>, &mut Vec<Arc<dyn Tool>>),
    ) -> Result<(), ToolNameTaken> {
        let before = (self.setup.tools.clone(), self.made.clone());
        change(&mut self.setup.tools, &mut self.made);
        match self.tool_set() {
            Ok(tools) => {
                self.tools = tools;
                Ok(())
            }
            Err(taken) => {
                (self.setup.tools, self.made) = before;
                Err(taken)
            }
        }
    }

    /// The tools as the driver runs them: long output is cut, and the rest can be read.
    fn tool_set(&self) -> Result<ToolSet, ToolNameTaken> {
        let (limit, blobs) = (self.setup.spill, &self.scope.blobs);
        let inner: Vec<_> = self.setup.tools.iter().chain(&self.made).cloned().collect();
        let reads = limit.is_some() && !inner.is_empty();
        let hosted = inner.into_iter().map(|inner| {
            let (blobs, redactor) = (blobs.clone(), self.setup.config.redactor.clone());
            Arc::new(Hosted { inner, blobs, limit, redactor }) as Arc<dyn Tool>
        });
        let reader: Option<Arc<dyn Tool>> =
            reads.then(|| Arc::new(ReadOutput::new(blobs.clone())) as _);
        ToolSet::new(hosted.chain(reader))
    }

    /// What a turn runs against.
    pub(crate) fn ports(&self, approvals: &Arc<ApprovalQueue>, hooks: &Arc<HookChain>) -> Ports {
        Ports {
            provider: self.setup.provider(hooks),
            tools: self.tools.clone(),
            gate: self.setup.gate.clone(),
            approver: approvals.clone(),
            hooks: hooks.clone(),
            compactor: self.setup.compactor(hooks),
            blobs: Some(self.scope.blobs.clone()),
            ids: self.setup.ids.clone(),
        }
    }
}

impl Setup {
    pub(crate) fn approval_queue(&self) -> Arc<ApprovalQueue> {
        let sink = self.rule_sink.clone();
        Arc::new(ApprovalQueue::new(self.approvals.clone(), self.gate.clone(), sink))
    }

    pub(crate) fn hook_chain(&self, session: &SessionId) -> Arc<HookChain> {
        let scope = crate::hooks::HookScope {
            session: session.clone(),
            cwd: self.cwd.clone(),
            files: self.files.clone(),
        };
        Arc::new(HookChain::new(scope, self.code_hooks.clone(), self.hooks.clone()))
    }

    /// The provider behind the session's hooks: every model call passes them.
    pub(crate) fn provider(&self, hooks: &Arc<HookChain>) -> Arc<dyn Provider> {
        HookedProvider::wrap(self.provider.clone(), hooks, &self.ids)
    }

    pub(crate) fn compactor(&self, hooks: &Arc<HookChain>) -> Option<Arc<dyn Compactor>> {
        let inner: Arc<dyn Compactor> = match &self.summaries {
            Summaries::None => return None,
            Summaries::By(compactor) => compactor.clone(),
            Summaries::Model => Arc::new(
                SummaryCompactor::new(
                    self.provider(hooks),
                    self.config.turn.model.clone(),
                    self.config.turn.context_window,
                    self.ids.clone(),
                )
                .limits(self.config.ask_limits()),
            ),
        };
        Some(Arc::new(HookedCompactor { inner, hooks: Arc::clone(hooks) }))
    }
}
