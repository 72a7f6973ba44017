//! Runs prompt hooks: one question to a model.

use std::sync::Arc;
use std::time::Duration;

use robota_config::AvailableModels;
use robota_core::call::CallContext;
use robota_core::hook::{HookDefinition, HookExecutor, HookExit, PromptHook};
use robota_core::ids::{Ids, RandomIds};
use robota_core::message::Message;
use robota_core::provider::{AskLimits, ModelRequest, Provider, ask};
use robota_core::typed::output_of;

use super::answer::{self, Answer, INSTRUCTIONS};
use super::{OnHookUsage, within};

/// The maximum number of tokens of an answer: enough for a reason, too few to be anything else.
const MAX_OUTPUT_TOKENS: u64 = 1_024;

/// Runs prompt hooks: the model answers `{"ok": true}` or `{"ok": false, "reason": "…"}`. Any other
/// answer is a failure, and so is a failed call.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_sdk::hooks::PromptHooks;
///
/// let model = Arc::new(ScriptedProvider::new(Script::new().text("{}")));
/// let hooks = PromptHooks::new(model, "any-model");
/// # drop(hooks);
/// ```
pub struct PromptHooks {
    provider: Arc<dyn Provider>,
    model: String,
    context: CallContext,
    limits: AskLimits,
    ids: Arc<dyn Ids>,
    on_usage: Option<OnHookUsage>,
    models: AvailableModels,
}

impl PromptHooks {
    /// Creates an executor that asks this model, unless a hook names another one of the provider.
    pub fn new(provider: Arc<dyn Provider>, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            context: CallContext::detached(),
            limits: AskLimits::default(),
            ids: Arc::new(RandomIds),
            on_usage: None,
            models: AvailableModels::default(),
        }
    }

    /// Sets the models that hooks may name. A hook with another one fails.
    #[must_use]
    pub fn available_models(mut self, models: AvailableModels) -> Self {
        self.models = models;
        self
    }

    /// Sets the context of the model calls: cancelling it ends them.
    #[must_use]
    pub fn context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }

    /// Sets the idle timeout and the retries of a model call. The timeout of the hook limits all of
    /// them.
    #[must_use]
    pub fn limits(mut self, limits: AskLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the function that receives the tokens of each model call.
    #[must_use]
    pub fn on_usage(mut self, on_usage: OnHookUsage) -> Self {
        self.on_usage = Some(on_usage);
        self
    }

    async fn ask(&self, hook: &PromptHook, payload: &str) -> Result<HookExit, String> {
        let question = Message::user(&*self.ids, answer::prompt(hook, payload)?);
        if let Some(model) = &hook.model {
            self.models.check(None, model).map_err(|error| error.to_string())?;
        }
        let model = hook.model.as_ref().unwrap_or(&self.model);
        let mut request = ModelRequest::new(model, Arc::new(vec![Arc::new(question)]));
        request.system = Some(INSTRUCTIONS.into());
        // A provider that supports it then cannot answer with anything but the object.
        request.output = Some(output_of::<Answer>());
        request.max_output_tokens = Some(MAX_OUTPUT_TOKENS);
        let asked = ask(&*self.provider, request, &self.context, self.limits, &*self.ids).await;
        let (message, _) = asked.map_err(|error| format!("the model call failed: {error}"))?;
        if let (Some(on_usage), Some(usage)) = (&self.on_usage, message.usage) {
            on_usage(model, usage);
        }
        Ok(answer::exit_of(&message.text(), payload))
    }
}

#[async_trait::async_trait]
impl HookExecutor for PromptHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        let HookDefinition::Prompt(hook) = definition else {
            return HookExit::failed("the hook is not a prompt");
        };
        within(timeout, self.ask(hook, payload)).await
    }
}
