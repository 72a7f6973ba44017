//! Building an agent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Agent;
use crate::approve::{Approver, NoApprover};
use crate::catalogue::Catalogue;
use crate::clock::{Clock, SystemClock};
use crate::compact::Compactor;
use crate::driver::{Ports, SessionConfig};
use crate::gate::{Gate, ReadOnlyGate};
use crate::hook::{Hooks, NoHooks};
use crate::ids::{Ids, RandomIds};
use crate::provider::{NativeWeb, Provider, RetryPolicy};
use crate::tool::{Tool, ToolNameTaken, ToolSet};
use crate::turn::{ToolConcurrency, TurnRules};

/// Builds an [`Agent`]. Without a gate, only tools that look may run.
#[derive(Clone)]
pub struct AgentBuilder {
    ports: Ports,
    config: SessionConfig,
    clock: Arc<dyn Clock>,
    drops_chunks: bool,
}

impl AgentBuilder {
    pub(super) fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        let catalogue = Catalogue::builtin();
        let mut turn = TurnRules::new(model);
        turn.context_window = catalogue.context_window(&turn.model);
        turn.max_output = catalogue.max_output(&turn.model);
        Self {
            ports: Ports {
                provider,
                tools: ToolSet::default(),
                gate: Arc::new(ReadOnlyGate),
                approver: Arc::new(NoApprover),
                hooks: Arc::new(NoHooks),
                compactor: None,
                blobs: None,
                ids: Arc::new(RandomIds),
            },
            config: SessionConfig::new(turn),
            clock: Arc::new(SystemClock),
            drops_chunks: false,
        }
    }

    /// The system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.config.system = Some(prompt.into());
        self
    }

    /// The tools, in place of those it has.
    ///
    /// # Errors
    /// When two have one name.
    pub fn tools(
        mut self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, ToolNameTaken> {
        self.ports.tools = ToolSet::new(tools)?;
        Ok(self)
    }

    /// Who judges every call.
    #[must_use]
    pub fn gate(mut self, gate: impl Gate + 'static) -> Self {
        self.ports.gate = Arc::new(gate);
        self
    }

    /// Who is asked when the gate says so; nobody, unless said here.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.ports.approver = Arc::new(approver);
        self
    }

    /// Hooks.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.ports.hooks = Arc::new(hooks);
        self
    }

    /// Who summarises a conversation that grows too long.
    #[must_use]
    pub fn compactor(mut self, compactor: impl Compactor + 'static) -> Self {
        self.ports.compactor = Some(Arc::new(compactor));
        self
    }

    /// At most this many rounds a run; zero is no limit.
    #[must_use]
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.config.turn.max_rounds = rounds;
        self
    }

    /// The model's context window, where the catalogue is wrong or silent.
    #[must_use]
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.config.turn.context_window = tokens;
        self
    }

    /// How the calls of one answer run.
    #[must_use]
    pub fn concurrency(mut self, concurrency: ToolConcurrency) -> Self {
        self.config.turn.concurrency = concurrency;
        self
    }

    /// How failed model calls are tried again.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.config.turn.retry = retry;
        self
    }

    /// A stream silent for longer than this has failed.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.config.idle_timeout = timeout;
        self
    }

    /// How adventurous the model is to be.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.config.temperature = Some(temperature);
        self
    }

    /// Native web tools for every call.
    #[must_use]
    pub fn native_web(mut self, web: NativeWeb) -> Self {
        self.config.native_web = web;
        self
    }

    /// Options for the provider, passed on as they are.
    #[must_use]
    pub fn options(mut self, options: Map<String, Value>) -> Self {
        self.config.options = options;
        self
    }

    /// Journals what goes over the wire.
    #[must_use]
    pub fn record_payloads(mut self, record: bool) -> Self {
        self.config.record_payloads = record;
        self
    }

    /// Where ids come from.
    #[must_use]
    pub fn ids(mut self, ids: impl Ids + 'static) -> Self {
        self.ports.ids = Arc::new(ids);
        self
    }

    /// Where the time comes from.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Drops the streamed pieces of a run when the next one begins, for an agent that lives long:
    /// messages, calls and results stay. Its journal can then not be folded or replayed from the
    /// first event.
    #[must_use]
    pub fn drop_chunks(mut self) -> Self {
        self.drops_chunks = true;
        self
    }

    /// The agent.
    #[must_use]
    pub fn build(self) -> Agent {
        Agent::new(self.ports, self.config, self.clock, self.drops_chunks)
    }
}
