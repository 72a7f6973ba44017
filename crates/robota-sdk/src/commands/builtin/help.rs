//! `/help`: lists the commands.

use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Help;

#[async_trait]
impl SystemCommand for Help {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("help", "Lists the commands").reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let lines = session.commands().list("").into_iter().filter(|info| info.user_invocable).map(
            |info| {
                let hint = info.argument_hint.map(|hint| format!(" {hint}")).unwrap_or_default();
                format!("/{}{hint}  {}", info.name, info.description)
            },
        );
        CommandResult::ok(lines.collect::<Vec<_>>().join("\n"))
    }
}
