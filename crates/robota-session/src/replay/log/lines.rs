//! Derives the lines of a log from a journal.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use robota_core::error::ErrorData;
use robota_core::event::{Envelope, Event};
use robota_core::ids::{MessageId, SessionId};
use robota_core::message::{Block, Message};
use robota_core::project::{ReplayEvent, ReplayProjection};
use robota_core::state::State;
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::replay::error::ReplayError;
use crate::replay::record::write_tool;
use crate::replay::universal;

/// Returns all lines, in order.
pub(super) fn of(session: &SessionId, events: &[Envelope]) -> Result<Vec<Value>, ReplayError> {
    let mut writer = Writer::new(session, events);
    for event in events {
        writer.push(event)?;
    }
    Ok(writer.lines)
}

struct Writer<'a> {
    session: &'a SessionId,
    lines: Vec<Value>,
    state: State,
    projection: ReplayProjection,
    /// A turn has started and its `pre_run` line is not written yet.
    pre_run_due: bool,
    provider: String,
    model: String,
    /// The last answer of the turn.
    answer: Option<Arc<Message>>,
    /// How many results of a tool message were written.
    results: HashMap<MessageId, usize>,
    compaction: Value,
    /// The hashes of the prompt and tools that were written last, so that they are not repeated.
    written_prompt: Option<String>,
    written_tools: Option<String>,
}

impl<'a> Writer<'a> {
    fn new(session: &'a SessionId, events: &[Envelope]) -> Self {
        let mut writer = Self {
            session,
            lines: Vec::new(),
            state: State::default(),
            projection: ReplayProjection::default(),
            pre_run_due: false,
            provider: String::new(),
            model: String::new(),
            answer: None,
            results: HashMap::new(),
            compaction: Value::Null,
            written_prompt: None,
            written_tools: None,
        };
        writer.init(events);
        writer
    }

    /// Writes the first line, with what the session starts with. The journal records that only
    /// later, so this searches for it.
    // The first line of a log describes the session, but the journal has these facts in later
    // events. So they are searched for first.
    fn init(&mut self, events: &[Envelope]) {
        let Some(first) = events.first() else { return };
        let (mut prompt, mut tools, mut turn, mut cwd) = (None, None, None, None);
        for event in events {
            match &event.event {
                Event::PromptSet(data) if prompt.is_none() => prompt = Some(data),
                Event::ToolsSet(data) if tools.is_none() => tools = Some(data),
                Event::TurnStarted(data) if turn.is_none() => turn = Some(data),
                Event::SessionCreated(data) => cwd = data.cwd.clone().or(cwd),
                _ => {}
            }
        }
        self.written_prompt = prompt.map(|prompt| prompt.sha256.clone());
        self.written_tools = tools.map(|tools| tools.sha256.clone());
        let text = prompt.map(|prompt| prompt.text.as_str()).unwrap_or_default();
        let schemas: Vec<_> =
            tools.iter().flat_map(|tools| tools.tools.iter().map(write_tool)).collect();
        let data = json!({
            "systemPrompt": text,
            "systemPromptLength": text.chars().count(),
            "provider": turn.map(|turn| &turn.provider),
            "model": turn.map(|turn| &turn.model),
            "cwd": cwd,
            "toolSchemas": schemas,
        });
        self.line(first.ts, "session_init", data);
    }

    fn line(&mut self, at: Timestamp, event: &str, data: Value) {
        let mut fields = Map::new();
        fields.insert("timestamp".to_owned(), at.to_string().into());
        fields.insert("sessionId".to_owned(), self.session.as_str().into());
        fields.insert("event".to_owned(), event.into());
        if let Value::Object(data) = data {
            fields.extend(data);
        }
        self.lines.push(Value::Object(fields));
    }

