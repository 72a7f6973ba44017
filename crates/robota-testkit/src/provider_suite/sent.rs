//! Reads requests in the same way on every wire.

use serde_json::Value;

use crate::mock::{ReceivedRequest, Wire};

/// A call as it was sent back to the service.
#[derive(Debug, PartialEq)]
pub(super) struct SentCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// A result as it was sent to the service.
#[derive(Debug, PartialEq)]
pub(super) struct SentResult {
    pub(super) id: String,
    pub(super) text: String,
    /// Whether it reports that the tool failed, if the wire can report it.
    pub(super) failed: Option<bool>,
}

/// Returns the conversation of a request.
pub(super) fn messages(received: &ReceivedRequest) -> Vec<Value> {
    let key = match received.wire().unwrap() {
        Wire::Anthropic | Wire::OpenaiChat => "messages",
        Wire::OpenaiResponses => "input",
        Wire::Gemini => "contents",
    };
    received.json[key].as_array().cloned().unwrap_or_default()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the calls of earlier answers.
pub(super) fn calls(received: &ReceivedRequest) -> Vec<SentCall> {
    let messages = messages(received);
    // Both OpenAI wires send arguments as JSON in a text.
    let parsed = |value: &Value| serde_json::from_str(value.as_str().unwrap_or("null")).unwrap();
    match received.wire().unwrap() {
        Wire::Anthropic => blocks(&messages, "content", "tool_use")
            .map(|block| SentCall {
                id: text(&block["id"]),
                name: text(&block["name"]),
                arguments: block["input"].clone(),
            })
            .collect(),
        Wire::OpenaiChat => messages
            .iter()
            .flat_map(|message| list(&message["tool_calls"]))
            .map(|call| SentCall {
                id: text(&call["id"]),
                name: text(&call["function"]["name"]),
                arguments: parsed(&call["function"]["arguments"]),
            })
            .collect(),
        Wire::OpenaiResponses => messages
            .iter()
            .filter(|item| item["type"] == "function_call")
            .map(|item| SentCall {
                id: text(&item["call_id"]),
                name: text(&item["name"]),
                arguments: parsed(&item["arguments"]),
            })
            .collect(),
        Wire::Gemini => messages
            .iter()
            .flat_map(|content| list(&content["parts"]))
            .map(|part| part["functionCall"].clone())
            .filter(|call| !call.is_null())
            .map(|call| SentCall {
                id: text(&call["id"]),
                name: text(&call["name"]),
                arguments: call["args"].clone(),
            })
            .collect(),
    }
}

/// Returns the results that were sent back, in their order.
pub(super) fn results(received: &ReceivedRequest) -> Vec<SentResult> {
    let messages = messages(received);
    match received.wire().unwrap() {
        Wire::Anthropic => blocks(&messages, "content", "tool_result")
            .map(|block| SentResult {
                id: text(&block["tool_use_id"]),
                text: all_text(&block["content"]),
                failed: Some(block["is_error"] == true),
            })
            .collect(),
        Wire::OpenaiChat => messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| SentResult {
                id: text(&message["tool_call_id"]),
                text: all_text(&message["content"]),
                // The wire has no place for a failure; only its text says it.
                failed: None,
            })
            .collect(),
        Wire::OpenaiResponses => messages
            .iter()
            .filter(|item| item["type"] == "function_call_output")
            .map(|item| SentResult {
                id: text(&item["call_id"]),
                text: all_text(&item["output"]),
                failed: None,
            })
            .collect(),
        Wire::Gemini => messages
            .iter()
            .flat_map(|content| list(&content["parts"]))
            .map(|part| part["functionResponse"].clone())
            .filter(|response| !response.is_null())
            .map(|response| SentResult {
                id: text(&response["id"]),
                text: all_text(&response["response"]),
                failed: Some(response["response"].get("error").is_some()),
            })
            .collect(),
    }
}

fn blocks<'a>(
    messages: &'a [Value],
    key: &'a str,
    kind: &'a str,
) -> impl Iterator<Item = Value> + 'a {
    messages
        .iter()
        .flat_map(move |message| list(&message[key]))
        .filter(move |block| block["type"] == kind)
}

/// Concatenates all text below a value, in order, without keys.
pub(super) fn all_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(all_text).collect(),
        // Other fields of a text part, such as its type, are no text.
        Value::Object(fields) if fields.contains_key("text") => all_text(&fields["text"]),
        Value::Object(fields) => fields.values().map(all_text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Returns whether any string below a value contains that text.
pub(super) fn contains(value: &Value, needle: &str) -> bool {
    match value {
        Value::String(text) => text.contains(needle),
        Value::Array(items) => items.iter().any(|item| contains(item, needle)),
        Value::Object(fields) => fields.values().any(|item| contains(item, needle)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Removes cache markers, which move from request to request.
pub(super) fn without_cache_marks(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_cache_marks).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "cache_control" && *key != "prompt_cache_breakpoint")
            .map(|(key, value)| (key.clone(), without_cache_marks(value)))
            .collect(),
        other => other.clone(),
    }
}
