//! The end of an earlier conversation, for a session that is resumed.

use std::collections::HashMap;
use std::time::Duration;

use robota_core::message::{Block, Message, Role};
use robota_core::provider::View;
use robota_sdk::{ToolEnd, ToolState};

use crate::terminal::conversation::{Entry, NoteKind, RowState, ToolRow};
use crate::terminal::markdown::MarkdownStream;

/// How many messages are shown.
const SHOWN: usize = 20;

/// Returns the last messages as entries.
pub(super) fn entries(view: &View) -> Vec<Entry> {
    let messages: Vec<&Message> = view.iter().map(AsRef::as_ref).collect();
    let from = messages.len().saturating_sub(SHOWN);
    let mut entries = Vec::new();
    if from > 0 {
        let text = format!("{from} earlier messages (Ctrl+T shows the transcript)");
        entries.push(Entry::Note(NoteKind::Plain, text));
    }
    entries.extend(of(&messages[from..]));
    entries
}

/// Returns messages as entries.
pub(crate) fn of(messages: &[&Message]) -> Vec<Entry> {
    let mut entries = Vec::new();
    // The results follow their calls, so they are collected first.
    let mut failed = HashMap::new();
    for message in messages {
        for block in &message.content {
            if let Block::ToolResult(result) = block {
                failed.insert(result.call.clone(), result.is_error);
            }
        }
    }
    for message in messages {
        match message.role() {
            Role::User => entries.push(Entry::Prompt(message.text())),
            Role::Assistant => answer(message, &failed, &mut entries),
            Role::System | Role::Tool => {}
        }
    }
    entries
}

fn answer(
    message: &Message,
    failed: &HashMap<robota_core::ids::CallId, bool>,
    entries: &mut Vec<Entry>,
) {
    for block in &message.content {
        match block {
            Block::Text(text) => {
                let mut stream = MarkdownStream::new();
                stream.push(&text.text);
                entries.extend(stream.finish().into_iter().map(Entry::Text));
            }
            Block::ToolUse(call) => {
                let mut details = ToolState::of(call);
                details.running = false;
                let end = match failed.get(&call.call) {
                    Some(true) => ToolEnd::Error,
                    _ => ToolEnd::Success,
                };
                details.end = Some(end);
                let row = ToolRow::new(details, RowState::Ended(end), Duration::ZERO);
                entries.push(Entry::Tool(Box::new(row)));
            }
            _ => {}
        }
    }
}
