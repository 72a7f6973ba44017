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
use robota_core::task::Tasks;
use robota_core::tool::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use import::{Imported, import, import_as};
use items::Repairs;

use super::error::ReplayError;
use super::universal;

/// The name of the history entry that marks an imported session.
pub(super) const IMPORTED: &str = "imported";

/// The name of a compaction in a history.
pub(super) const COMPACT: &str = "context-compact";

/// History entries with these names become these fields of the record, and the other way round.
/// Programs store their data about a session in them.
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

/// The name of the history entry for a field of an imported record that this version does not know.
pub(super) const OTHER_FIELD: &str = "record-field";

/// Holds a whole session as one document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The id of the session as the record has it; an import may choose another.
    pub id: String,
    /// The working directory; empty if the session has none.
    #[serde(default)]
    pub cwd: String,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When the session was created; for a fork, when it was forked.
    pub created_at: Timestamp,
    /// When the last event of the session was recorded.
    pub updated_at: Timestamp,
    /// The messages that the model sees.
    #[serde(default)]
    pub messages: Vec<Value>,
    /// All messages and entries, including those that were compacted.
    #[serde(default)]
    pub history: Vec<Value>,
    /// The provider of the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model of the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt at the end of the journal; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The tools that the model can call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_schemas: Vec<Value>,
    /// The last state of each background task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_tasks: Vec<Value>,
    /// The events of background tasks, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_task_events: Vec<Value>,
    /// The last state of each group of tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_job_groups: Vec<Value>,
    /// The events of groups of tasks, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_job_group_events: Vec<Value>,
    /// What was learnt, saved and deleted in the memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_events: Vec<Value>,
    /// The memory that the last prompt used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used_memory_references: Vec<Value>,
    /// Files and other references that belong to the context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_references: Vec<Value>,
    /// The id of the stored files of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_snapshot_id: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Record {
    /// Reads the record of a session.
    ///
    /// # Errors
    /// If the journal cannot be read, or has a gap.
    pub async fn of(store: &dyn JournalStore, session: &SessionId) -> Result<Self, ReplayError> {
        let events = read_all(store, session, 0).await?;
        Self::from_events(session, &events)
    }

    /// Derives the record from the events of a journal.
    ///
    /// # Errors
    /// If the journal has a gap.
    pub fn from_events(session: &SessionId, events: &[Envelope]) -> Result<Self, ReplayError> {
        let state = State::fold(events)?;
        let empty = || ReplayError::shape("journal", "it has no events");
        let (first, last) = (events.first().ok_or_else(empty)?, events.last().ok_or_else(empty)?);
        let entries = history(events);
        let at = |message: &Message| {
            entries
                .iter()
                // Messages carry no time of their own; the history entry with the same id does.
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
        // From the end: a session may have changed its model, and the record names the last one.
        let answered = events.iter().rev().find_map(|event| match &event.event {
            Event::TurnStarted(data) => Some((data.provider.clone(), data.model.clone())),
            _ => None,
        });
        (record.provider, record.model) = answered.unzip();
        for entry in &entries {
            record.add_entry(entry);
        }
        record.add_tasks(&state.tasks, events);
        Ok(record)
    }

    /// Creates a record without content, with this time as creation and last change.
    pub(super) fn empty(at: Timestamp) -> Self {
        Self { created_at: at, updated_at: at, ..Self::default() }
    }

    /// Adds the background tasks and groups that the journal has, and what happened to them.
    fn add_tasks(&mut self, tasks: &Tasks, events: &[Envelope]) {
        let states = tasks.tasks.iter().map(|(id, state)| named("id", id, state));
        self.background_tasks.extend(states);
        let states = tasks.groups.iter().map(|(id, state)| named("id", id, state));
        self.background_job_groups.extend(states);
        for event in events {
            let (list, data) = match &event.event {
                Event::TaskChanged(data) => (&mut self.background_task_events, json!(data)),
                Event::TaskGroupChanged(data) => {
                    (&mut self.background_job_group_events, json!(data))
                }
                _ => continue,
            };
            list.push(named("timestamp", event.ts, data));
        }
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
                // The mark belongs to the imported session; a record of it must have the same hash
                // as its source.
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
                match ENTRY_FIELDS.iter().find(|(entry, _)| entry == name) {
                    Some((_, "sandboxSnapshotId")) => {
                        self.sandbox_snapshot_id = data.as_str().map(str::to_owned);
                    }
                    Some((_, field)) => {
                        if let Some(list) = self.list(field) {
                            // Lists of events keep every item; the other lists keep the last state
                            // of each id.
                            keep(list, data, !field.ends_with("Events"));
                        }
                    }
                    None => self.history.push(json!(entry)),
                }
            }
        }
    }

    /// Adds a history entry in the format of a log.
    pub(super) fn keep_entry(&mut self, entry: &Value) {
        match serde_json::from_value::<HistoryEntry>(entry.clone()) {
            Ok(entry) => self.add_entry(&entry),
            Err(_) => self.history.push(entry.clone()),
        }
    }

    /// Returns the list with that field name.
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

    /// Parses a record of this or an older version.
    ///
    /// # Errors
    /// If the text is not a valid record.
    pub fn parse(text: &str) -> Result<Self, ReplayError> {
        let bad =
            |error: serde_json::Error| ReplayError::shape("session record", error.to_string());
        let mut value: Value = serde_json::from_str(text).map_err(bad)?;
        migrate(&mut value);
        serde_json::from_value(value).map_err(bad)
    }

    /// Returns the hash of the content, independent of the format it was read from.
    #[must_use]
    pub fn sha256(&self) -> String {
        BlobRef::of(&serde_json::to_vec(self).unwrap_or_default()).sha256
    }
}

