//! `/context`: shows what fills the context window.

use super::failed;
use async_trait::async_trait;
use serde_json::json;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;
use crate::mcp::SessionMcp;

pub(super) struct Context;

#[async_trait]
impl SystemCommand for Context {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("context", "Shows how full the context window is, and with what")
            .reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let state = match session.session().context().state().await {
            Ok(state) => state,
            Err(error) => return failed(&error),
        };
        let mut text = format!(
            "Context: {} of {} tokens ({:.1} %)",
            state.used_tokens, state.max_tokens, state.used_percentage
        );
        let mut parts = session.conversation().loaded().parts.clone();
        // These are in messages, not in the system prompt, but they fill the window as well.
        parts.extend(session.mcp().into_iter().flat_map(SessionMcp::added_instructions));
        for part in &parts {
            text.push_str(&format!("\n  {:<40} about {} tokens", part.name, part.tokens));
        }
        CommandResult::ok(text)
            .with("usedTokens", state.used_tokens)
            .with("maxTokens", state.max_tokens)
            .with("usedPercentage", json!(state.used_percentage))
            .with("parts", json!(parts))
    }
}
