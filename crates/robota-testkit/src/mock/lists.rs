//! Responses apart from answers: model lists, token counts, health checks.

use serde_json::{Value, json};

use super::received::ReceivedRequest;
use super::wire::{Route, Wire};

/// The context window and the longest answer that the model lists report.
const LIMITS: (u64, u64) = (200_000, 64_000);

/// Returns whether a request carries that key, in any form in which keys are sent.
pub(super) fn has_key(received: &ReceivedRequest, key: &str) -> bool {
    let bearer = received.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let headers = ["x-api-key", "x-goog-api-key", "api-key"];
    // Gemini clients may send the key in the address.
    let query = received.query.split('&').filter_map(|pair| pair.strip_prefix("key="));
    headers
        .into_iter()
        .filter_map(|name| received.header(name))
        .chain(bearer)
        .chain(query)
        .any(|sent_key| sent_key == key)
}

/// Returns the wire that a request is meant for, as far as it can be recognised.
pub(super) fn wire_of(received: &ReceivedRequest) -> Wire {
    match &received.route {
        Route::Call { wire, .. } | Route::Count(wire) | Route::Models(wire) => *wire,
        Route::Model(wire, _) => *wire,
        Route::OllamaTags | Route::OllamaVersion | Route::Health => Wire::OpenaiChat,
        Route::Unknown if received.path.starts_with("/v1beta") => Wire::Gemini,
        Route::Unknown if received.header("anthropic-version").is_some() => Wire::Anthropic,
        Route::Unknown => Wire::OpenaiChat,
    }
}

pub(super) fn count(wire: Wire, tokens: u64) -> Value {
    match wire {
        Wire::Anthropic => json!({ "input_tokens": tokens }),
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            json!({"object": "response.input_tokens", "input_tokens": tokens})
        }
        Wire::Gemini => json!({ "totalTokens": tokens }),
    }
}

pub(super) fn models(wire: Wire, names: &[String]) -> Value {
    let all: Vec<Value> = names.iter().map(|name| model(wire, name)).collect();
    match wire {
        Wire::Anthropic => json!({
            "data": all, "has_more": false, "first_id": names.first(), "last_id": names.last(),
        }),
        Wire::OpenaiChat | Wire::OpenaiResponses => json!({"object": "list", "data": all}),
        Wire::Gemini => json!({ "models": all }),
    }
}

pub(super) fn model(wire: Wire, name: &str) -> Value {
    let (input, output) = LIMITS;
    match wire {
        Wire::Anthropic => json!({
            "type": "model", "id": name, "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": input, "max_tokens": output,
        }),
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            json!({"id": name, "object": "model", "created": 1, "owned_by": "mock"})
        }
        Wire::Gemini => json!({
            "name": format!("models/{name}"), "displayName": name,
            "inputTokenLimit": input, "outputTokenLimit": output,
            "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": true,
        }),
    }
}

pub(super) fn ollama(names: &[String]) -> Value {
    let models: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "model": name, "size": 1, "digest": "0", "details": {}}))
        .collect();
    json!({ "models": models })
}

pub(super) fn ollama_version() -> Value {
    json!({"version": "0.99.0"})
}

pub(super) fn health() -> Value {
    json!({"status": "ok"})
}
