//! `/export`: converts the conversation to Markdown, for the client to store or to copy.

use async_trait::async_trait;
use robota_core::redact::Redactor;
use robota_session::replay;

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Export;

#[async_trait]
impl SystemCommand for Export {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("export", "Exports the conversation as Markdown").arguments("[FILE]")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let events = match session.journal_events().await {
            Ok(events) => events,
            Err(error) => return failed(&error),
        };
        let transcript = replay::transcript(session.id(), &events);
        let text = replay::markdown(&transcript, &Redactor::default());
        match arguments.trim() {
            "" => CommandResult::ok(text.clone()).with("text", text),
            // The client writes the file: it knows where relative paths begin.
            file => CommandResult::ok(format!("Exports the conversation to {file}."))
                .with("text", text)
                .with("file", file),
        }
    }
}
