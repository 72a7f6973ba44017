//! What the mock received, and what became of it.

use serde_json::Value;
use tokio::sync::watch;

use super::wire::{Route, Wire};

/// One request.
#[derive(Debug)]
pub struct Received {
    /// Its place among all requests, from zero.
    pub number: usize,
    /// Its place among the model calls, from one.
    pub nth_call: Option<usize>,
    /// The connection it came on, from zero: two with the same number shared one.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// What follows the `?`.
    pub query: String,
    /// What it is for.
    pub route: Route,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// The body as JSON; null when it is none.
    pub json: Value,
    pub(super) ended: watch::Sender<Option<Ended>>,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was sent as the scenario has it, its end included.
    Whole,
    /// The mock broke it off, as the scenario has it.
    BrokenOff,
    /// The client went away.
    HungUp,
}

impl Received {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The wire of a model call.
    #[must_use]
    pub fn wire(&self) -> Option<Wire> {
        match self.route {
            Route::Call { wire, .. } => Some(wire),
            _ => None,
        }
    }

    /// The model that is called.
    #[must_use]
    pub fn model(&self) -> &str {
        match &self.route {
            Route::Call { model: Some(model), .. } => model,
            _ => self.json["model"].as_str().unwrap_or_default(),
        }
    }

    /// Whether a stream is wanted.
    #[must_use]
    pub fn wants_stream(&self) -> bool {
        match self.route {
            Route::Call { stream: Some(stream), .. } => stream,
            _ => self.json["stream"].as_bool().unwrap_or(false),
        }
    }

    /// The system prompt.
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

    /// The names of the tools that are offered.
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

    /// The text of the last message, which is a user's or a tool's.
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

    /// How many messages the conversation has: all that tools said to one answer is one, and so
    /// is all of one answer. Where a wire joins what a user says to results, that is one too.
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
                speakers.dedup_by(|next, last| next == last && *next != "user");
                speakers.len()
            }
            None => 0,
        }
    }

    /// Waits until the response has ended, and says how.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.unwrap_or(Ended::BrokenOff),
            // The sender is borrowed, so this cannot be.
            Err(_) => Ended::BrokenOff,
        }
    }
}

fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// All words in content of any wire: texts, texts of parts, and what tools said.
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
