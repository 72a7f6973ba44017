//! `/clear`: starts a new, empty conversation.

use super::failed;
use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Clear;

#[async_trait]
impl SystemCommand for Clear {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("clear", "Starts an empty conversation; the history is kept")
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        match session.session().context().clear().await {
            Ok(()) => CommandResult::ok("The conversation is empty."),
            Err(error) => failed(&error),
        }
    }
}
