//! A change of the model, and the hooks that decide about it.

use super::{EventDecision, HookData, HookEvent, Hooks, ModelSwitchSource};

/// A change of the model that a session uses.
///
/// ```
/// use robota_core::hook::{ModelSwitch, ModelSwitchSource, NoHooks};
///
/// # async fn example() -> Result<(), String> {
/// let switch = ModelSwitch {
///     old_model: "large".to_owned(),
///     new_model: "small".to_owned(),
///     source: ModelSwitchSource::Api,
/// };
/// switch.ask(&NoHooks).await?;
/// // From here on the other model is used.
/// switch.announce(&NoHooks).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSwitch {
    /// The model that was used until now.
    pub old_model: String,
    /// The model that is used from now on.
    pub new_model: String,
    /// What changes the model.
    pub source: ModelSwitchSource,
}

impl ModelSwitch {
    /// Runs the PreModelSwitch hooks. A change to the same model is none, so that no hooks run.
    ///
    /// # Errors
    /// If a hook blocks the change; the text says why. The model must then stay as it is.
    pub async fn ask(&self, hooks: &dyn Hooks) -> Result<(), String> {
        if self.old_model == self.new_model || !hooks.has_event(HookEvent::PreModelSwitch) {
            return Ok(());
        }
        let Self { old_model, new_model, source } = self.clone();
        let data = HookData::PreModelSwitch { old_model, new_model, source };
        match hooks.run_event(data).await.decision {
            EventDecision::Continue { .. } => Ok(()),
            EventDecision::Block { reason } => Err(format!("PreModelSwitch hook: {reason}")),
        }
    }

    /// Runs the PostModelSwitch hooks, which decide nothing.
    pub async fn announce(&self, hooks: &dyn Hooks) {
        if self.old_model == self.new_model || !hooks.has_event(HookEvent::PostModelSwitch) {
            return;
        }
        let Self { old_model, new_model, source } = self.clone();
        hooks.run_event(HookData::PostModelSwitch { old_model, new_model, source }).await;
    }
}
