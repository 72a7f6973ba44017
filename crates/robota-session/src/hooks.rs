//! Hooks in code (KODE-06) and hooks of the settings, combined.
//!
//! Hooks in code run first, in the order of registration; each sees what earlier ones changed. Then
//! the hooks of the settings run, so that the user's own hooks see what is really about to run. The
//! strictest decision wins. A hook that panics or fails refuses.

mod chain;
mod model;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::hook::{BatchDecision, EndedCall, HookPoint, PostToolDecision, PreToolDecision};
use robota_core::ids::SessionId;
use robota_core::message::{Message, ToolUse};
use robota_core::provider::ModelRequest;
use robota_core::tool::ToolOutcome;

pub(crate) use chain::HookChain;
pub(crate) use model::HookedProvider;

/// The files that a hook may read and write, inside the sandbox of the session.
pub trait HookFiles: Send + Sync {
    /// Returns whether a path is inside the sandbox.
    fn is_inside(&self, path: &Path) -> bool;
    /// Returns the path for a temporary file with that name.
    fn temp(&self, name: &str) -> PathBuf;
    /// Writes a file inside the sandbox.
    ///
    /// # Errors
    /// If the path is outside or cannot be written; the text is for the user.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String>;
}

/// Lets a builder take files that the caller shares.
impl<T: HookFiles + ?Sized> HookFiles for Arc<T> {
    fn is_inside(&self, path: &Path) -> bool {
        (**self).is_inside(path)
    }

    fn temp(&self, name: &str) -> PathBuf {
        (**self).temp(name)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        (**self).write(path, bytes)
    }
}

/// What a hook receives in addition to the call.
#[derive(Clone)]
pub struct HookScope {
    /// The session that runs the hook.
    pub session: SessionId,
    /// The working directory of the session; none if the session has none.
    pub cwd: Option<String>,
    /// The sandbox's files; none without a sandbox.
    pub files: Option<Arc<dyn HookFiles>>,
}

/// Runs code around the calls and model calls of a session. Every method has a default that changes
/// nothing. [`CodeHook::points`] says which of the hooks around calls are called.
#[async_trait::async_trait]
pub trait CodeHook: Send + Sync {
    /// Returns the name, for messages and lists.
    fn name(&self) -> &str;

    /// Returns the hook points at which the session calls this hook: both tool hooks by default.
    fn points(&self) -> &[HookPoint] {
        &[HookPoint::PreToolUse, HookPoint::PostToolUse]
    }

    /// Runs before a call that was judged and not denied. It can continue, deny, ask, answer
    /// instead of the tool, or change the arguments.
    async fn pre_tool(&self, _call: &ToolUse, _scope: &HookScope) -> PreToolDecision {
        PreToolDecision::Continue
    }

    /// Runs after a call. It can continue, change the result that the model receives, or withhold
    /// it.
    async fn post_tool(
        &self,
        _call: &ToolUse,
        _outcome: &ToolOutcome,
        _scope: &HookScope,
    ) -> PostToolDecision {
        PostToolDecision::Continue
    }

    /// Runs when all calls of an answer have ended, before the model receives the results, if
    /// [`CodeHook::points`] names [`HookPoint::PostToolBatch`]. It can add text for the model, or stop
    /// the turn.
    async fn post_batch(&self, _calls: &[EndedCall], _scope: &HookScope) -> BatchDecision {
        BatchDecision::Continue { context: None }
    }

    /// Runs before a model call. Its changes are sent but not journaled, so after a resume the hook
    /// must make them again.
    ///
    /// # Errors
    /// If the model must not be called, with the reason; the turn then fails.
    async fn pre_model(
        &self,
        _request: &mut ModelRequest,
        _scope: &HookScope,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Runs after the model answered, before the answer is committed. The text was streamed
    /// already, so it cannot be changed.
    ///
    /// # Errors
    /// If the answer must not be committed, with the reason; the turn then fails.
    async fn post_model(&self, _answer: &Message, _scope: &HookScope) -> Result<(), String> {
        Ok(())
    }
}

/// Lets a builder take a hook that the caller shares.
#[async_trait::async_trait]
impl<T: CodeHook + ?Sized> CodeHook for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn points(&self) -> &[HookPoint] {
        (**self).points()
    }

    async fn pre_tool(&self, call: &ToolUse, scope: &HookScope) -> PreToolDecision {
        (**self).pre_tool(call, scope).await
    }

    async fn post_tool(
        &self,
        call: &ToolUse,
        outcome: &ToolOutcome,
        scope: &HookScope,
    ) -> PostToolDecision {
        (**self).post_tool(call, outcome, scope).await
    }

    async fn post_batch(&self, calls: &[EndedCall], scope: &HookScope) -> BatchDecision {
        (**self).post_batch(calls, scope).await
    }

    async fn pre_model(&self, request: &mut ModelRequest, scope: &HookScope) -> Result<(), String> {
        (**self).pre_model(request, scope).await
    }

    async fn post_model(&self, answer: &Message, scope: &HookScope) -> Result<(), String> {
        (**self).post_model(answer, scope).await
    }
}

/// Describes a hook of the session, as `get_hooks` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredHook {
    /// The hook's name, or its event for a hook of the settings.
    pub name: String,
    /// Whether the hook was registered in code or in the settings.
    pub origin: HookOrigin,
}

/// Where a hook of a session was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookOrigin {
    /// In code, as a [`CodeHook`] of the embedding program.
    Code,
    /// In the settings, or by a plugin or a host.
    Settings,
}

#[cfg(test)]
mod tests;
