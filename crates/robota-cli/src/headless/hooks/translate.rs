//! Translates what a hook of a host receives: a host knows the results of calls by other fields.

use std::path::PathBuf;

use robota_core::ids::CallId;
use robota_core::message::{ToolInput, ToolResult, ToolUse};
use serde_json::Value;

use crate::headless::loaded::LoadedBlobs;
use crate::headless::tool_output::FinishedCall;

/// Returns what a hook receives.
pub(super) fn input(mut input: Value) -> Value {
    if input["hook_event_name"] == "PostToolUse" {
        input["tool_response"] = response(&input);
    }
    input
}

/// Returns what a tool returned, with the fields that hosts know from `tool_use_result`.
fn response(input: &Value) -> Value {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    let tool_use = ToolUse::new(
        CallId::from(text("tool_use_id").to_owned()),
        text("tool_use_id"),
        text("tool_name"),
        ToolInput::Json(input["tool_input"].clone()),
    );
    let own = &input["tool_response"];
    let mut result = ToolResult::text(&tool_use, text("tool_output"), false);
    if let Value::Object(metadata) = &own["metadata"] {
        result.metadata.clone_from(metadata);
    }
    let output = FinishedCall {
        input: &input["tool_input"],
        result: &result,
        duration_ms: input["duration_ms"].as_u64().unwrap_or_default(),
        before: None,
        old_todos: &Value::Null,
        cwd: &PathBuf::from(text("cwd")),
        blobs: &LoadedBlobs::default(),
        agents: &[],
    }
    .output();
    match (output, own) {
        (Value::Object(mut fields), Value::Object(own)) => {
            for (name, value) in own {
                fields.entry(name.clone()).or_insert_with(|| value.clone());
            }
            Value::Object(fields)
        }
        (_, own) => own.clone(),
    }
}

#[cfg(test)]
mod tests;
