//! `/rewind`: lists the checkpoints and restores one.

use async_trait::async_trait;
use robota_session::{RestoreOptions, RestoreScope};
use serde_json::json;

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Rewind;

const USAGE: &str = "Usage: /rewind list | restore ID | code ID | conversation ID | diff ID";

#[async_trait]
impl SystemCommand for Rewind {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("rewind", "Goes back to an earlier prompt: files, conversation or both")
            .arguments("list | restore ID | code ID | conversation ID | diff ID")
            .subcommand("list", "Lists the checkpoints, one for each prompt")
            .subcommand("diff", "Shows what a restore would change")
            .subcommand("restore", "Restores the files and the conversation")
            .subcommand("code", "Restores the files")
            .subcommand("conversation", "Restores the conversation")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let mut words = arguments.split_whitespace();
        match (words.next().unwrap_or("list"), words.next(), words.next()) {
            ("list", None, _) => list(session).await,
            ("diff", Some(id), None) => diff(session, id).await,
            ("restore", Some(id), None) => restore(session, id, RestoreScope::Both).await,
            ("code", Some(id), None) => restore(session, id, RestoreScope::Code).await,
            ("conversation", Some(id), None) => {
                restore(session, id, RestoreScope::Conversation).await
            }
            _ => CommandResult::failed(USAGE),
        }
    }
}

async fn list(session: &InteractiveSession) -> CommandResult {
    match session.session().checkpoints().list().await {
        Ok(list) if list.is_empty() => CommandResult::ok("There are no checkpoints."),
        Ok(list) => {
            let lines = list
                .iter()
                .map(|it| format!("{:>4}  {} files  {}", it.number, it.files.len(), it.prompt));
            CommandResult::ok(lines.collect::<Vec<_>>().join("\n")).with("checkpoints", json!(list))
        }
        Err(error) => failed(&error),
    }
}

async fn diff(session: &InteractiveSession, id: &str) -> CommandResult {
    match session.session().checkpoints().preview(id).await {
        Ok(preview) => {
            let files = preview.files.iter().map(|file| match (&file.problem, &file.diff) {
                (Some(problem), _) => format!("{}: {problem}", file.path),
                (None, Some(diff)) => diff.clone(),
                (None, None) => file.path.clone(),
            });
            let text = files.collect::<Vec<_>>().join("\n");
            // The client shows the message, and an empty one looks like a failure.
            let text = if text.is_empty() { "Nothing would change.".to_owned() } else { text };
            CommandResult::ok(text).with("preview", json!(preview))
        }
        Err(error) => failed(&error),
    }
}

async fn restore(session: &InteractiveSession, id: &str, scope: RestoreScope) -> CommandResult {
    // Files that were changed outside of the session are kept; the report names them.
    let options = RestoreOptions { scope, overwrite: false };
    match session.session().checkpoints().restore(id, options).await {
        Ok(report) => {
            let mut text = format!(
                "Restored checkpoint {}: {} files{}.",
                report.checkpoint.number,
                report.restored.len(),
                if report.conversation { " and the conversation" } else { "" },
            );
            for not in &report.not_restored {
                text.push_str(&format!("\nnot restored: {} ({})", not.path, not.reason));
            }
            if let Some(undo) = &report.undo {
                text.push_str(&format!("\nTo undo: /rewind restore {undo}"));
            }
            let complete = report.not_restored.is_empty();
            let result =
                if complete { CommandResult::ok(text) } else { CommandResult::failed(text) };
            result.with("report", json!(report))
        }
        Err(error) => failed(&error),
    }
}
