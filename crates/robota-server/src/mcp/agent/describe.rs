//! Descriptions of the tools of the agent, for the model of the host.

use robota_mcp::server::ServedTool;
use serde_json::{Map, Value, json};

pub(super) const START: &str = "agent_start";
pub(super) const SEND: &str = "agent_send";
pub(super) const WAIT: &str = "agent_wait";
pub(super) const DECIDE: &str = "agent_decide";
pub(super) const CANCEL: &str = "agent_cancel";

/// The names of all tools of the agent.
pub(super) const NAMES: [&str; 5] = [START, SEND, WAIT, DECIDE, CANCEL];

pub(super) fn tools(host_decides: bool) -> Vec<ServedTool> {
    let session = json!({"type": "string", "description": "The session that agent_start returned"});
    let prompt = json!({"type": "string", "description": "What the agent is to do"});
    let mut tools = vec![
        tool(
            START,
            // The numbers are those of `MAX_WAIT`; the model of the host reads this and plans its
            // calls by it.
            "Gives the agent a task in a new session. Answers within 45 seconds: with the result, \
             or with the state `running` (or `waiting_permission` while the user is asked), after which \
             agent_wait waits for the result.",
            &json!({
                "prompt": prompt,
                "cwd": {"type": "string", "description": "A folder below that of the server"},
                "model": {"type": "string", "description": "The model to use"},
                "plan": {"type": "boolean", "description": "Only look; change nothing"},
            }),
            &["prompt"],
            false,
        ),
        tool(
            SEND,
            "Sends the agent a further message. Answers like agent_start.",
            &json!({"session": session, "prompt": prompt}),
            &["session", "prompt"],
            false,
        ),
        tool(
            WAIT,
            "Waits until the agent has finished, at most 45 seconds, and returns its state.",
            &json!({
                "session": session,
                "timeout_ms": {"type": "integer", "minimum": 0, "description": "How long to wait"},
            }),
            &["session"],
            true,
        ),
        tool(
            CANCEL,
            "Stops the agent and closes its session.",
            &json!({"session": session}),
            &["session"],
            false,
        ),
    ];
    if host_decides {
        tools.push(tool(
            DECIDE,
            // The model of the host can read this. It is a request, not a protection;
            // `host_decides` is off by default for that reason.
            "Decides about a call that waits for approval: only as the user wants.",
            &json!({
                "session": session,
                "call": {"type": "string", "description": "The call, from `permissions`"},
                "decision": {"type": "string", "enum": ["allow", "allow_session", "deny"]},
                "note": {"type": "string", "description": "A remark for the agent"},
            }),
            &["session", "call", "decision"],
            false,
        ));
    }
    tools
}

fn tool(
    name: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
    read_only: bool,
) -> ServedTool {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ServedTool {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: object(schema),
        output_schema: Some(object(report_schema())),
        read_only,
    }
}

/// Returns the schema of what all tools return.
fn report_schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "session": text,
            "state": {
                "type": "string",
                "enum": ["running", "waiting_permission", "done", "cancelled", "failed"],
            },
            "text": text,
            "cursor": text,
            "error": text,
            "permissions": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["session", "state", "text"],
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
