//! Hooks: those in code (KODE-06) and those of settings, as one.
//!
//! Hooks in code run first, in the order they were registered, each seeing what those before it
//! changed; then come the hooks of settings, so that the user's own see what is really about to
//! run. The strictest word wins. A hook that panics refuses, as every hook that fails does.

mod chain;
mod model;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::hook::{HookPoint, PostToolDecision, PreToolDecision};
use robota_core::ids::SessionId;
use robota_core::message::{Message, ToolUse};
use robota_core::provider::ModelRequest;
use robota_core::tool::ToolOutcome;

pub(crate) use chain::HookChain;
pub(crate) use model::HookedProvider;

/// The files a hook may look at and write, inside the sandbox of the session.
pub trait HookFiles: Send + Sync {
    /// Whether a path lies inside.
    fn is_inside(&self, path: &Path) -> bool;
    /// Where a temporary file of that name lies.
    fn temp(&self, name: &str) -> PathBuf;
    /// Writes a file inside.
    ///
    /// # Errors
    /// When it lies outside or cannot be written, in words for people.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String>;
}

/// What a hook is told beside the call.
#[derive(Clone)]
pub struct HookScope {
    /// The session.
    pub session: SessionId,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// The sandbox's files, where there is one.
    pub files: Option<Arc<dyn HookFiles>>,
}

/// Hooks written in code. Every method has a default that says nothing; [`CodeHook::points`]
/// says which of the tool's are worth calling.
#[async_trait::async_trait]
pub trait CodeHook: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// Where it stands among the points of a turn: both of a tool, unless it says otherwise.
    fn points(&self) -> &[HookPoint] {
        &[HookPoint::PreToolUse, HookPoint::PostToolUse]
    }

    /// Before a call that was judged and not denied: say nothing, deny, ask, answer in its
    /// place, or change its arguments.
    async fn pre_tool(&self, _call: &ToolUse, _scope: &HookScope) -> PreToolDecision {
        PreToolDecision::Continue
    }

    /// After a call ran: say nothing, change what the model is told, or withhold it.
    async fn post_tool(
        &self,
        _call: &ToolUse,
        _outcome: &ToolOutcome,
        _scope: &HookScope,
    ) -> PostToolDecision {
        PostToolDecision::Continue
    }

    /// Before a model call. What it changes is sent and not journaled: it is a hook's own
    /// business to say the same again after a resume.
    ///
    /// # Errors
    /// When the model is not to be called, and why; the turn then fails.
    async fn pre_model(
        &self,
        _request: &mut ModelRequest,
        _scope: &HookScope,
    ) -> Result<(), String> {
        Ok(())
    }

    /// After the model answered, before the answer counts. Its words were streamed already, so
    /// they cannot be changed.
    ///
    /// # Errors
    /// When the answer is not to count, and why; the turn then fails.
    async fn post_model(&self, _answer: &Message, _scope: &HookScope) -> Result<(), String> {
        Ok(())
    }
}

/// A hook that is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredHook {
    /// What it is called.
    pub name: String,
    /// Where it came from.
    pub origin: HookOrigin,
}

/// Where a hook came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookOrigin {
    /// Code.
    Code,
    /// Settings.
    Settings,
}

#[cfg(test)]
mod tests;
