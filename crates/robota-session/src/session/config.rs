//! Changes the configuration of a session's next turns.

use std::sync::Arc;

use robota_core::clock::Clock;
use robota_core::hook::{
    EventDecision, EventReport, HookData, HookEvent, HookInput, HookReply, Hooks as _, ModelSwitch,
    ModelSwitchSource,
};
use robota_core::ids::Ids;
use robota_core::message::ToolUse;
use robota_core::permission::Verdict;
use robota_core::provider::Provider;
use robota_core::redact::Redactor;
use robota_core::tool::Tool;

use super::Session;
use crate::error::SessionError;
use crate::hooks::{CodeHook, RegisteredHook};

/// Reads and changes the configuration of a session's next turns. A running turn keeps the one it
/// started with.
#[derive(Clone)]
pub struct ConfigHandle(pub(super) Session);

/// Adds, removes or replaces tools of a session.
pub enum ToolChange {
    /// Adds tools to those that the session has.
    Add(Vec<Arc<dyn Tool>>),
    /// Removes the tools with these names.
    Remove(Vec<String>),
    /// Replaces all tools, also those of factories, by these.
    Replace(Vec<Arc<dyn Tool>>),
}

impl ConfigHandle {
    /// Returns the clock that stamps the session's events.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.0.shared.turn_setup().setup.base.clock.clone()
    }

    /// Returns the session's source of ids.
    #[must_use]
    pub fn ids(&self) -> Arc<dyn Ids> {
        self.0.shared.turn_setup().setup.base.ids.clone()
    }

    /// Uses another model from the next turn on, and another provider if one is given. The limits
    /// of the model come from the built-in catalogue. The hooks of the event PreModelSwitch decide
    /// first.
    ///
    /// # Errors
    /// If a hook blocks the change; the model then stays as it is.
    pub async fn set_model(
        &self,
        model: impl Into<String>,
        provider: Option<Arc<dyn Provider>>,
    ) -> Result<(), SessionError> {
        self.switch_model(ModelSwitchSource::Api, model, provider).await
    }

    /// Like [`ConfigHandle::set_model`], for a change that a user or a host requested; hooks receive
    /// the `source`.
    ///
    /// # Errors
    /// If a hook blocks the change; the model then stays as it is.
    pub async fn switch_model(
        &self,
        source: ModelSwitchSource,
        model: impl Into<String>,
        provider: Option<Arc<dyn Provider>>,
    ) -> Result<(), SessionError> {
        let new_model = model.into();
        let shared = &self.0.shared;
        let old_model = shared.turn_setup().setup.base.config.turn.model.clone();
        let switch = ModelSwitch { old_model, new_model, source };
        let redactor = self.redactor();
        switch.ask(&*shared.hooks).await.map_err(|mut reason| {
            redactor.clean(&mut reason);
            SessionError::Blocked(reason)
        })?;
        {
            let setup = &mut shared.turn_setup_mut().setup;
            setup.base.config.turn.set_model(switch.new_model.clone());
            if let Some(provider) = provider {
                setup.base.provider = provider;
            }
        }
        switch.announce(&*shared.hooks).await;
        Ok(())
    }

    /// Sets an option of the model calls from the next turn on, such as `effort`; none removes it.
    pub fn set_option(&self, name: &str, value: Option<serde_json::Value>) {
        let options = &mut self.0.shared.turn_setup_mut().setup.base.config.options;
        match value {
            Some(value) => options.insert(name.to_owned(), value),
            None => options.remove(name),
        };
    }

    /// Sets the system prompt from the next turn on; none sends no prompt.
    pub fn set_system(&self, prompt: Option<Arc<str>>) {
        self.0.shared.turn_setup_mut().setup.base.config.system = prompt;
    }

    /// Changes the tools, from the next turn on. Forks that are made later have the changed tools too.
    ///
    /// # Errors
    /// If two tools have the same name; then nothing changes.
    pub fn set_tools(&self, change: ToolChange) -> Result<(), SessionError> {
        Ok(self.0.shared.turn_setup_mut().change_tools(change)?)
    }

    /// Adds a hook in code, from now on.
    pub fn use_hooks(&self, hook: Arc<dyn CodeHook>) {
        self.0.shared.hooks.add(hook.clone());
        // Also in the setup, so that a fork has the hook.
        self.0.shared.turn_setup_mut().setup.code_hooks.push(hook);
    }

    /// Returns the hooks of code, then the events that have hooks of settings.
    #[must_use]
    pub fn get_hooks(&self) -> Vec<RegisteredHook> {
        self.0.shared.hooks.registered()
    }

    /// Returns whether an event has hooks.
    #[must_use]
    pub fn has_hooks(&self, event: HookEvent) -> bool {
        self.0.shared.hooks.has_event(event)
    }

    /// Runs the hooks of an event that the program causes, such as a notification of the user.
    pub async fn run_hooks(&self, data: HookData) -> EventReport {
        if !self.has_hooks(data.event()) {
            return EventReport::default();
        }
        let mut report = self.0.shared.hooks.run_event(data).await;
        // A turn does the same with what its hooks print.
        let redactor = self.redactor();
        match &mut report.decision {
            EventDecision::Continue { context } => {
                context.iter_mut().for_each(|text| redactor.clean(text));
            }
            EventDecision::Block { reason } => redactor.clean(reason),
        }
        report
    }

    /// Returns what removes the secrets of the session, for text that the program itself adds to the
    /// conversation.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        self.0.shared.turn_setup().setup.base.config.redactor.clone()
    }

    /// Runs the hooks before a call that the program makes itself, as before a call of the model: those of
    /// settings and those in code. `verdict` is that of the gate.
    pub async fn run_pre_tool(&self, call: ToolUse, verdict: Verdict) -> HookReply {
        self.0.shared.hooks.run(HookInput::PreToolUse { tool_use: call, verdict }).await
    }
}
