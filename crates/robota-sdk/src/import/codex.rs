//! Reads rollouts of Codex.
//!
//! The lines are in order. Each is `{timestamp, type, payload}`; the oldest versions wrote the payload
//! alone. `response_item` lines are the conversation, the others describe it.

use std::collections::HashMap;

use robota_core::usage::Usage;
use robota_session::replay::Record;
use serde_json::{Value, json};

use super::ImportReport;
use super::conversation::{Call, CallResult, Item, NO_IMAGE, Turn, fill, text_part};
use super::lines::{parse, skip, text, time};

/// The beginnings of user messages that Codex itself wrote: files and facts that this program adds in
/// its own way.
const CONTEXT: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
];

/// Reads a rollout. `id` is used if no line names the session.
pub(super) fn read(bytes: &[u8], id: &str) -> (Record, ImportReport) {
    let mut reader = Reader::default();
    let lines = parse(bytes, &mut reader.report);
    let times = lines.iter().filter_map(time);
    let (first, last) = (times.clone().min(), times.max());
    reader.record = Record { id: id.to_owned(), ..Record::default() };
    reader.record.created_at = first.unwrap_or_default();
    reader.record.updated_at = last.unwrap_or_default();
    for (number, line) in lines.iter().enumerate() {
        reader.number = number;
        match (text(line, "type"), line.get("payload")) {
            (Some(kind), Some(payload)) => reader.line(kind, payload, line),
            // The oldest versions: the line itself is the item.
            (Some(kind), None) if kind != "event_msg" => reader.item(kind, line, line),
            // Their first line has the facts of the session, and no type.
            (None, None) if number == 0 && text(line, "id").is_some() => reader.meta(line),
            (Some(kind), None) => skip(&mut reader.report, kind),
            (None, _) => skip(&mut reader.report, text(line, "record_type").unwrap_or("no type")),
        }
    }
    reader.finish_answer();
    let Reader { mut record, items, results, report, .. } = reader;
    fill(&mut record, &items, &results);
    (record, report)
}

#[derive(Default)]
struct Reader {
    record: Record,
    report: ImportReport,
    items: Vec<Item>,
    results: HashMap<String, CallResult>,
    /// The answer that is being read.
    answer: Option<Turn>,
    has_meta: bool,
    /// The position of the line, for the ids of messages.
    number: usize,
}

impl Reader {
    fn line(&mut self, kind: &str, payload: &Value, line: &Value) {
        match kind {
            "session_meta" => self.meta(payload),
            "turn_context" => {
                // The model of the last turn counts; a user can change it in between.
                let model = text(payload, "model").map(str::to_owned);
                self.record.model = model.or_else(|| self.record.model.take());
                if self.record.cwd.is_empty() {
                    self.record.cwd = text(payload, "cwd").unwrap_or_default().to_owned();
                }
            }
            "response_item" => {
                let kind = text(payload, "type").unwrap_or("no type");
                self.item(kind, payload, line);
            }
            "compacted" => self.compacted(payload, line),
            "event_msg" => self.event(payload),
            other => skip(&mut self.report, other),
        }
    }

    /// Reads the facts of the session. A fork repeats those of its parent behind its own.
    fn meta(&mut self, payload: &Value) {
        if std::mem::replace(&mut self.has_meta, true) {
            return skip(&mut self.report, "session_meta");
        }
        if let Some(id) = text(payload, "id").or_else(|| text(payload, "session_id")) {
            id.clone_into(&mut self.record.id);
        }
        if let Some(at) = time(payload) {
            self.record.created_at = at;
        }
        self.record.cwd = text(payload, "cwd").unwrap_or_default().to_owned();
        let provider = text(payload, "model_provider").unwrap_or("openai");
        self.record.provider = Some(provider.to_owned());
    }

