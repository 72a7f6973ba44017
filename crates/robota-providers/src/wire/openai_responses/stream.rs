//! Decodes streams. The completed item is authoritative; the deltas before it are only for display
//! while the answer streams.

use std::collections::BTreeMap;

use robota_core::message::ToolInput;
use robota_core::provider::{Delta, StopReason};
use robota_core::usage::Usage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::json::{self, LenientCount, LenientStr};
use crate::profile::Wire;
use crate::wire::SERVER_TOOL_INDEX;
use crate::wire::citations::RESPONSES;
use crate::wire::decode::{self, CallIds, Decode, DeltaQueue, opaque};

const WIRE: Wire = Wire::Responses;

/// The fields that most events have. Some events repeat the whole response; it is parsed only at
/// the end.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: LenientStr<'a>,
    #[serde(default)]
    output_index: LenientCount,
    #[serde(default)]
    summary_index: LenientCount,
    #[serde(borrow, default)]
    delta: LenientStr<'a>,
    #[serde(default)]
    item: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct FinalEvent {
    #[serde(default)]
    response: Value,
}

/// An item that is not complete yet.
#[derive(Default)]
struct OpenItem {
    number: u32,
    /// The item as it was added.
    item: Value,
    /// The pieces of its arguments.
    json: String,
    /// Whether any of its text was streamed.
    streamed: bool,
}

pub(crate) struct Decoder {
    model: String,
    open: BTreeMap<u64, OpenItem>,
    finished: Vec<u64>,
    calls: CallIds,
    server_tools: u32,
    searches: u64,
    fetches: u64,
    refused: bool,
    done: bool,
}

impl Decoder {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            open: BTreeMap::new(),
            finished: Vec::new(),
            calls: CallIds::default(),
            server_tools: 0,
            searches: 0,
            fetches: 0,
            refused: false,
            done: false,
        }
    }

    /// Returns the index of the item that an event refers to: its own, or that of the last item.
    fn item_index(&self, index: LenientCount) -> u64 {
        index.0.or_else(|| self.open.keys().next_back().copied()).unwrap_or_default()
    }

    fn begin(&mut self, index: LenientCount, item: Value, out: &mut DeltaQueue) {
        let at = index.0.unwrap_or_else(|| {
            let last = self.open.keys().next_back().max(self.finished.iter().max());
            last.map_or(0, |last| last + 1)
        });
        let mut open = OpenItem::default();
        match item.get("type").and_then(Value::as_str) {
            Some("function_call") => {
                open.number = self.calls.next_index();
                let text = |key: &str| {
                    let text = item.get(key).and_then(Value::as_str);
                    text.filter(|text| !text.is_empty()).map(str::to_owned)
                };
                let (index, json) = (open.number, String::new());
                let (id, name) = (text("call_id"), text("name"));
                out.push_back(Delta::ToolInput { index, id, name, json });
            }
            Some("web_search_call") => {
                let index = SERVER_TOOL_INDEX + self.server_tools;
                self.server_tools += 1;
                let json = item.get("action").map(Value::to_string).unwrap_or_default();
                let name = Some("web_search".to_owned());
                out.push_back(Delta::ToolInput { index, id: None, name, json });
            }
            _ => {}
        }
        open.item = item;
        self.open.insert(at, open);
    }

    fn end_item(&mut self, index: LenientCount, item: Value, out: &mut DeltaQueue) {
        let at = self.item_index(index);
        // A repeated event must not repeat the item.
        if self.finished.contains(&at) && index.0.is_some() {
            return;
        }
        self.finished.push(at);
        let open = self.open.remove(&at).unwrap_or_default();
        self.emit(open, item, out);
    }

    fn emit(&mut self, open: OpenItem, mut item: Value, out: &mut DeltaQueue) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match item.get("type").and_then(Value::as_str).unwrap_or_default() {
            "function_call" => {
                let arguments = match item.get("arguments") {
                    Some(Value::String(arguments)) if !arguments.is_empty() => arguments.clone(),
                    Some(arguments @ Value::Object(_)) => arguments.to_string(),
                    _ => open.json,
                };
                // The result must name `call_id`; `id` is the next best if a service leaves it out.
                let id = [text("call_id"), text("id")].into_iter().find(|id| !id.is_empty());
                let input = ToolInput::parse(&arguments);
                let id = id.unwrap_or_default();
                out.push_back(self.calls.tool_use(&id, &text("name"), input, Map::new()));
            }
            "reasoning" => {
                if !open.streamed {
                    let content = summary(&item);
                    out.extend((!content.is_empty()).then_some(Delta::Thinking(content)));
                }
                // Without the encrypted content the service cannot use the item again.
                if item.get("encrypted_content").is_some_and(Value::is_string) {
                    remove_id(&mut item);
                    out.push_back(opaque(WIRE, &self.model, item));
                }
            }
            "message" => self.emit_message(&open, &item, out),
            "web_search_call" => {
                match item.pointer("/action/type").and_then(Value::as_str) {
                    Some("search") | None => self.searches += 1,
                    // It opened a page, or looked for a text in one.
                    Some(_) => self.fetches += 1,
                }
                remove_id(&mut item);
                out.push_back(opaque(WIRE, &self.model, item));
            }
            _ => {}
        }
    }

    fn emit_message(&mut self, open: &OpenItem, item: &Value, out: &mut DeltaQueue) {
        let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
        let mut sources = Vec::new();
        for part in parts {
            let content = ["text", "refusal"].iter().find_map(|key| part.get(key)?.as_str());
            self.refused |= part.get("refusal").is_some_and(Value::is_string);
            if let Some(content) = content.filter(|content| !content.is_empty() && !open.streamed) {
                out.push_back(Delta::Text(content.to_owned()));
            }
            let cited = part.get("annotations").and_then(Value::as_array).into_iter().flatten();
            sources.extend(cited.cloned());
        }
        if let Some(phase) = item.get("phase").filter(|phase| phase.is_string()) {
            out.push_back(opaque(WIRE, &self.model, json!({"phase": phase})));
        }
        if !sources.is_empty() {
            out.push_back(decode::sources(RESPONSES, &self.model, Value::Array(sources)));
        }
    }

    fn end(&mut self, data: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        let mut repaired = None;
        let last: FinalEvent = json::decode(data, &mut repaired)?;
        let response = last.response;
        let output = response.get("output").and_then(Value::as_array);
        // Items without a `done` event are taken from the final response, or as far as they
        // arrived.
        for (at, open) in std::mem::take(&mut self.open) {
            let whole = usize::try_from(at).ok().and_then(|at| output?.get(at).cloned());
            let item = whole.unwrap_or_else(|| open.item.clone());
            self.emit(open, item, out);
        }
        if let Some(usage) = response.get("usage").and_then(Usage::from_provider_value) {
            // The usage of this wire does not count searches; each is an item of the answer.
            out.push_back(Delta::Usage(Usage {
                web_searches: self.searches,
                web_fetches: self.fetches,
                ..usage
            }));
        }
        let incomplete_reason =
            response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let reason = match (response.get("status").and_then(Value::as_str), incomplete_reason) {
            (Some("incomplete"), Some("max_output_tokens")) => StopReason::MaxTokens,
            (Some("incomplete"), Some("content_filter")) => StopReason::Filtered,
            (Some("incomplete"), Some("max_messages")) => StopReason::MaxTokens,
            (Some("incomplete"), Some(other)) => StopReason::Other(other.to_owned()),
            _ if self.calls.has_calls() => StopReason::ToolUse,
            _ if self.refused => StopReason::Refusal,
            _ => StopReason::EndTurn,
        };
        out.push_back(Delta::End(reason));
        self.done = true;
        Ok(())
    }
}

