//! `/permissions`: shows the permission mode and the approvals of the session.

use async_trait::async_trait;
use serde_json::json;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct PermissionsCommand;

#[async_trait]
impl SystemCommand for PermissionsCommand {
    fn info(&self) -> CommandInfo {
        CommandInfo::new(
            "permissions",
            "Shows the permission mode and what was approved for the session",
        )
        .reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let permissions = session.session().permissions();
        let mode = json!(permissions.mode());
        let allowed = permissions.session_allowed();
        let mut text = format!("Permission mode: {}", mode.as_str().unwrap_or_default());
        if allowed.is_empty() {
            text.push_str("\nNothing was approved for the session.");
        }
        for rule in &allowed {
            text.push_str(&format!("\n  allowed for this session: {rule}"));
        }
        CommandResult::ok(text).with("mode", mode).with("sessionAllowed", json!(allowed))
    }
}
