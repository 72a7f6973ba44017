//! Events of hosts that are part of another event here: a call that failed (`PostToolUseFailure`), and a
//! call that needs approval (`PermissionRequest`). What a hook receives and answers is translated.

use std::path::PathBuf;

use robota_core::ids::CallId;
use robota_core::message::{ToolInput, ToolResult, ToolUse};
use serde_json::{Map, Value, json};

use crate::headless::loaded::LoadedBlobs;
use crate::headless::tool_output::FinishedCall;

/// The event of a host that a hook belongs to, if it is part of another event here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum HostEvent {
    /// The event has the same name here.
    #[default]
    Same,
    /// A call failed: `PostToolUse` here.
    Failure,
    /// A call needs approval: `PreToolUse` here.
    Permission,
}

impl HostEvent {
    const ALL: [Self; 3] = [Self::Same, Self::Failure, Self::Permission];

    /// Returns the name of the event; none if it has the same name here.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Same => None,
            Self::Failure => Some("PostToolUseFailure"),
            Self::Permission => Some("PermissionRequest"),
        }
    }

    /// Returns the event with this name.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == Some(name))
    }

    /// Returns what a hook receives; none if it does not run.
    pub(super) fn input(self, mut input: Value) -> Option<Value> {
        let of_result = input["hook_event_name"] == "PostToolUse";
        let failed = of_result && input["tool_response"]["success"] == false;
        match self {
            Self::Same if failed => return None,
            Self::Same if of_result => input["tool_response"] = response(&input),
            Self::Same => {}
            Self::Failure if !failed => return None,
            Self::Failure => {
                input["error"] = input["tool_output"].clone();
                input["is_interrupt"] = false.into();
                if let Some(fields) = input.as_object_mut() {
                    fields.remove("tool_response");
                }
            }
            Self::Permission => {}
        }
        if let Some(name) = self.name() {
            input["hook_event_name"] = name.into();
        }
        Some(input)
    }

    /// Returns the answer of a hook as that of the event here.
    pub(super) fn answer(self, mut answer: Map<String, Value>) -> Map<String, Value> {
        let Some(Value::Object(specific)) = answer.get_mut("hookSpecificOutput") else {
            return answer;
        };
        match self {
            Self::Same => {}
            Self::Failure => {
                specific.insert("hookEventName".to_owned(), "PostToolUse".into());
            }
            Self::Permission => {
                let decision = specific.get("decision").cloned().unwrap_or_default();
                let mut own = json!({"hookEventName": "PreToolUse"});
                if let Some(behavior) = decision["behavior"].as_str() {
                    own["permissionDecision"] = behavior.into();
                    own["permissionDecisionReason"] =
                        decision["message"].as_str().unwrap_or("a hook of the host decided").into();
                }
                if let Some(input) = decision.get("updatedInput").filter(|input| input.is_object())
                {
                    own["updatedInput"] = input.clone();
                }
                answer.insert("hookSpecificOutput".to_owned(), own);
            }
        }
        answer
    }
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
        duration_ms: own["metadata"]["duration_ms"].as_u64().unwrap_or_default(),
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
