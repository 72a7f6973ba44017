//! Builds the events of a journal from a record.

use std::sync::Arc;

use jiff::Timestamp;
use robota_core::close::{Closing, close_turn};
use robota_core::event::{
    AssistantMessage, Author, Closed, CompactionFinished, Delivery, EntryAdded, Envelope, Event,
    FORMAT, InputAccepted, MessageInjected, Opened, PromptSet, Renamed, RewindCause, Rewound,
    SessionCreated, ToolBatchFinished, ToolResultAdded, ToolsSet, TurnEnd, TurnFinished,
    TurnStarted, UserMessage,
};
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::{Ids, InputId, MessageId, SessionId, TurnId};
use robota_core::message::{BlobRef, Cause, Message, MessageState, Role};
use robota_core::permission::Class;
use robota_core::state::{FoldError, State};
use robota_core::tool::ToolSpec;
use robota_core::usage::Usage;
use serde_json::{Value, json};

use super::items::HistoryItem;
use super::{ENTRY_FIELDS, IMPORTED, OTHER_FIELD, Record};

/// Numbers events and folds them as they are added.
pub(super) struct Builder<'a> {
    ids: &'a dyn Ids,
    pub(super) state: State,
    pub(super) events: Vec<Arc<Envelope>>,
    at: Timestamp,
    provider: String,
    model: String,
    turn: Option<Turn>,
}

struct Turn {
    id: TurnId,
    rounds: u32,
    tools: u32,
    usage: Usage,
    interrupted: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(record: &Record, ids: &'a dyn Ids) -> Self {
        let unknown = || "imported".to_owned();
        Self {
            ids,
            state: State::default(),
            events: Vec::new(),
            at: record.created_at,
            provider: record.provider.clone().unwrap_or_else(unknown),
            model: record.model.clone().unwrap_or_else(unknown),
            turn: None,
        }
    }

    fn push(&mut self, event: impl Into<Event>) -> Result<(), FoldError> {
        let envelope = Envelope {
            seq: self.events.len() as u64 + 1,
            epoch: 1,
            ts: self.at,
            turn: self.turn.as_ref().map(|turn| turn.id.clone()),
            event: event.into(),
            min_reader: None,
        };
        self.state.apply(&envelope)?;
        self.events.push(Arc::new(envelope));
        Ok(())
    }

    /// Adds the first events: session, import marker, name, prompt and tools.
    pub(super) fn begin(
        &mut self,
        record: &Record,
        session: &SessionId,
        format: &str,
    ) -> Result<(), FoldError> {
        let cwd = Some(record.cwd.clone()).filter(|cwd| !cwd.is_empty());
        self.push(SessionCreated {
            session: session.clone(),
            format: FORMAT,
            cwd,
            parent: None,
            spawned_by: None,
        })?;
        self.push(Opened { epoch: 1, after_seq: 0, pid: None })?;
        // The hash finds the session when the same file is imported again.
        let marker = json!({"format": format, "from": record.id, "sha256": record.sha256()});
        self.note(IMPORTED, marker)?;
        if let Some(name) = record.name.clone().filter(|name| !name.is_empty()) {
            self.push(Renamed { name })?;
        }
        if let Some(text) = record.system_prompt.clone() {
            self.push(PromptSet { sha256: BlobRef::of(text.as_bytes()).sha256, text })?;
        }
        let mut tools: Vec<ToolSpec> = record.tool_schemas.iter().filter_map(read_tool).collect();
        // As a session records them, so that resuming with the same tools is no change.
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        if !tools.is_empty() {
            let bytes = serde_json::to_vec(&tools).unwrap_or_default();
            self.push(ToolsSet { sha256: BlobRef::of(&bytes).sha256, tools })?;
        }
        Ok(())
    }

    /// Closes the turn and adds the data of programs and the last events.
    pub(super) fn end(&mut self, record: &Record) -> Result<(), FoldError> {
        self.close_turn()?;
        self.at = record.updated_at;
        let mut copy = record.clone();
        for (name, field) in ENTRY_FIELDS {
            for item in copy.list(field).map(std::mem::take).unwrap_or_default() {
                self.note(name, item)?;
            }
        }
        if let Some(id) = &record.sandbox_snapshot_id {
            self.note("sandbox-snapshot", id.as_str().into())?;
        }
        for (field, value) in &record.extra {
            self.note(OTHER_FIELD, json!({"field": field, "value": value}))?;
        }
        // So that the first resume reads little, however long the imported session is.
        if let Some(snapshot) = self.state.snapshot() {
            self.push(snapshot)?;
        }
        self.push(Closed::from("imported"))
    }

    fn note(&mut self, name: &str, data: Value) -> Result<(), FoldError> {
        let entry = HistoryEntry::event(self.ids, self.at, name, data);
        self.push(EntryAdded { entry })
    }

    /// Adds one item of the history; a compaction only if `summaries` are given.
    pub(super) fn add_item(
        &mut self,
        item: &HistoryItem,
        summaries: Option<&[Message]>,
    ) -> Result<(), FoldError> {
        match item {
            HistoryItem::Message(message, at) => {
                self.at = *at;
                self.message(message)
            }
            HistoryItem::Entry(entry) => {
                self.at = entry.timestamp;
                self.push(EntryAdded { entry: entry.clone() })
            }
            HistoryItem::Compact { entry, keep_from } => {
                self.at = entry.timestamp;
                match summaries.and_then(|messages| summary(entry, messages)) {
                    Some(summary) => {
                        let keep_from = keep_from.clone();
                        self.push(CompactionFinished { summary: summary.into(), keep_from })
                    }
                    None => self.push(EntryAdded { entry: entry.clone() }),
                }
            }
        }
    }

