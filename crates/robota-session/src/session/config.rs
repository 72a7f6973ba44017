//! What the next turns of a session are made of.

use std::sync::Arc;

use robota_core::catalogue::Catalogue;
use robota_core::provider::Provider;
use robota_core::tool::Tool;

use super::Session;
use crate::error::SessionError;
use crate::hooks::{CodeHook, RegisteredHook};

/// What the next turns of a session are made of. The turn that runs keeps what it started with.
#[derive(Clone)]
pub struct ConfigHandle(pub(super) Session);

/// A change of a session's tools.
pub enum ToolChange {
    /// More tools.
    Add(Vec<Arc<dyn Tool>>),
    /// Without the tools of these names.
    Remove(Vec<String>),
    /// These tools and no others.
    Replace(Vec<Arc<dyn Tool>>),
}

impl ConfigHandle {
    /// Calls another model from the next turn on, through another provider if one is given. The
    /// limits of the model are those of the catalogue.
    pub fn set_model(&self, model: impl Into<String>, provider: Option<Arc<dyn Provider>>) {
        let (model, catalogue) = (model.into(), Catalogue::builtin());
        let setup = &mut self.0.shared.turn_setup_mut().setup;
        setup.config.turn.context_window = catalogue.context_window(&model);
        setup.config.turn.max_output = catalogue.max_output(&model);
        setup.config.turn.model = model;
        if let Some(provider) = provider {
            setup.provider = provider;
        }
    }

    /// Sends another system prompt from the next turn on; none sends none.
    pub fn set_system(&self, prompt: Option<Arc<str>>) {
        self.0.shared.turn_setup_mut().setup.config.system = prompt;
    }

    /// Changes the tools, from the next turn on.
    ///
    /// # Errors
    /// When two have one name; the tools then stay as they were.
    pub fn set_tools(&self, change: ToolChange) -> Result<(), SessionError> {
        let change = |given: &mut Vec<Arc<dyn Tool>>, made: &mut Vec<Arc<dyn Tool>>| match change {
            ToolChange::Add(tools) => given.extend(tools),
            ToolChange::Remove(names) => {
                for tools in [given, made] {
                    tools.retain(|tool| !names.contains(&tool.spec().name));
                }
            }
            ToolChange::Replace(tools) => {
                made.clear();
                *given = tools;
            }
        };
        Ok(self.0.shared.turn_setup_mut().change_tools(change)?)
    }

    /// One more hook in code, from now on.
    pub fn use_hooks(&self, hook: Arc<dyn CodeHook>) {
        self.0.shared.hooks.add(hook.clone());
        self.0.shared.turn_setup_mut().setup.code_hooks.push(hook);
    }

    /// The hooks there are.
    #[must_use]
    pub fn get_hooks(&self) -> Vec<RegisteredHook> {
        self.0.shared.hooks.registered()
    }
}
