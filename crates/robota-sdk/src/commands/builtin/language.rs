//! `/language`: sets the language of the answers.

use async_trait::async_trait;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Language;

#[async_trait]
impl SystemCommand for Language {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("language", "Sets the language of the answers").arguments("LANGUAGE")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let wanted = arguments.trim();
        match (wanted, session.conversation().loaded().language.as_deref()) {
            ("", Some(language)) => CommandResult::ok(format!("Language: {language}")),
            ("", None) => CommandResult::failed("No language is set. Usage: /language LANGUAGE"),
            (wanted, _) => {
                CommandResult::ok(format!("Language: {wanted}")).with("language", wanted)
            }
        }
    }
}
