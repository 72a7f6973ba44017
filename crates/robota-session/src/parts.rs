//! What a session is made of.

use std::sync::Arc;

use robota_core::approve::RuleSink;
use robota_core::checkpoint::{Aftermath, Checkpoints};
use robota_core::clock::Clock;
use robota_core::compact::Compactor;
use robota_core::driver::{DriveConfig, Ports};
use robota_core::gate::Gate;
use robota_core::hook::Hooks;
use robota_core::ids::{Ids, SessionId};
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::provider::Provider;
use robota_core::tool::{Tool, ToolNameTaken, ToolSet};

use crate::callbacks::Callbacks;
use crate::changes::{JournalCheckpoints, TurnDoor};
use crate::compact::{HookedCompactor, SummaryCompactor};
use crate::desk::{Approvals, Desk};
use crate::hooks::{CodeHook, HookChain, HookFiles, HookedProvider};
use crate::spill::{Hosted, ReadOutput};

/// What a session is made of. A fork is made of the same.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) approvals: Approvals,
    pub(crate) rule_sink: Option<Arc<dyn RuleSink>>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) code_hooks: Vec<Arc<dyn CodeHook>>,
    pub(crate) files: Option<Arc<dyn HookFiles>>,
    pub(crate) summaries: Summaries,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) config: DriveConfig,
    pub(crate) mode: Mode,
    pub(crate) cwd: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) callbacks: Callbacks,
    /// Output longer than this is cut; none tells everything.
    pub(crate) spill: Option<usize>,
    /// Who tidies up after a dead writer.
    pub(crate) aftermath: Option<Arc<dyn Aftermath>>,
}

/// Who summarises.
#[derive(Clone)]
pub(crate) enum Summaries {
    /// Nobody.
    None,
    /// The session's own model.
    Model,
    /// Somebody else.
    By(Arc<dyn Compactor>),
}

impl Parts {
    pub(crate) fn desk(&self) -> Arc<Desk> {
        let sink = self.rule_sink.clone();
        Arc::new(Desk::new(self.approvals.clone(), self.gate.clone(), sink))
    }

    pub(crate) fn chain(&self, session: &SessionId) -> Arc<HookChain> {
        let scope = crate::hooks::HookScope {
            session: session.clone(),
            cwd: self.cwd.clone(),
            files: self.files.clone(),
        };
        Arc::new(HookChain::new(scope, self.code_hooks.clone(), self.hooks.clone()))
    }

    /// The tools as the driver runs them: what they say is cut to a length, and the rest can be
    /// read; what they are about to change is kept first.
    pub(crate) fn tool_set(
        &self,
        store: &dyn JournalStore,
        session: &SessionId,
        door: &Arc<TurnDoor>,
    ) -> Result<ToolSet, ToolNameTaken> {
        let blobs = store.blobs(session);
        let (limit, door) = (self.spill, door.clone());
        let checkpoints: Arc<dyn Checkpoints> =
            Arc::new(JournalCheckpoints { blobs: blobs.clone(), door });
        let wrapped = self.tools.iter().map(|tool| {
            let (inner, blobs) = (tool.clone(), blobs.clone());
            let (checkpoints, redactor) = (checkpoints.clone(), self.config.redactor.clone());
            Arc::new(Hosted { inner, blobs, limit, checkpoints, redactor }) as Arc<dyn Tool>
        });
        let reads = limit.is_some() && !self.tools.is_empty();
        let reader: Option<Arc<dyn Tool>> =
            reads.then(|| Arc::new(ReadOutput::new(blobs.clone())) as _);
        ToolSet::new(wrapped.chain(reader))
    }

    pub(crate) fn compactor(&self, chain: &Arc<HookChain>) -> Option<Arc<dyn Compactor>> {
        let inner: Arc<dyn Compactor> = match &self.summaries {
            Summaries::None => return None,
            Summaries::By(compactor) => compactor.clone(),
            Summaries::Model => Arc::new(SummaryCompactor::new(
                self.provider.clone(),
                self.config.turn.model.clone(),
                self.config.turn.context_window,
                self.ids.clone(),
            )),
        };
        Some(Arc::new(HookedCompactor { inner, hooks: Arc::clone(chain) }))
    }

    /// What a turn runs against.
    pub(crate) fn ports(&self, tools: &ToolSet, desk: &Arc<Desk>, chain: &Arc<HookChain>) -> Ports {
        Ports {
            provider: HookedProvider::wrap(self.provider.clone(), chain, &self.ids),
            tools: tools.clone(),
            gate: self.gate.clone(),
            approver: desk.clone(),
            hooks: chain.clone(),
            compactor: self.compactor(chain),
            ids: self.ids.clone(),
        }
    }
}
