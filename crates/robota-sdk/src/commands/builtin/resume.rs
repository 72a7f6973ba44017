//! `/resume`: asks the client to show the sessions.

use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Resume;

#[async_trait]
impl SystemCommand for Resume {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("resume", "Continues an earlier session")
    }

    async fn execute(&self, _: &InteractiveSession, _: &str) -> CommandResult {
        CommandResult::ok("Choose a session.").with("triggerResumePicker", true)
    }
}
