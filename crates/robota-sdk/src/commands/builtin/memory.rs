//! `/memory`: reads and changes the memory of the project.

use async_trait::async_trait;
use jiff::Timestamp;
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::RandomIds;
use serde_json::{Value, json};

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::error::SdkError;
use crate::interactive::InteractiveSession;
use crate::memory::{MemoryCommand, MemoryEvent, ProjectMemory};

/// The name of the entries that say which topics the model has seen; the record of a session lists
/// them.
const USED: &str = "used-memory-reference";

pub(super) struct Memory;

#[async_trait]
impl SystemCommand for Memory {
    fn info(&self) -> CommandInfo {
        CommandInfo::new(
            "memory",
            "Reads and changes the memory of the project. Look into it when stored facts may help. \
             Add only durable facts that help in later sessions, never secrets.",
        )
        .arguments(
            "list | show [topic] | add <user|feedback|project|reference> <topic> <text> | find \
             <question> | pending | approve <id> | reject <id> | used",
        )
        .for_model()
        .reading_subcommand("list", "Lists the topics")
        .reading_subcommand("show", "Shows the index or a topic")
        .subcommand("add", "Adds a fact to a topic")
        .reading_subcommand("find", "Shows the topics that a question is about")
        .reading_subcommand("pending", "Lists facts that wait for approval")
        .subcommand("approve", "Adds a fact that waits")
        .subcommand("reject", "Drops a fact that waits")
        .reading_subcommand("used", "Lists the facts that this session used")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let Some(project) = session.project() else {
            return CommandResult::failed("This session has no project.");
        };
        let command = match MemoryCommand::parse(arguments) {
            Ok(command) => command,
            Err(error) => return failed(&error),
        };
        let events = match recorded(session).await {
            Ok(events) => events,
            Err(error) => return failed(&error),
        };
        let reply =
            ProjectMemory::open(project.cwd()).and_then(|memory| memory.run(&command, &events));
        let (result, event) = match reply {
            Ok(reply) => {
                let result = CommandResult::ok(reply.message).with("memory", reply.data);
                (result, reply.event)
            }
            // A refusal is recorded too: an audit should show what was kept out of the memory.
            Err(error) => (failed(&error), error.event()),
        };
        if let Some(event) = event
            && let Err(error) = record(session, &event, SystemClock.now()).await
        {
            return failed(&error);
        }
        result
    }
}

/// Returns what happened to the memory in this session.
async fn recorded(session: &InteractiveSession) -> Result<Vec<MemoryEvent>, SdkError> {
    let history = session.session().context().full_history().await?;
    let data = history.into_iter().filter_map(|entry| match entry.kind {
        EntryKind::Event { name, data } if name == MemoryEvent::ENTRY => Some(data),
        _ => None,
    });
    Ok(data.filter_map(|data: Value| serde_json::from_value(data).ok()).collect())
}

/// Records what happened, for audits, and which topics were used.
async fn record(
    session: &InteractiveSession,
    event: &MemoryEvent,
    now: Timestamp,
) -> Result<(), SdkError> {
    let context = session.session().context();
    let entry = |name, data| HistoryEntry::event(&RandomIds, now, name, data);
    context.add_entry(entry(MemoryEvent::ENTRY, json!(event))).await?;
    if let MemoryEvent::Recalled { topics } = event {
        for topic in topics {
            // With an id, so that a record lists a topic once, however often it was recalled.
            context.add_entry(entry(USED, json!({"id": topic, "topic": topic}))).await?;
        }
    }
    Ok(())
}
