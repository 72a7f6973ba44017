//! The session record (SESS-10): a whole session as one JSON document.

mod build;
mod import;
mod items;

use jiff::Timestamp;
use robota_core::event::{Envelope, Event};
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::{Ids, SessionId};
use robota_core::journal::{JournalStore, read_all};
use robota_core::message::{BlobRef, Message};
use robota_core::project::history;
use robota_core::state::State;
use robota_core::tool::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(super) use import::import_as;
pub use import::{Imported, import};
use items::Repairs;

use super::error::ReplayError;
use super::universal;

/// The marker of an imported session, an entry of its history.
pub(super) const IMPORTED: &str = "imported";

/// What a compaction is called in a history.
pub(super) const COMPACT: &str = "context-compact";

/// What programs keep of a session beside its conversation: entries of the history by these
/// names are these fields of the record, and the other way round.
pub(super) const ENTRY_FIELDS: [(&str, &str); 8] = [
    ("background-task", "backgroundTasks"),
    ("background-task-event", "backgroundTaskEvents"),
    ("background-job-group", "backgroundJobGroups"),
    ("background-job-group-event", "backgroundJobGroupEvents"),
    ("memory-event", "memoryEvents"),
    ("used-memory-reference", "usedMemoryReferences"),
    ("context-reference", "contextReferences"),
    ("sandbox-snapshot", "sandboxSnapshotId"),
];

/// A field of an imported record that has no name here: its entry in the history.
pub(super) const OTHER_FIELD: &str = "record-field";

/// A whole session as one document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The session.
    pub id: String,
    /// Where it works.
    #[serde(default)]
    pub cwd: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened.
    pub updated_at: Timestamp,
    /// The conversation as the model sees it.
    #[serde(default)]
    pub messages: Vec<Value>,
    /// Everything that was said, with what happened around it.
    #[serde(default)]
    pub history: Vec<Value>,
    /// Who answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Which model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The tools it is offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_schemas: Vec<Value>,
    /// Tasks in the background, as they were last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_tasks: Vec<Value>,
    /// What happened to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_task_events: Vec<Value>,
    /// Groups of tasks, as they were last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_job_groups: Vec<Value>,
    /// What happened to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_job_group_events: Vec<Value>,
    /// What was learnt, saved and forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_events: Vec<Value>,
    /// What of it the last prompt was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used_memory_references: Vec<Value>,
    /// Files and the like that belong to the context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_references: Vec<Value>,
    /// Where the sandbox's files are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_snapshot_id: Option<String>,
    /// Fields this version has no name for.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Record {
    /// The record of a session.
    ///
    /// # Errors
    /// When its journal cannot be read, or has a gap.
    pub async fn of(store: &dyn JournalStore, session: &SessionId) -> Result<Self, ReplayError> {
        let events = read_all(store, session, 0).await?;
        Self::from_events(session, &events)
    }

    /// The record that a journal comes to.
    ///
    /// # Errors
    /// When the journal has a gap.
    pub fn from_events(session: &SessionId, events: &[Envelope]) -> Result<Self, ReplayError> {
        let state = State::fold(events)?;
        let empty = || ReplayError::shape("journal", "it has no events");
        let (first, last) = (events.first().ok_or_else(empty)?, events.last().ok_or_else(empty)?);
        let entries = history(events);
        let at = |message: &Message| {
            entries
                .iter()
                .find(|entry| entry.id.as_str() == message.id.as_str())
                .map(|entry| entry.timestamp)
        };
        let messages = state.view.messages.iter();
        let mut record = Self {
            id: session.to_string(),
            cwd: state.cwd.clone().unwrap_or_default(),
            name: state.name.clone(),
            created_at: began(events).unwrap_or(first.ts),
            updated_at: events.iter().map(|event| event.ts).max().unwrap_or(last.ts),
            messages: messages.flat_map(|message| universal::write(message, at(message))).collect(),
            system_prompt: state.prompt.as_ref().map(|prompt| prompt.value.to_string()),
            tool_schemas: state
                .tools
                .iter()
                .flat_map(|tools| tools.value.iter().map(write_tool))
                .collect(),
            ..Self::empty(first.ts)
        };
        let answered = events.iter().rev().find_map(|event| match &event.event {
            Event::TurnStarted(data) => Some((data.provider.clone(), data.model.clone())),
            _ => None,
        });
        (record.provider, record.model) = answered.unzip();
        for entry in &entries {
            record.add_entry(entry);
        }
        Ok(record)
    }

    /// A record of nothing.
    pub(super) fn empty(at: Timestamp) -> Self {
        Self { created_at: at, updated_at: at, ..Self::default() }
    }

    fn add_entry(&mut self, entry: &HistoryEntry) {
        match &entry.kind {
            EntryKind::Chat { data, .. } => {
                for message in universal::write(data, Some(entry.timestamp)) {
                    self.history.push(json!({
                        "id": message["id"],
                        "timestamp": entry.timestamp,
                        "category": "chat",
                        "type": message["role"],
                        "data": message,
                    }));
                }
            }
            EntryKind::Event { name, data } => {
                if name == IMPORTED {
                    return;
                }
                if name == OTHER_FIELD {
                    if let (Some(field), Some(value)) =
                        (data.get("field").and_then(Value::as_str), data.get("value"))
                    {
                        self.extra.insert(field.to_owned(), value.clone());
                    }
                    return;
                }
                match ENTRY_FIELDS.iter().find(|(kept, _)| kept == name) {
                    Some((_, "sandboxSnapshotId")) => {
                        self.sandbox_snapshot_id = data.as_str().map(str::to_owned);
                    }
                    Some((_, field)) => {
                        if let Some(list) = self.list(field) {
                            keep(list, data, !field.ends_with("Events"));
                        }
                    }
                    None => self.history.push(json!(entry)),
                }
            }
        }
    }

    /// Adds an entry as a log has it.
    pub(super) fn keep_entry(&mut self, entry: &Value) {
        match serde_json::from_value::<HistoryEntry>(entry.clone()) {
            Ok(entry) => self.add_entry(&entry),
            Err(_) => self.history.push(entry.clone()),
        }
    }

    /// The list of that name.
    pub(super) fn list(&mut self, field: &str) -> Option<&mut Vec<Value>> {
        Some(match field {
            "backgroundTasks" => &mut self.background_tasks,
            "backgroundTaskEvents" => &mut self.background_task_events,
            "backgroundJobGroups" => &mut self.background_job_groups,
            "backgroundJobGroupEvents" => &mut self.background_job_group_events,
            "memoryEvents" => &mut self.memory_events,
            "usedMemoryReferences" => &mut self.used_memory_references,
            "contextReferences" => &mut self.context_references,
            _ => return None,
        })
    }

    /// Reads a record of any age.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, ReplayError> {
        let bad =
            |error: serde_json::Error| ReplayError::shape("session record", error.to_string());
        let mut value: Value = serde_json::from_str(text).map_err(bad)?;
        migrate(&mut value);
        serde_json::from_value(value).map_err(bad)
    }

    /// The hash of what it says, whatever shape it came in.
    #[must_use]
    pub fn sha256(&self) -> String {
        BlobRef::of(&serde_json::to_vec(self).unwrap_or_default()).sha256
    }
}

