//! The executors that run hooks: one per kind.

use std::time::Duration;

use serde_json::Value;

use super::{HookDefinition, HookExit};

/// The kinds of hooks that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// A shell command, or a program with arguments.
    Command,
    /// An HTTP request with the payload as its body.
    Http,
    /// A question that a model answers.
    Prompt,
    /// A task for an agent, which may use tools before it answers.
    Agent,
    /// A call of a tool of an MCP server of the session.
    McpTool,
}

impl HookKind {
    /// All kinds that the settings can name.
    pub const ALL: [Self; 5] =
        [Self::Command, Self::Http, Self::Prompt, Self::Agent, Self::McpTool];

    /// Returns the name that is used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Http => "http",
            Self::Prompt => "prompt",
            Self::Agent => "agent",
            Self::McpTool => "mcp_tool",
        }
    }
}

/// Runs hooks of one kind. The runner has one executor per kind.
#[async_trait::async_trait]
pub trait HookExecutor: Send + Sync {
    /// Runs one hook, passes `payload` (one JSON object) to it, and ends it when `timeout` has
    /// passed. Dropping the future ends it too. Every failure is an exit, so that it cannot be
    /// mistaken for success; a panic counts as a failure.
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit;
}

/// Evaluates the `if` of a hook, which is a permission rule.
pub trait HookCondition: Send + Sync {
    /// Returns whether the rule matches a call of that tool; `None` if the rule cannot be parsed.
    /// The hook then runs.
    fn holds(&self, rule: &str, tool: &str, input: &Value) -> Option<bool>;
}

/// Writes the conversation of a session to a file that hooks can read.
#[async_trait::async_trait]
pub trait HookTranscript: Send + Sync {
    /// Brings the file up to date and returns its path; `None` if it cannot be written.
    async fn write(&self) -> Option<String>;
}