    fn item(&mut self, kind: &str, item: &Value, line: &Value) {
        match kind {
            "message" => self.message(item, line),
            "reasoning" => {
                let texts = ["summary", "content"].into_iter().filter_map(|name| item.get(name));
                let texts = texts.filter_map(Value::as_array).flatten();
                let texts: Vec<_> =
                    texts.filter_map(|part| text(part, "text")).map(str::to_owned).collect();
                self.answer(line).thinking.extend(texts);
            }
            "function_call" => self.call(item, text(item, "arguments").unwrap_or("{}"), line),
            "custom_tool_call" => {
                let input = item.get("input").cloned().unwrap_or_default();
                self.call(item, &json!({ "input": input }).to_string(), line);
            }
            "local_shell_call" => {
                let action = item.get("action").cloned().unwrap_or_default();
                let mut item = item.clone();
                // The item has no name; its type says which tool it is.
                item["name"] = "local_shell".into();
                self.call(&item, &action.to_string(), line);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.output(item, line);
            }
            other => skip(&mut self.report, other),
        }
    }

    fn message(&mut self, item: &Value, line: &Value) {
        let parts: Vec<Value> = match item.get("content") {
            Some(Value::String(text)) => vec![text_part(text)],
            Some(Value::Array(parts)) => parts.iter().filter_map(part).collect(),
            Some(_) | None => Vec::new(),
        };
        let first = parts.iter().find_map(|part| text(part, "text")).unwrap_or_default();
        let is_context = CONTEXT.iter().any(|start| first.trim_start().starts_with(start));
        match text(item, "role") {
            Some("assistant") => self.answer(line).parts.extend(parts),
            Some("user") if !is_context && !parts.is_empty() => {
                self.finish_answer();
                let (id, at) = (self.id(item), time(line));
                let turn = Turn { id, from_user: true, at, parts, ..Turn::default() };
                self.items.push(Item::Message(turn));
            }
            _ => skip(&mut self.report, "context"),
        }
    }

    fn call(&mut self, item: &Value, arguments: &str, line: &Value) {
        let id = text(item, "call_id").or_else(|| text(item, "id"));
        let (Some(id), Some(name)) = (id, text(item, "name")) else {
            return skip(&mut self.report, "call without an id or a name");
        };
        let call =
            Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
        self.answer(line).calls.push(call);
    }

    fn output(&mut self, item: &Value, line: &Value) {
        // The calls of one answer are adjacent, before their outputs.
        self.finish_answer();
        let Some(id) = text(item, "call_id") else {
            return skip(&mut self.report, "output without a call");
        };
        let (text, failed) = output_text(item.get("output").unwrap_or(&Value::Null));
        let result = CallResult { text, is_error: failed, at: time(line) };
        self.results.entry(id.to_owned()).or_insert(result);
    }

    fn compacted(&mut self, payload: &Value, line: &Value) {
        self.finish_answer();
        let replacement = payload.get("replacement_history").and_then(Value::as_array);
        let texts = replacement.into_iter().flatten().filter(|item| text(item, "role").is_some());
        let texts: Vec<_> = texts
            .filter_map(|item| item.get("content").and_then(Value::as_array))
            .flatten()
            .filter_map(|part| text(part, "text"))
            .collect();
        let summary = text(payload, "message").map(str::to_owned);
        let summary = summary.unwrap_or_else(|| texts.join("\n\n"));
        let summary = if summary.is_empty() { "The conversation was compacted." } else { &summary };
        self.items.push(Item::Compacted {
            id: self.id(payload),
            at: time(line),
            summary: summary.to_owned(),
            keep_from: None,
        });
    }

