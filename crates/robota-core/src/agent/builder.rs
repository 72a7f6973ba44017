//! The builder of [`Agent`].

use std::sync::Arc;

use super::{Agent, AgentSettings, Module};
use crate::approve::{Approver, NoApprover};
use crate::compact::Compactor;
use crate::driver::Ports;
use crate::hook::{CombinedHooks, Hooks};
use crate::into_arc::IntoArc;
use crate::plugin::{Plugin, PluginSet};
use crate::provider::Provider;
use crate::tool::{ToolNameTaken, ToolSet};

/// Builds an [`Agent`]. Without a gate only read-only tools may run; without an approver every
/// call that needs approval is denied.
///
/// What it shares with the builder of sessions is defined once, in [`AgentSettings`].
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
    settings: AgentSettings,
    approver: Arc<dyn Approver>,
    hooks: Vec<Arc<dyn Hooks>>,
    compactor: Option<Arc<dyn Compactor>>,
    instructions: Vec<Arc<str>>,
    plugins: Vec<Arc<dyn Plugin>>,
    drops_chunks: bool,
}

impl AgentBuilder {
    pub(super) fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        Self {
            settings: AgentSettings::new(provider, model),
            approver: Arc::new(NoApprover),
            hooks: Vec::new(),
            compactor: None,
            instructions: Vec::new(),
            plugins: Vec::new(),
            drops_chunks: false,
        }
    }

    crate::agent_setters!(settings);

    /// Adds the tools and instructions of a module. [`ModuleRegistry::resolve`] returns a module
    /// with all that it requires.
    ///
    /// [`ModuleRegistry::resolve`]: super::ModuleRegistry::resolve
    #[must_use]
    pub fn module(mut self, module: Module) -> Self {
        let (tools, instructions) = module.into_parts();
        self.settings.tools.extend(tools);
        self.instructions.extend(instructions);
        self
    }

    /// Sets the approver, which decides calls that the gate answers with "ask".
    #[must_use]
    pub fn approver(mut self, approver: impl IntoArc<dyn Approver>) -> Self {
        self.approver = approver.into_arc();
        self
    }

    /// Adds hooks that run around prompts, tool calls and answers, after those added before.
    #[must_use]
    pub fn hooks(mut self, hooks: impl IntoArc<dyn Hooks>) -> Self {
        self.hooks.push(hooks.into_arc());
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
        self.compactor = Some(compactor.into_arc());
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
    pub fn build(self) -> Result<Agent, ToolNameTaken> {
        let AgentSettings { provider, tools, gate, clock, ids, mut config } = self.settings;
        // Joined here and not in `module`, so that the instructions follow whatever prompt was set
        // last.
        if !self.instructions.is_empty() {
            let parts: Vec<_> = config.system.into_iter().chain(self.instructions).collect();
            config.system = Some(parts.join("\n\n").into());
        }
        let mut ports = Ports {
            provider,
            tools: ToolSet::new(tools)?,
            live_tools: None,
            gate,
            approver: self.approver,
            hooks: Arc::new(CombinedHooks::new(self.hooks)),
            compactor: self.compactor,
            blobs: None,
            ids,
        };
        if self.plugins.is_empty() {
            return Ok(Agent::new(ports, config, clock, self.drops_chunks));
        }
        // The set observes as well: plugins get the events of a run as an observer, and decide as
        // hooks.
        let plugins = Arc::new(PluginSet::before(self.plugins, ports.hooks));
        ports.hooks = plugins.clone();
        let mut agent = Agent::new(ports, config, clock, self.drops_chunks);
        agent.observe(plugins.observer());
        Ok(agent)
    }
}