/// Removes the id: without server-side storage, items must be sent back without ids.
fn remove_id(item: &mut Value) {
    if let Value::Object(fields) = item {
        fields.shift_remove("id");
    }
}

fn summary(item: &Value) -> String {
    let parts = ["summary", "content"]
        .iter()
        .filter_map(|key| item.get(key)?.as_array())
        .find(|parts| !parts.is_empty());
    let texts = parts.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n\n")
}

impl Decode for Decoder {
    fn event(&mut self, name: &str, data: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        if name == "error" {
            return Err(Failure::from_body(data));
        }
        let mut repaired = None;
        let event: Event<'_> = match json::decode(data, &mut repaired) {
            Ok(event) => event,
            Err(_) if matches!(data.trim(), "" | "[DONE]") => return Ok(()),
            Err(failure) => return Err(failure),
        };
        match &*event.kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let at = self.item_index(event.output_index);
                self.refused |= &*event.kind == "response.refusal.delta";
                self.open.entry(at).or_default().streamed = true;
                if !event.delta.is_empty() {
                    out.push_back(Delta::Text(event.delta.into_string()));
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let at = self.item_index(event.output_index);
                self.open.entry(at).or_default().streamed = true;
                if !event.delta.is_empty() {
                    out.push_back(Delta::Thinking(event.delta.into_string()));
                }
            }
            "response.reasoning_summary_part.added" if event.summary_index.0 > Some(0) => {
                out.push_back(Delta::Thinking("\n\n".to_owned()));
            }
            "response.function_call_arguments.delta" => {
                let at = self.item_index(event.output_index);
                if let Some(open) = self.open.get_mut(&at) {
                    open.json.push_str(&event.delta);
                    let json = event.delta.into_string();
                    out.push_back(Delta::ToolInput {
                        index: open.number,
                        id: None,
                        name: None,
                        json,
                    });
                }
            }
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    self.begin(event.output_index, item, out);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.end_item(event.output_index, item, out);
                }
            }
            "response.completed" | "response.incomplete" => {
                self.end(repaired.as_deref().unwrap_or(data), out)?;
            }
            "response.failed" | "response.cancelled" | "error" => {
                return Err(Failure::from_body(repaired.as_deref().unwrap_or(data)));
            }
            _ => {
                if event.error.is_some_and(|error| !error.is_null()) {
                    return Err(Failure::from_body(repaired.as_deref().unwrap_or(data)));
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done { Ok(()) } else { Err(Failure::truncated()) }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests;
