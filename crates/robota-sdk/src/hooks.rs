//! Executors for the kinds of hooks that are not commands, and the list of configured hooks.
//!
//! [`HttpHooks`] sends the event to a server, [`PromptHooks`] asks a model, [`AgentHooks`] gives the
//! question to an agent with read-only tools, [`McpToolHooks`] calls a tool of an MCP server. A
//! [`HookRunner`](robota_core::hook::HookRunner) selects the hooks of an event and passes each to
//! the executor of its kind. Every error is a failure, and a failure blocks where hooks decide.
//!
//! ```
//! use std::sync::Arc;
//!
//! use robota_core::hook::{HookContext, HookKind, HookRunner};
//! use robota_sdk::hooks::{HttpHooks, UrlPattern};
//! use robota_tools::web::Proxies;
//!
//! let http = HttpHooks::new(Proxies::default())
//!     .allowed_urls(Some(vec![UrlPattern::parse("https://hooks.example.com/*")?]))
//!     .variables(|name| std::env::var(name).ok());
//! let runner = HookRunner::new(HookContext::new("session", "/work"))
//!     .executor(HookKind::Http, Arc::new(http));
//! # drop(runner);
//! # Ok::<(), robota_sdk::hooks::InvalidUrlPattern>(())
//! ```

mod agent;
mod answer;
mod http;
mod listing;
mod mcp_tool;
mod prompt;
mod url_pattern;

use std::sync::Arc;
use std::time::Duration;

use robota_core::hook::{HookEnd, HookExit};
use robota_core::usage::Usage;

pub use agent::{AgentHooks, HookAgent, HookTask, MAX_AGENT_ROUNDS, ReadOnlyHookAgent};
pub use http::HttpHooks;
pub use listing::{HookEffect, HookListing, ListedHook};
pub use mcp_tool::McpToolHooks;
pub use prompt::PromptHooks;
pub use url_pattern::{InvalidUrlPattern, UrlPattern};

/// Receives the model and the tokens of each call that a hook makes.
pub type OnHookUsage = Arc<dyn Fn(&str, Usage) + Send + Sync>;

/// Waits for a hook. A failure, and a hook that takes too long, is an exit that blocks where hooks
/// decide.
async fn within(
    timeout: Duration,
    hook: impl Future<Output = Result<HookExit, String>>,
) -> HookExit {
    match tokio::time::timeout(timeout, hook).await {
        Ok(result) => result.unwrap_or_else(HookExit::failed),
        Err(_) => HookExit::silent(HookEnd::TimedOut),
    }
}