/// What an import would have to put right.
pub(super) fn repairs(values: &[Value], since: Timestamp, ids: &dyn Ids) -> Repairs {
    items::history(values, since, ids).repairs
}

/// Keeps an item; where the latest counts, in the place of an older one with its id.
fn keep(list: &mut Vec<Value>, item: &Value, latest: bool) {
    let id = item.get("id").filter(|_| latest);
    match list.iter_mut().find(|old| id.is_some() && old.get("id") == id) {
        Some(old) => *old = item.clone(),
        None => list.push(item.clone()),
    }
}

/// When the session itself began: for a fork later than its first event.
fn began(events: &[Envelope]) -> Option<Timestamp> {
    let created = events.iter().rev().find(|event| matches!(event.event, Event::SessionCreated(_)));
    created.map(|event| event.ts)
}

/// A tool as a record has it.
pub(super) fn write_tool(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "class": tool.class,
    })
}

/// Brings an older record into the shape of today; one that has it stays as it is.
///
/// Records before there was a history have none: it is made from their messages. Names with
/// underscores, and times under `created` and `updated`, are those of still older ones.
pub(super) fn migrate(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    let names = [
        ("sessionId", "id"),
        ("session_id", "id"),
        ("created_at", "createdAt"),
        ("created", "createdAt"),
        ("updated_at", "updatedAt"),
        ("updated", "updatedAt"),
        ("system_prompt", "systemPrompt"),
        ("systemMessage", "systemPrompt"),
        ("tool_schemas", "toolSchemas"),
        ("workingDirectory", "cwd"),
    ];
    for (old, new) in names {
        if !fields.contains_key(new)
            && let Some(value) = fields.shift_remove(old)
        {
            fields.insert(new.to_owned(), value);
        }
    }
    for name in ["createdAt", "updatedAt"] {
        let millis = fields.get(name).and_then(Value::as_i64);
        if let Some(at) = millis.and_then(|millis| Timestamp::from_millisecond(millis).ok()) {
            fields.insert(name.to_owned(), at.to_string().into());
        }
    }
    let other = fields.get("updatedAt").or_else(|| fields.get("createdAt")).cloned();
    for name in ["createdAt", "updatedAt"] {
        if let (None, Some(other)) = (fields.get(name), &other) {
            fields.insert(name.to_owned(), other.clone());
        }
    }
    name_messages(fields);
    let since = fields.get("createdAt").cloned().unwrap_or_default();
    let none = fields.get("history").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if none && let Some(Value::Array(messages)) = fields.get("messages") {
        let entry = |message: &Value| {
            json!({
                "id": message["id"],
                "timestamp": message.get("timestamp").unwrap_or(&since),
                "category": "chat",
                "type": message["role"],
                "data": message,
            })
        };
        let chat = messages.iter().filter(|message| message["role"] != "system");
        let history: Vec<_> = chat.map(entry).collect();
        fields.insert("history".to_owned(), history.into());
    }
}

/// Messages without an id get one that is the same each time.
fn name_messages(fields: &mut Map<String, Value>) {
    let Some(Value::Array(messages)) = fields.get_mut("messages") else { return };
    for (index, message) in messages.iter_mut().enumerate() {
        if let Value::Object(message) = message
            && message.get("id").and_then(Value::as_str).is_none_or(str::is_empty)
        {
            message.shift_insert(0, "id".to_owned(), format!("m{}", index + 1).into());
        }
    }
}

#[cfg(test)]
mod tests;