    fn push(&mut self, envelope: &Envelope) -> Result<(), ReplayError> {
        let at = envelope.ts;
        self.before(envelope);
        self.state.apply(envelope)?;
        if let Event::ToolResultAdded(data) = &envelope.event {
            // Counted before the lines of this event are written, which need the number of the
            // result.
            *self.results.entry(data.message.clone()).or_default() += 1;
        }
        for event in self.projection.push(envelope)? {
            let data = self.boundary(event.name, &event);
            self.line(at, event.name, data);
        }
        self.after(envelope);
        Ok(())
    }

    fn before(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::TurnStarted(data) => {
                self.provider.clone_from(&data.provider);
                self.model.clone_from(&data.model);
                self.pre_run_due = true;
                self.answer = None;
            }
            Event::UserMessage(data) => self.pre_run(envelope.ts, &data.message.text()),
            // A continued turn has no message of the user.
            Event::ModelRequested(_) => self.pre_run(envelope.ts, ""),
            Event::CompactionStarted(data) => self.compaction = json!(data),
            _ => {}
        }
    }

    fn pre_run(&mut self, at: Timestamp, input: &str) {
        if !std::mem::take(&mut self.pre_run_due) {
            return;
        }
        let data = json!({
            "provider": self.provider,
            "model": self.model,
            "input": input,
            "messageCount": self.state.view.messages.len(),
            "history": self.view(),
        });
        self.line(at, "pre_run", data);
    }

    /// Returns the messages that the model sees now.
    fn view(&self) -> Vec<Value> {
        let messages = self.state.view.messages.iter();
        messages.flat_map(|message| universal::write(message, None)).collect()
    }

    fn after(&mut self, envelope: &Envelope) {
        let at = envelope.ts;
        match &envelope.event {
            Event::TextChunk(data) => self.line(at, "text_delta", json!({"delta": data.text})),
            Event::AssistantMessage(data) => {
                for block in &data.message.content {
                    if let Some((tool, query)) = server_tool(block) {
                        self.line(at, "server_tool", json!({"tool": tool, "query": query}));
                    }
                }
                self.answer = Some(data.message.clone());
            }
            Event::CompactionFinished(data) => {
                let started = std::mem::take(&mut self.compaction);
                let summary = universal::write(&data.summary, Some(at)).into_iter().next();
                let after = json!({"messages": self.state.view.messages.len()});
                let line = json!({
                    "trigger": started.get("trigger"),
                    "before": started.get("before"),
                    "after": after,
                    "summary": summary,
                    "keepFrom": data.keep_from,
                });
                self.line(at, "context_compact", line);
            }
            Event::TurnFinished(data) => {
                if let Some(answer) = self.answer.take() {
                    let line = json!({
                        "executionId": envelope.turn,
                        "content": answer.text(),
                        "history": self.view(),
                        "historyStructure": self.structure(),
                    });
                    self.line(at, "assistant", line);
                }
                if let Some(error) = &data.error {
                    self.error(envelope, error);
                }
            }
            Event::Failed(data) => self.error(envelope, &data.error),
            Event::Interrupted(data) => {
                let line = json!({"executionId": envelope.turn, "cause": data.cause});
                self.line(at, "interrupted", line);
            }
            Event::Closed(data) => {
                self.line(at, "session_shutdown", json!({"reason": data.reason}));
            }
            // Additional lines, so that a replay gives the same result. Other readers ignore them.
            Event::EntryAdded(data) => self.line(at, "history_entry", json!({"entry": data.entry})),
            Event::Rewound(data) => self.line(at, "history_rewound", json!({"keep": data.keep})),
            Event::ViewRestored(_) => self.line(at, "history_restored", json!({})),
            Event::Renamed(data) => self.line(at, "session_renamed", json!({"name": data.name})),
            Event::PromptSet(data) if self.written_prompt.as_ref() != Some(&data.sha256) => {
                self.written_prompt = Some(data.sha256.clone());
                self.line(at, "session_update", json!({"systemPrompt": data.text}));
            }
            Event::ToolsSet(data) if self.written_tools.as_ref() != Some(&data.sha256) => {
                self.written_tools = Some(data.sha256.clone());
                let schemas: Vec<_> = data.tools.iter().map(write_tool).collect();
                self.line(at, "session_update", json!({"toolSchemas": schemas}));
            }
            _ => {}
        }
    }

    fn error(&mut self, envelope: &Envelope, error: &ErrorData) {
        let line = json!({
            "executionId": envelope.turn,
            "error": error.message,
            "kind": error.kind,
        });
        self.line(envelope.ts, "error", line);
    }

    /// Returns a few facts about each message, for readers of the log.
    fn structure(&self) -> Vec<Value> {
        let facts = |message: &Message| {
            let calls: Vec<_> = message.tool_uses().map(|call| call.name.as_str()).collect();
            json!({
                "role": message.role(),
                "contentLength": message.text().chars().count(),
                "hasToolCalls": !calls.is_empty(),
                "toolCallNames": calls,
                "metadata": message.metadata,
            })
        };
        self.state.view.messages.iter().map(|message| facts(message)).collect()
    }

    /// Renames the fields of a projected event to those of the log.
    fn boundary(&self, name: &str, event: &ReplayEvent) -> Value {
        let mut fields = Map::new();
        for (key, value) in &event.data {
            let (key, value) = match key.as_str() {
                "message" | "response" => (key.clone(), self.message(value)),
                "messages" => (key.clone(), messages(value)),
                "tools" if name == "provider_request" => (key.clone(), tools(value)),
                "kind" if name == "provider_native_raw_payload" => {
                    ("payloadKind".to_owned(), value.clone())
                }
                // The name that the format of the log uses.
                "mutation" => (key.clone(), "append_message".into()),
                "owner_path" => ("ownerPath".to_owned(), owner_path(value)),
                _ => (camel(key), value.clone()),
            };
            fields.insert(key, value);
        }
        Value::Object(fields)
    }

    fn message(&self, value: &Value) -> Value {
        let Ok(message) = serde_json::from_value::<Message>(value.clone()) else {
            return value.clone();
        };
        let mut written = universal::write(&message, None).into_iter().next().unwrap_or_default();
        // The results of one answer are one message in the journal, and one each in the log.
        if let Some(number) = self.results.get(&message.id).filter(|number| **number > 1) {
            written["id"] = format!("{}:{number}", message.id).into();
        }
        written
    }
}

