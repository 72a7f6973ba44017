//! Combines all hooks of a session.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use robota_core::hook::{
    CombinedHooks, EventReport, HookAnswer, HookData, HookEvent, HookInput, HookPoint, HookReply,
    Hooks, NoHooks, PromptDecision,
};

use super::{CodeHook, HookOrigin, HookScope, RegisteredHook};

/// The hooks of one session: of code first, then of plugins and settings.
pub(crate) struct HookChain {
    scope: Arc<HookScope>,
    code: RwLock<Vec<Arc<dyn CodeHook>>>,
    settings: CombinedHooks,
    /// The context from SessionStart hooks: it is sent with the next delivered input.
    start_context: Mutex<Option<String>>,
}

impl HookChain {
    pub(crate) fn new(
        scope: HookScope,
        code: Vec<Arc<dyn CodeHook>>,
        settings: Vec<Arc<dyn Hooks>>,
    ) -> Self {
        Self {
            scope: Arc::new(scope),
            code: RwLock::new(code),
            settings: CombinedHooks::new(settings),
            start_context: Mutex::default(),
        }
    }

    pub(crate) fn scope(&self) -> &HookScope {
        &self.scope
    }

    pub(crate) fn add(&self, hook: Arc<dyn CodeHook>) {
        self.code.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    pub(crate) fn code(&self) -> Vec<Arc<dyn CodeHook>> {
        self.code.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn registered(&self) -> Vec<RegisteredHook> {
        let named = |name: &str, origin| RegisteredHook { name: name.to_owned(), origin };
        let code = self.code();
        let code = code.iter().map(|hook| named(hook.name(), HookOrigin::Code));
        let events = HookEvent::ALL.into_iter().filter(|event| self.settings.has_event(*event));
        code.chain(events.map(|event| named(event.name(), HookOrigin::Settings))).collect()
    }

    /// Sets the context from SessionStart hooks.
    pub(crate) fn set_start_context(&self, context: Option<String>) {
        *self.start_context.lock().unwrap_or_else(PoisonError::into_inner) = context;
    }

    /// Runs the hooks of a prompt, and adds the context of SessionStart hooks to theirs.
    async fn prompt(&self, input: HookInput) -> HookReply {
        let started = self.start_context.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut reply = self.settings.run(input).await;
        if let HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }) =
            &mut reply.answer
        {
            let contexts: Vec<_> = started.into_iter().chain(context.take()).collect();
            *context = (!contexts.is_empty()).then(|| contexts.join("\n"));
            // Removed only now, with an input that is delivered: a blocked input does not use it up.
            self.start_context.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        reply
    }

    /// Returns the hooks in code, which can be added while the session runs, and then those of the
    /// settings.
    fn all(&self) -> CombinedHooks {
        let code = self
            .code()
            .into_iter()
            .map(|hook| Arc::new(InCode { hook, scope: self.scope.clone() }) as Arc<dyn Hooks>);
        CombinedHooks::new(code.chain(self.settings.as_slice().iter().cloned()).collect())
    }
}

/// A hook in code, as the hooks that are combined with those of the settings.
struct InCode {
    hook: Arc<dyn CodeHook>,
    scope: Arc<HookScope>,
}

#[async_trait::async_trait]
impl Hooks for InCode {
    fn has_point(&self, point: HookPoint) -> bool {
        // A hook in code has no method for the other points.
        let called = match point {
            HookPoint::PreToolUse | HookPoint::PostToolUse | HookPoint::PostToolBatch => true,
            HookPoint::UserPromptSubmit | HookPoint::Stop => false,
        };
        called && self.hook.points().contains(&point)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::PreToolUse { tool_use, .. } => {
                HookAnswer::PreToolUse(self.hook.pre_tool(&tool_use, &self.scope).await).into()
            }
            HookInput::PostToolUse { tool_use, outcome, .. } => {
                let decision = self.hook.post_tool(&tool_use, &outcome, &self.scope).await;
                HookAnswer::PostToolUse(decision).into()
            }
            HookInput::PostToolBatch { calls } => {
                HookAnswer::PostToolBatch(self.hook.post_batch(&calls, &self.scope).await).into()
            }
            other @ (HookInput::UserPromptSubmit { .. } | HookInput::Stop { .. }) => {
                NoHooks.run(other).await
            }
        }
    }
}

#[async_trait::async_trait]
impl Hooks for HookChain {
    fn has_point(&self, point: HookPoint) -> bool {
        let started = point == HookPoint::UserPromptSubmit
            && self.start_context.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        started || self.all().has_point(point)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::UserPromptSubmit { .. } => self.prompt(input).await,
            input => self.all().run(input).await,
        }
    }

    fn has_event(&self, event: HookEvent) -> bool {
        HookPoint::ALL
            .into_iter()
            .any(|point| HookEvent::from(point) == event && self.has_point(point))
            // A hook at a point of the turn is asked with `run`, any other event with `run_event`;
            // both count here.
            || self.settings.has_event(event)
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        self.settings.run_event(data).await
    }
}
