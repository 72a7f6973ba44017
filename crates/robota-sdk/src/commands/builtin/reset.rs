//! `/reset`: asks the client to delete its settings and end.

use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Reset;

#[async_trait]
impl SystemCommand for Reset {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("reset", "Deletes the settings of the program and ends it")
    }

    async fn execute(&self, _: &InteractiveSession, _: &str) -> CommandResult {
        CommandResult::ok("The settings will be deleted.").with("resetRequested", true)
    }
}
