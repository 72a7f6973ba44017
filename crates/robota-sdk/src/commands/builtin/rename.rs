//! `/rename`: names the session.

use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Rename;

#[async_trait]
impl SystemCommand for Rename {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("rename", "Names the session").arguments("NAME")
    }

    async fn execute(&self, _: &InteractiveSession, arguments: &str) -> CommandResult {
        let name = arguments.trim();
        if name.is_empty() {
            return CommandResult::failed("Usage: /rename NAME");
        }
        CommandResult::ok(format!("Session name: {name}")).with("name", name)
    }
}