/// Returns what an import would have to repair.
pub(super) fn repairs(values: &[Value], since: Timestamp, ids: &dyn Ids) -> Repairs {
    items::history(values, since, ids).repairs
}

/// Adds an item. With `latest` it replaces an older item with the same id.
fn keep(list: &mut Vec<Value>, item: &Value, latest: bool) {
    let id = item.get("id").filter(|_| latest);
    match list.iter_mut().find(|old| id.is_some() && old.get("id") == id) {
        Some(old) => *old = item.clone(),
        None => list.push(item.clone()),
    }
}

/// Returns an object with one more field.
fn named(field: &str, value: impl Serialize, object: impl Serialize) -> Value {
    let mut item = Map::from_iter([(field.to_owned(), json!(value))]);
    if let Value::Object(fields) = json!(object) {
        item.extend(fields);
    }
    item.into()
}

/// Returns when the session itself was created: for a fork later than its first event.
fn began(events: &[Envelope]) -> Option<Timestamp> {
    let created = events.iter().rev().find(|event| matches!(event.event, Event::SessionCreated(_)));
    created.map(|event| event.ts)
}

/// Converts a tool to the format of a record.
pub(super) fn write_tool(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "class": tool.class,
    })
}

/// Converts an older record to the current format; a current record does not change.
///
/// Old records have no history: it is derived from their messages. Even older ones have names with
/// underscores, and times in `created` and `updated`.
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
        // A record with both names is a current one that kept an unknown field; the current name
        // wins.
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
        // The system prompt is a field of its own in the current format.
        let chat = messages.iter().filter(|message| message["role"] != "system");
        let history: Vec<_> = chat.map(entry).collect();
        fields.insert("history".to_owned(), history.into());
    }
}

/// Gives messages without an id one that is the same each time.
fn name_messages(fields: &mut Map<String, Value>) {
    let Some(Value::Array(messages)) = fields.get_mut("messages") else { return };
    for (index, message) in messages.iter_mut().enumerate() {
        if let Value::Object(message) = message
            && message.get("id").and_then(Value::as_str).is_none_or(str::is_empty)
        {
            // Derived from the position, so that importing the same file twice finds the same
            // messages.
            message.shift_insert(0, "id".to_owned(), format!("m{}", index + 1).into());
        }
    }
}

#[cfg(test)]
mod tests;