fn messages(value: &Value) -> Value {
    let read = |value: &Value| serde_json::from_value::<Message>(value.clone());
    let list = value.as_array().into_iter().flatten();
    list.flat_map(|value| match read(value) {
        Ok(message) => universal::write(&message, None),
        // A message that this version cannot read is exported as it is.
        Err(_) => vec![value.clone()],
    })
    .collect()
}

fn tools(value: &Value) -> Value {
    let list = value.as_array().into_iter().flatten();
    list.map(|tool| match serde_json::from_value::<ToolSpec>(tool.clone()) {
        Ok(tool) => write_tool(&tool),
        Err(_) => tool.clone(),
    })
    .collect()
}

fn owner_path(value: &Value) -> Value {
    let list = value.as_array().into_iter().flatten();
    list.map(|segment| json!({"type": segment["owner_type"], "id": segment["owner_id"]})).collect()
}

/// Returns the tool that the model's service ran, and its input.
fn server_tool(block: &Block) -> Option<(String, Value)> {
    let value = match block {
        Block::Opaque(opaque) => &opaque.value,
        Block::Unknown(value) => value,
        Block::Text(_)
        | Block::Thinking(_)
        | Block::Image(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_) => return None,
    };
    let kind = value.get("type")?.as_str()?;
    let named = value.get("name").and_then(Value::as_str);
    match kind {
        "server_tool_use" => Some((named.unwrap_or(kind).to_owned(), value.get("input")?.clone())),
        "web_search_call" => {
            let query = value.pointer("/action/query").or_else(|| value.get("query"));
            Some(("web_search".to_owned(), query.cloned().unwrap_or_default()))
        }
        _ => None,
    }
}

/// Converts `tool_call_id` to `toolCallId`.
fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        if letter == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            camel.extend(letter.to_uppercase());
        } else {
            camel.push(letter);
        }
    }
    camel
}
