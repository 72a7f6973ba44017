//! Translates what a hook of a host receives: a host knows the results of calls by other fields, and
//! limits the length of a line.

use std::path::PathBuf;

use robota_core::ids::CallId;
use robota_core::message::{ToolInput, ToolResult, ToolUse};
use serde_json::{Value, json};

use crate::headless::line_room;
use crate::headless::loaded::LoadedBlobs;
use crate::headless::tool_output::FinishedCall;

/// Returns what a hook receives.
pub(super) fn input(mut input: Value) -> Value {
    if input["hook_event_name"] == "PostToolUse" {
        let response = response(&input);
        // Taken out of the input, whose length `fit` counts.
        input["tool_response"].take();
        let mut output = json!({"response": response, "text": input["tool_output"].take()});
        // The arguments are not shortened: a hook may decide by them.
        line_room::fit(&mut output, &input);
        input["tool_response"] = output["response"].take();
        input["tool_output"] = output["text"].take();
    }
    // A hook that decides about a call must see all of its arguments: a longer request is refused.
    if !matches!(input["hook_event_name"].as_str(), Some("PreToolUse" | "PermissionRequest")) {
        line_room::fit_texts(&mut input);
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
    let mut own = own.clone();
    if let Some(metadata) = own.get_mut("metadata").and_then(Value::as_object_mut) {
        // A host has it as `structuredPatch`.
        metadata.remove("diff");
    }
    match (output, own) {
        (Value::Object(mut fields), Value::Object(own)) => {
            for (name, value) in own {
                fields.entry(name).or_insert(value);
            }
            Value::Object(fields)
        }
        (_, own) => own,
    }
}

#[cfg(test)]
mod tests;