    fn event(&mut self, payload: &Value) {
        match text(payload, "type") {
            Some("token_count") => {
                let usage = payload.pointer("/info/last_token_usage").and_then(usage);
                // The count belongs to the answer that is being read, which must be in the list to
                // get it.
                self.finish_answer();
                let last = self.items.iter_mut().rev().find_map(|item| match item {
                    Item::Message(turn) if !turn.from_user => Some(turn),
                    Item::Message(_) | Item::Compacted { .. } => None,
                });
                if let (Some(turn), Some(usage)) = (last, usage) {
                    turn.usage = Some(usage);
                }
            }
            Some("thread_rolled_back") => {
                let turns = payload.get("num_turns").and_then(Value::as_u64).unwrap_or(0);
                self.roll_back(turns);
            }
            Some("thread_name_updated") => {
                let name = text(payload, "thread_name").map(str::to_owned);
                self.record.name = name.or_else(|| self.record.name.take());
            }
            // These repeat what other lines say.
            Some(
                "user_message" | "agent_message" | "agent_reasoning" | "task_started"
                | "task_complete" | "context_compacted",
            ) => {}
            Some(other) => skip(&mut self.report, other),
            None => skip(&mut self.report, "event_msg"),
        }
    }

    /// Removes the last turns: the user went back.
    fn roll_back(&mut self, turns: u64) {
        self.finish_answer();
        for _ in 0..turns {
            let from_user = |item: &Item| matches!(item, Item::Message(turn) if turn.from_user);
            let Some(start) = self.items.iter().rposition(from_user) else { return };
            self.report.abandoned += (self.items.len() - start) as u64;
            self.items.truncate(start);
        }
    }

    fn answer(&mut self, line: &Value) -> &mut Turn {
        let id = format!("line-{}", self.number + 1);
        self.answer.get_or_insert_with(|| Turn { id, at: time(line), ..Turn::default() })
    }

    /// Ends the answer that is being read. One without content is left out.
    fn finish_answer(&mut self) {
        if let Some(turn) = self.answer.take()
            && !(turn.parts.is_empty() && turn.calls.is_empty())
        {
            self.items.push(Item::Message(turn));
        }
    }

    /// Returns the id of a message: its own, or one by its line.
    fn id(&self, item: &Value) -> String {
        text(item, "id").map_or_else(|| format!("line-{}", self.number + 1), str::to_owned)
    }
}

fn part(part: &Value) -> Option<Value> {
    match text(part, "type")? {
        "input_text" | "output_text" | "text" => text(part, "text").map(text_part),
        "input_image" => {
            // Only images that the file contains: an address would have to be fetched, and may be
            // gone.
            let inline = text(part, "image_url").and_then(|url| {
                let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
                let kind = head.strip_suffix(";base64")?;
                Some(json!({"type": "image_inline", "mimeType": kind, "data": data}))
            });
            Some(inline.unwrap_or_else(|| text_part(NO_IMAGE)))
        }
        _ => None,
    }
}

/// Returns the text of an output and whether the call failed. Versions differ: plain text, JSON as
/// text, an object, or parts.
fn output_text(output: &Value) -> (String, bool) {
    match output {
        Value::String(raw) => match serde_json::from_str::<Value>(raw) {
            // Some versions wrap the output of a command into JSON, as text.
            Ok(value) if value.get("output").is_some() => {
                let code = value.pointer("/metadata/exit_code").and_then(Value::as_i64);
                (output_text(&value["output"]).0, code.is_some_and(|code| code != 0))
            }
            Ok(_) | Err(_) => (raw.clone(), false),
        },
        Value::Object(fields) => {
            let failed = fields.get("success") == Some(&Value::Bool(false));
            let content = fields.get("content").or_else(|| fields.get("output"));
            match content {
                Some(content) => (output_text(content).0, failed),
                None => (output.to_string(), failed),
            }
        }
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| text(part, "text"));
            (texts.collect::<Vec<_>>().join("\n"), false)
        }
        Value::Null => (String::new(), false),
        other => (other.to_string(), false),
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let usage = Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("cached_input_tokens"),
        reasoning_tokens: count("reasoning_output_tokens"),
        ..Usage::default()
    };
    (!usage.is_zero()).then_some(usage)
}

#[cfg(test)]
mod tests;