    fn message(&mut self, message: &Message) -> Result<(), FoldError> {
        match message.role() {
            Role::System => self.push(MessageInjected { message: message.clone().into() }),
            Role::User => {
                self.close_turn()?;
                let input = InputId::mint(self.ids);
                self.push(InputAccepted {
                    input: input.clone(),
                    delivery: Delivery::AfterTurn,
                    content: message.content.clone(),
                    metadata: serde_json::Map::new(),
                    source: None,
                })?;
                self.open_turn(Some(input.clone()))?;
                let (message, author) = (message.clone(), Author::User);
                self.push(UserMessage { message: message.into(), input: Some(input), author })
            }
            Role::Assistant => {
                if self.turn.is_none() {
                    self.open_turn(None)?;
                }
                let mut round = 1;
                if let Some(turn) = &mut self.turn {
                    turn.rounds += 1;
                    round = turn.rounds;
                    turn.usage += message.usage.unwrap_or_default();
                    turn.interrupted = message.state() != MessageState::Complete;
                }
                self.push(AssistantMessage { round, message: message.clone().into() })
            }
            Role::Tool => {
                let round = self.turn.as_ref().map_or(1, |turn| turn.rounds);
                let (mut added, mut failed) = (0, 0);
                for result in message.tool_results() {
                    added += 1;
                    failed += u32::from(result.is_error);
                    let (message, result) = (message.id.clone(), result.clone().into());
                    self.push(ToolResultAdded { round, message, result })?;
                }
                if let Some(turn) = &mut self.turn {
                    turn.tools += added;
                }
                self.push(ToolBatchFinished { round, added, skipped: 0, failed })
            }
        }
    }

    fn open_turn(&mut self, input: Option<InputId>) -> Result<(), FoldError> {
        self.turn = Some(Turn {
            id: TurnId::mint(self.ids),
            rounds: 0,
            tools: 0,
            usage: Usage::default(),
            interrupted: false,
        });
        let (provider, model) = (self.provider.clone(), self.model.clone());
        self.push(TurnStarted { input, provider, model, max_rounds: 0 })
    }

    pub(super) fn close_turn(&mut self) -> Result<(), FoldError> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let cut = turn.interrupted || turn.rounds == 0;
        let end = if cut { TurnEnd::Interrupted } else { TurnEnd::Complete };
        let closing = Closing { end, announce: false, ..Closing::of(Cause::User) };
        // In a record, rounds and usage are known from messages, not from events of the turn.
        let (rounds, tools_executed, usage) = (turn.rounds, turn.tools, turn.usage);
        for event in close_turn(&self.state, &closing, self.ids) {
            match event {
                Event::TurnFinished(finished) => {
                    self.push(TurnFinished { rounds, tools_executed, usage, ..finished })?;
                }
                other => self.push(other)?,
            }
        }
        self.turn = None;
        Ok(())
    }

    /// Changes the view of the model to these messages.
    pub(super) fn set_view(&mut self, seen: &[Message]) -> Result<(), FoldError> {
        self.close_turn()?;
        let view = &self.state.view.messages;
        let is_prefix = view.len() >= seen.len() && view.iter().zip(seen).all(|(a, b)| **a == *b);
        if is_prefix {
            if view.len() > seen.len() {
                let keep = seen.len() as u64;
                self.push(Rewound { keep, cause: RewindCause::Checkpoint, undoable: false })?;
            }
            return Ok(());
        }
        if let [summary] = seen {
            let summary = summary.clone();
            return self.push(CompactionFinished { summary: summary.into(), keep_from: None });
        }
        self.push(Rewound { keep: 0, cause: RewindCause::Clear, undoable: false })?;
        for message in seen {
            self.push(MessageInjected { message: message.clone().into() })?;
        }
        Ok(())
    }
}

/// Returns the summary of a compaction entry: the message that the model sees, or one made from the
/// entry's text.
fn summary(entry: &HistoryEntry, messages: &[Message]) -> Option<Message> {
    if let Some(seen) = messages.iter().find(|message| message.id.as_str() == entry.id.as_str()) {
        return Some(seen.clone());
    }
    let EntryKind::Event { data, .. } = &entry.kind else { return None };
    let text = data.get("summary")?.as_str()?;
    let id = MessageId::from(entry.id.as_str());
    let message = json!({
        "id": id,
        "role": Role::Assistant,
        "content": [{"type": "text", "text": text}],
    });
    serde_json::from_value(message).ok()
}

/// Reads a tool from a record. Without a class it is treated as the most dangerous one.
fn read_tool(value: &Value) -> Option<ToolSpec> {
    let value = value.get("function").unwrap_or(value);
    let schema = value.get("parameters").or_else(|| value.get("input_schema"));
    let class = value.get("class").and_then(|class| serde_json::from_value(class.clone()).ok());
    Some(ToolSpec {
        name: value.get("name")?.as_str()?.to_owned(),
        description: value
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        input_schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
        class: class.unwrap_or(Class::Execute),
    })
}
