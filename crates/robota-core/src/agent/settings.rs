//! The settings that the builders of agents and sessions share.

use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::driver::SessionConfig;
use crate::gate::{Gate, ReadOnlyGate};
use crate::ids::{Ids, RandomIds};
use crate::provider::Provider;
use crate::tool::Tool;
use crate::turn::TurnRules;

/// What every agent has, whether it lives in memory or is a durable session.
#[derive(Clone)]
pub struct AgentSettings {
    /// Calls the model in every turn.
    pub provider: Arc<dyn Provider>,
    /// The tools that the model can call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Judges every call; [`ReadOnlyGate`] by default.
    pub gate: Arc<dyn Gate>,
    /// Gives events their time; the system's clock by default.
    pub clock: Arc<dyn Clock>,
    /// Creates the ids of sessions, turns, messages and calls; random by default.
    pub ids: Arc<dyn Ids>,
    /// What all turns of the agent have in common: prompt, limits, options.
    pub config: SessionConfig,
}

impl AgentSettings {
    /// Creates the default settings for a model: without tools, and only read-only ones may run.
    #[must_use]
    pub fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        Self {
            provider,
            tools: Vec::new(),
            gate: Arc::new(ReadOnlyGate),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            config: SessionConfig::new(TurnRules::of_model(model)),
        }
    }
}

/// Defines the methods that the builders share. The argument is the place of a builder's
/// [`AgentSettings`].
#[doc(hidden)]
#[macro_export]
macro_rules! agent_setters {
    ($($settings:ident).+) => {
        /// Sets the system prompt that every model call begins with; without one, none is sent.
        #[must_use]
        pub fn system(mut self, prompt: impl Into<::std::sync::Arc<str>>) -> Self {
            self.$($settings).+.config.system = Some(prompt.into());
            self
        }

        /// Adds a tool. What is built from clones of this builder shares it, and so do forks.
        #[must_use]
        pub fn tool(mut self, tool: impl $crate::into_arc::IntoArc<dyn $crate::tool::Tool>) -> Self {
            self.$($settings).+.tools.push(tool.into_arc());
            self
        }

        /// Adds tools, which are shared in the same way.
        #[must_use]
        pub fn tools(
            mut self,
            tools: impl IntoIterator<Item = ::std::sync::Arc<dyn $crate::tool::Tool>>,
        ) -> Self {
            self.$($settings).+.tools.extend(tools);
            self
        }

        /// Sets the gate, which judges every call: allow, ask or deny.
        #[must_use]
        pub fn gate(mut self, gate: impl $crate::into_arc::IntoArc<dyn $crate::gate::Gate>) -> Self {
            self.$($settings).+.gate = gate.into_arc();
            self
        }

        /// Limits the rounds (model calls) of a turn; zero means no limit. An agent in memory has a
        /// limit of [`DEFAULT_MAX_ROUNDS`]($crate::turn::DEFAULT_MAX_ROUNDS) by default, a session
        /// none.
        #[must_use]
        pub fn max_rounds(mut self, rounds: u32) -> Self {
            self.$($settings).+.config.turn.max_rounds = rounds;
            self
        }

        /// Sets the idle timeout: a model stream that sends nothing for longer has failed.
        #[must_use]
        pub fn idle_timeout(mut self, timeout: ::std::time::Duration) -> Self {
            self.$($settings).+.config.idle_timeout = timeout;
            self
        }

        /// Changes any other setting of the driver: context window, retries, concurrency,
        /// temperature, provider options, raw payloads, secrets to redact.
        #[must_use]
        pub fn configure(
            mut self,
            change: impl FnOnce(&mut $crate::driver::SessionConfig),
        ) -> Self {
            change(&mut self.$($settings).+.config);
            self
        }

        /// Sets the clock that stamps events.
        #[must_use]
        pub fn clock(
            mut self,
            clock: impl $crate::into_arc::IntoArc<dyn $crate::clock::Clock>,
        ) -> Self {
            self.$($settings).+.clock = $crate::guard::guarded_clock(clock.into_arc());
            self
        }

        /// Sets the source of ids. Tests use it to get the same ids every time.
        #[must_use]
        pub fn ids(mut self, ids: impl $crate::into_arc::IntoArc<dyn $crate::ids::Ids>) -> Self {
            self.$($settings).+.ids = $crate::guard::guarded_ids(ids.into_arc());
            self
        }
    };
}
