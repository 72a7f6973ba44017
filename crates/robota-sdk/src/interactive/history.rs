//! The history of a session for clients (SDK-04): messages, and entries for tool calls, usage, skills
//! and restored checkpoints between them. It is a projection of the journal; nothing of it is stored twice.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use robota_core::event::{Envelope, Event};
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::{EntryId, InputId};
use robota_core::message::Block;
use robota_core::project::History;
use robota_session::{Session, SessionError, SessionEvent};
use serde_json::{Map, Value, json};

use super::event::{InteractiveEvent, Projection};
use super::result::ExecutionResult;
use super::tool_state::{ToolEnd, ToolState};
use crate::mentions::{ATTACHMENTS, AttachedBlocks};

/// How many events are read from the journal at a time.
const PAGE: usize = 4_096;

/// The key of an input's metadata that names the skill that made it.
pub(crate) const SKILL: &str = "skill";
/// The key of an input's metadata with the text to show instead of the input.
pub(crate) const DISPLAY: &str = "display";

/// Builds the history event by event.
#[derive(Debug, Default)]
pub(super) struct InteractiveHistory {
    messages: History,
    projection: Projection,
    entries: Vec<HistoryEntry>,
    /// The files that waiting inputs mention.
    attached: HashMap<InputId, AttachedBlocks>,
}

impl InteractiveHistory {
    /// Takes the next event.
    pub(super) fn push(&mut self, envelope: &Envelope) {
        if let Event::InputAccepted(data) = &envelope.event
            && let Some(skill) = data.metadata.get(SKILL)
        {
            let display = data.metadata.get(DISPLAY).cloned().unwrap_or_default();
            let data = json!({"skillName": skill, "displayInput": display});
            self.add(envelope, "skill-invocation", data);
        }
        match &envelope.event {
            Event::InputAccepted(data) => self.remember(&data.input, &data.metadata),
            // A change can remove a mention, and with it the attached file.
            Event::InputChanged(data) => self.remember(&data.input, &data.metadata),
            Event::RestoreFinished(data) => {
                let restored = json!({"restore": data.restore, "failed": data.failed});
                self.add(envelope, "checkpoint-restored", restored);
            }
            _ => {}
        }
        self.messages.push(envelope);
        let from = self.entries.len();
        self.entries.extend(self.messages.drain());
        if let Event::UserMessage(data) = &envelope.event
            && let Some(attached) = data.input.as_ref().and_then(|it| self.attached.remove(it))
        {
            self.entries[from..].iter_mut().for_each(|entry| show_own_text(entry, &attached));
        }
        let mut shown = Vec::new();
        self.projection.push(envelope, &mut shown);
        for event in shown {
            match event {
                InteractiveEvent::ToolStart(state) => {
                    self.add(envelope, "tool-start", json!(state));
                }
                InteractiveEvent::ToolEnd(state) => {
                    self.add(envelope, "tool-end", json!(state));
                }
                InteractiveEvent::Complete(result)
                | InteractiveEvent::Interrupted(result)
                | InteractiveEvent::Error(result) => self.add_summaries(envelope, &result),
                _ => {}
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<HistoryEntry> {
        self.entries.extend(self.messages.finish());
        self.entries
    }

    fn add_summaries(&mut self, envelope: &Envelope, result: &ExecutionResult) {
        if !result.tools.is_empty() {
            let summary = result.tools.iter().map(summary_line).collect::<Vec<_>>().join("\n");
            let data = json!({"summary": summary, "tools": result.tools});
            self.add(envelope, "tool-summary", data);
        }
        if let Some(usage) = &result.usage {
            self.add(envelope, "usage-summary", json!(usage));
        }
    }

    /// Remembers which blocks of an input are attached files.
    fn remember(&mut self, input: &InputId, metadata: &Map<String, Value>) {
        match AttachedBlocks::of(metadata) {
            Some(attached) => self.attached.insert(input.clone(), attached),
            None => self.attached.remove(input),
        };
    }

    fn add(&mut self, envelope: &Envelope, name: &str, data: Value) {
        // The id is that of the event, so that each reading of the journal gives the same entries.
        let id = EntryId::from(format!("{}:{name}:{}", envelope.cursor(), self.entries.len()));
        let (timestamp, name): (Timestamp, _) = (envelope.ts, name.to_owned());
        self.entries.push(HistoryEntry { id, timestamp, kind: EntryKind::Event { name, data } });
    }
}

/// Reads the history of a session from its journal.
pub(super) async fn read(session: &Session) -> Result<Vec<HistoryEntry>, SessionError> {
    let mut history = InteractiveHistory::default();
    each_page(session, |page| page.iter().for_each(|event| history.push(&event.envelope))).await?;
    Ok(history.finish())
}

/// Reads all events of a session.
pub(super) async fn events(session: &Session) -> Result<Vec<Envelope>, SessionError> {
    let mut events = Vec::new();
    each_page(session, |page| {
        events.extend(page.into_iter().map(|event| Arc::unwrap_or_clone(event.envelope)));
    })
    .await?;
    Ok(events)
}

async fn each_page(
    session: &Session,
    mut take: impl FnMut(Vec<SessionEvent>),
) -> Result<(), SessionError> {
    let journal = session.journal();
    let mut after = None;
    loop {
        let page = journal.read(after, PAGE).await?;
        let last = page.last().filter(|_| page.len() == PAGE).map(SessionEvent::cursor);
        take(page);
        match last {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}

/// Leaves the text that the user typed and the images in a message, and names the files in its
/// metadata.
fn show_own_text(entry: &mut HistoryEntry, attached: &AttachedBlocks) {
    let EntryKind::Chat { data: message, .. } = &mut entry.kind else { return };
    let mut at = 0;
    message.content.retain(|block| {
        let added = attached.range().contains(&at);
        at += 1;
        !added || matches!(block, Block::Image(_))
    });
    message.metadata.insert(ATTACHMENTS.to_owned(), json!(attached.files));
}

fn summary_line(tool: &ToolState) -> String {
    let mark = match tool.end {
        Some(ToolEnd::Success) => "✓",
        Some(ToolEnd::Error) => "✗",
        Some(ToolEnd::Denied) => "⊘",
        None => "…",
    };
    format!("{mark} {}({})", tool.tool, tool.first_argument)
}
