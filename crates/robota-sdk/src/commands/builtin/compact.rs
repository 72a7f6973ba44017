//! `/compact`: summarises the conversation.

use super::failed;
use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Compact;

#[async_trait]
impl SystemCommand for Compact {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("compact", "Summarises the conversation to free the context window")
            .arguments("[what to keep]")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let focus = Some(arguments.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let context = session.session().context();
        let before = context.state().await.map(|state| state.used_tokens);
        match context.compact(focus).await {
            Ok(()) => {
                // The sizes are only for display, so a failure to measure does not fail the
                // command.
                let after = context.state().await.map(|state| state.used_tokens);
                let sizes = before.ok().zip(after.ok());
                let sizes = sizes.map(|(before, after)| format!(": {before} -> {after} tokens"));
                CommandResult::ok(format!("Compacted{}", sizes.unwrap_or_default()))
            }
            Err(error) => failed(&error),
        }
    }
}
