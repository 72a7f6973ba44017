//! The requests that the mock server received, and how their responses ended.

use serde_json::Value;
use tokio::sync::watch;

use super::wire::{Route, Wire};

/// One request that the mock server received.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// The index among all requests, from zero.
    pub number: usize,
    /// The number among the model calls, from one; `None` for other requests.
    pub nth_call: Option<usize>,
    /// The index of the connection, from zero: requests with the same index shared a connection.
    pub connection: usize,
    /// The HTTP method, in capital letters as it was sent.
    pub method: String,
    /// The path, without the query and still encoded.
    pub path: String,
    /// The query without the `?`.
    pub query: String,
    /// What the request is for.
    pub route: Route,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as it arrived, for a comparison of bytes.
    pub body: Vec<u8>,
    /// The body as JSON; null if it is not JSON.
    pub json: Value,
    pub(super) ended: watch::Sender<Option<ResponseEnd>>,
}

/// How a response ended, as the server saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The whole response was sent, including its end.
    Complete,
    /// The mock server aborted the response, as the scenario requires.
    Aborted,
    /// The client closed the connection before the end.
    Disconnected,
}

impl ReceivedRequest {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the wire of a model call.
    #[must_use]
    pub fn wire(&self) -> Option<Wire> {
        match self.route {
            Route::Call { wire, .. } => Some(wire),
            _ => None,
        }
    }

    /// Returns the requested model, from the path or the body; empty if neither names one.
    #[must_use]
    pub fn model(&self) -> &str {
        match &self.route {
            Route::Call { model: Some(model), .. } => model,
            _ => self.json["model"].as_str().unwrap_or_default(),
        }
    }

    /// Returns whether the request asks for a stream.
    #[must_use]
    pub fn wants_stream(&self) -> bool {
        match self.route {
            Route::Call { stream: Some(stream), .. } => stream,
            _ => self.json["stream"].as_bool().unwrap_or(false),
        }
    }

    /// Returns the system prompt, joined if the request has several parts; empty for other
    /// requests.
    #[must_use]
    pub fn system(&self) -> String {
        let json = &self.json;
        match self.wire() {
            Some(Wire::Anthropic) => text_of(&json["system"]),
            Some(Wire::OpenaiChat) => items(&json["messages"])
                .filter(|message| is_system(message))
                .map(|message| text_of(&message["content"]))
                .collect(),
            Some(Wire::OpenaiResponses) => {
                let first = text_of(&json["instructions"]);
                let rest = items(&json["input"]).filter(|item| is_system(item));
                rest.fold(first, |all, item| all + &text_of(&item["content"]))
            }
            Some(Wire::Gemini) => text_of(&json["systemInstruction"]["parts"]),
            None => String::new(),
        }
    }

    /// Returns the names of the offered tools.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        let tools = items(&self.json["tools"]);
        let name = |value: &Value| value["name"].as_str().map(str::to_owned);
        match self.wire() {
            Some(Wire::Anthropic | Wire::OpenaiResponses) => tools.filter_map(name).collect(),
            Some(Wire::OpenaiChat) => tools.filter_map(|tool| name(&tool["function"])).collect(),
            Some(Wire::Gemini) => tools
                .flat_map(|tool| items(&tool["functionDeclarations"]))
                .filter_map(name)
                .collect(),
            None => Vec::new(),
        }
    }

    /// Returns whether the request forbids tool calls, although it may list tools.
    #[must_use]
    pub fn forbids_calls(&self) -> bool {
        let choice = &self.json["tool_choice"];
        *choice == "none"
            || choice["type"] == "none"
            || self.json["toolConfig"]["functionCallingConfig"]["mode"] == "NONE"
    }

    /// Returns the text of the last message, which is a user's or a tool's.
    #[must_use]
    pub fn last_text(&self) -> String {
        let json = &self.json;
        let last = |list: &Value| items(list).last().cloned().unwrap_or_default();
        match self.wire() {
            Some(Wire::Anthropic | Wire::OpenaiChat) => {
                text_of(&last(&json["messages"])["content"])
            }
            Some(Wire::OpenaiResponses) if json["input"].is_string() => text_of(&json["input"]),
            Some(Wire::OpenaiResponses) => {
                let item = last(&json["input"]);
                if item["output"].is_null() {
                    text_of(&item["content"])
                } else {
                    text_of(&item["output"])
                }
            }
            Some(Wire::Gemini) => text_of(&last(&json["contents"])["parts"]),
            None => String::new(),
        }
    }

    /// Returns the number of messages in the conversation. All results for one answer count as one
    /// message, and so does one whole answer. Where a wire joins user text and results in one
    /// message, that counts as one too.
    #[must_use]
    pub fn messages(&self) -> usize {
        let json = &self.json;
        let speaker = |item: &Value| match (item["role"].as_str(), item["type"].as_str()) {
            (Some("system" | "developer"), _) => None,
            (Some("user"), _) => Some("user"),
            (Some("tool"), _) | (None, Some("function_call_output")) => Some("tool"),
            _ => Some("assistant"),
        };
        match self.wire() {
            Some(Wire::Anthropic) => items(&json["messages"]).count(),
            Some(Wire::Gemini) => items(&json["contents"]).count(),
            Some(Wire::OpenaiResponses) if json["input"].is_string() => 1,
            Some(Wire::OpenaiChat | Wire::OpenaiResponses) => {
                let all = items(&json["messages"]).chain(items(&json["input"]));
                let mut speakers: Vec<_> = all.filter_map(speaker).collect();
                // Results of one answer are several items in a row, and so is an answer with calls.
                // Two prompts in a row are two.
                speakers.dedup_by(|next, last| next == last && *next != "user");
                speakers.len()
            }
            None => 0,
        }
    }

    /// Waits until the response has ended, and returns how.
    pub async fn ended(&self) -> ResponseEnd {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.unwrap_or(ResponseEnd::Aborted),
            // Cannot happen: `self` owns the sender.
            Err(_) => ResponseEnd::Aborted,
        }
    }
}

fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Collects all text in content of any wire: text, text of parts, and tool results.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        Value::Object(part) => {
            ["text", "content", "functionResponse", "response", "output", "error"]
                .iter()
                .filter_map(|key| part.get(*key))
                .map(text_of)
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
