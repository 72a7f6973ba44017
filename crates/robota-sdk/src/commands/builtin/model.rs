//! `/model`: asks the client to change the model.

use super::failed;
use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Model;

#[async_trait]
impl SystemCommand for Model {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("model", "Shows or changes the model").arguments("[MODEL]")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let wanted = arguments.trim();
        if !wanted.is_empty() {
            // This crate has no list of providers; the client switches.
            return CommandResult::ok(format!("Model: {wanted}")).with("modelId", wanted);
        }
        match session.session().info().await {
            Ok(info) => CommandResult::ok(format!("Model: {}", info.model)),
            Err(error) => failed(&error),
        }
    }
}
