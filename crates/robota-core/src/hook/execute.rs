//! What runs a hook: one executor for each kind.

use std::time::Duration;

use serde_json::Value;

use super::{HookDefinition, HookExit};

/// The kinds of hooks that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// A shell command, or a program with arguments.
    Command,
    /// A request that is sent.
    Http,
    /// A question to a model.
    Prompt,
    /// A task for an agent.
    Agent,
}

impl HookKind {
    /// The name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Http => "http",
            Self::Prompt => "prompt",
            Self::Agent => "agent",
        }
    }
}

/// Runs hooks of one kind.
#[async_trait::async_trait]
pub trait HookExecutor: Send + Sync {
    /// Runs one hook, tells it `payload` (one JSON object), and ends it when `timeout` has
    /// passed. Dropping the future ends it too. Whatever goes wrong is an exit, so that nothing
    /// can be mistaken for success; a panic counts as a failure.
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit;
}

/// Decides whether a hook's `if`, a permission rule, holds for a call.
pub trait HookCondition: Send + Sync {
    /// Whether the rule matches a call of that tool; none when the rule cannot be read, and
    /// then the hook runs.
    fn holds(&self, rule: &str, tool: &str, input: &Value) -> Option<bool>;
}
