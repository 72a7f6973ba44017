//! The builder of [`Agent`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Agent, Module};
use crate::approve::{Approver, NoApprover};
use crate::clock::{Clock, SystemClock};
use crate::compact::Compactor;
use crate::driver::{Ports, SessionConfig};
use crate::gate::{Gate, ReadOnlyGate};
use crate::hook::{Hooks, NoHooks};
use crate::ids::{Ids, RandomIds};
use crate::into_arc::IntoArc;
use crate::plugin::{Plugin, PluginSet};
use crate::provider::{NativeWeb, Provider, RetryPolicy};
use crate::tool::{Tool, ToolNameTaken, ToolSet};
use crate::turn::{ToolConcurrency, TurnRules};

/// Builds an [`Agent`]. Without a gate only read-only tools may run; without an approver every
/// call that needs approval is denied.
///
/// The session builder has the same methods under the same names.
///
/// ```
/// use robota_core::agent::Agent;
/// use robota_core::gate::ModeGate;
/// use robota_core::permission::Mode;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedProvider::new(Script::new().text("Done."));
/// let agent = Agent::builder(model, "any-model")
///     .system("Answer in one line.")
///     .gate(ModeGate(Mode::Plan))
///     .build()?;
/// # drop(agent);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct AgentBuilder {
    ports: Ports,
    tools: Vec<Arc<dyn Tool>>,
    instructions: Vec<Arc<str>>,
    config: SessionConfig,
    plugins: Vec<Arc<dyn Plugin>>,
    clock: Arc<dyn Clock>,
    drops_chunks: bool,
}

impl AgentBuilder {
    pub(super) fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        let turn = TurnRules::of_model(model);
        Self {
            ports: Ports {
                provider,
                tools: ToolSet::default(),
                live_tools: None,
                gate: Arc::new(ReadOnlyGate),
                approver: Arc::new(NoApprover),
                hooks: Arc::new(NoHooks),
                compactor: None,
                blobs: None,
                ids: Arc::new(RandomIds),
            },
            tools: Vec::new(),
            instructions: Vec::new(),
            config: SessionConfig::new(turn),
            plugins: Vec::new(),
            clock: Arc::new(SystemClock),
            drops_chunks: false,
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.config.system = Some(prompt.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl IntoArc<dyn Tool>) -> Self {
        self.tools.push(tool.into_arc());
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds the tools and instructions of a module. [`ModuleRegistry::resolve`] returns a module
    /// with all that it requires.
    ///
    /// [`ModuleRegistry::resolve`]: super::ModuleRegistry::resolve
    #[must_use]
    pub fn module(mut self, module: Module) -> Self {
        let (tools, instructions) = module.into_parts();
        self.tools.extend(tools);
        self.instructions.extend(instructions);
        self
    }

    /// Sets the gate, which judges every call: allow, ask or deny.
    #[must_use]
    pub fn gate(mut self, gate: impl IntoArc<dyn Gate>) -> Self {
        self.ports.gate = gate.into_arc();
        self
    }

    /// Sets the approver, which decides calls that the gate answers with "ask".
    #[must_use]
    pub fn approver(mut self, approver: impl IntoArc<dyn Approver>) -> Self {
        self.ports.approver = approver.into_arc();
        self
    }

    /// Sets the hooks.
    #[must_use]
    pub fn hooks(mut self, hooks: impl IntoArc<dyn Hooks>) -> Self {
        self.ports.hooks = hooks.into_arc();
        self
    }

    /// Adds a plugin, which follows the runs and can stop them. Plugins run before the hooks.
    #[must_use]
    pub fn plugin(mut self, plugin: impl IntoArc<dyn Plugin>) -> Self {
        self.plugins.push(plugin.into_arc());
        self
    }

    /// Sets the compactor, which summarises a conversation that fills the context window. Without one
    /// the conversation is never summarised.
    #[must_use]
    pub fn compactor(mut self, compactor: impl IntoArc<dyn Compactor>) -> Self {
        self.ports.compactor = Some(compactor.into_arc());
        self
    }

    /// Limits the rounds (model calls) of a run; zero means no limit. The default is
    /// [`DEFAULT_MAX_ROUNDS`](crate::turn::DEFAULT_MAX_ROUNDS).
    #[must_use]
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.config.turn.max_rounds = rounds;
        self
    }

    /// Sets the context window of the model in tokens, where the model catalogue is wrong or does not
    /// know the model.
    #[must_use]
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.config.turn.context_window = tokens;
        self
    }

    /// Sets whether the tool calls of one answer run in parallel.
    #[must_use]
    pub fn concurrency(mut self, concurrency: ToolConcurrency) -> Self {
        self.config.turn.concurrency = concurrency;
        self
    }

    /// Sets how failed model calls are retried.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.config.turn.retry = retry;
        self
    }

    /// Limits how often an answer that reached the output limit is continued; 0 never continues one.
    #[must_use]
    pub fn max_continues(mut self, times: u32) -> Self {
        self.config.turn.max_continues = times;
        self
    }

    /// Sets after how many rounds the same failing call ends the use of tools; 0 means never.
    #[must_use]
    pub fn max_repeats(mut self, rounds: u32) -> Self {
        self.config.turn.max_repeats = rounds;
        self
    }

    /// Sets the idle timeout: a model stream that sends nothing for longer has failed.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.config.idle_timeout = timeout;
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.config.temperature = Some(temperature);
        self
    }

    /// Switches the provider's own web tools on for every model call.
    #[must_use]
    pub fn native_web(mut self, web: NativeWeb) -> Self {
        self.config.native_web = web;
        self
    }

    /// Sets options that are passed to the provider unchanged.
    #[must_use]
    pub fn options(mut self, options: Map<String, Value>) -> Self {
        self.config.options = options;
        self
    }

    /// Records the raw requests and responses of the provider in the journal.
    #[must_use]
    pub fn record_payloads(mut self, record: bool) -> Self {
        self.config.record_payloads = record;
        self
    }

    /// Sets the source of ids. Tests use it to get the same ids every time.
    #[must_use]
    pub fn ids(mut self, ids: impl IntoArc<dyn Ids>) -> Self {
        self.ports.ids = ids.into_arc();
        self
    }

    /// Sets the clock that stamps events.
    #[must_use]
    pub fn clock(mut self, clock: impl IntoArc<dyn Clock>) -> Self {
        self.clock = clock.into_arc();
        self
    }

    /// Drops the streamed chunks of a run when the next run begins, which bounds the memory of a
    /// long-lived agent. Messages, calls and results stay. The journal can then no longer be folded
    /// or replayed from the first event.
    #[must_use]
    pub fn drop_chunks(mut self) -> Self {
        self.drops_chunks = true;
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// When two tools have the same name.
    pub fn build(mut self) -> Result<Agent, ToolNameTaken> {
        self.ports.tools = ToolSet::new(self.tools)?;
        if !self.instructions.is_empty() {
            let parts: Vec<_> = self.config.system.into_iter().chain(self.instructions).collect();
            self.config.system = Some(parts.join("\n\n").into());
        }
        if self.plugins.is_empty() {
            return Ok(Agent::new(self.ports, self.config, self.clock, self.drops_chunks));
        }
        let plugins = Arc::new(PluginSet::before(self.plugins, self.ports.hooks));
        self.ports.hooks = plugins.clone();
        let mut agent = Agent::new(self.ports, self.config, self.clock, self.drops_chunks);
        agent.observe(plugins.observer());
        Ok(agent)
    }
}
