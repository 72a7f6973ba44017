//! The JSON that a hook may print. Unknown fields are ignored. A known field with an invalid value
//! makes the whole output invalid, since it may have been meant as a refusal.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Wire {
    pub(super) r#continue: Option<bool>,
    pub(super) stop_reason: Option<String>,
    pub(super) decision: Option<Decision>,
    /// The short form of prompt, agent and HTTP hooks: `{"ok": false, "reason": "…"}` blocks.
    pub(super) ok: Option<bool>,
    pub(super) reason: Option<String>,
    pub(super) system_message: Option<String>,
    pub(super) hook_specific_output: Option<Specific>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Decision {
    Block,
    Approve,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Specific {
    pub(super) hook_event_name: Option<String>,
    pub(super) permission_decision: Option<Permission>,
    pub(super) decision: Option<RequestDecision>,
    pub(super) permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Map<String, Value>>,
    pub(super) updated_tool_output: Option<Value>,
    /// The older name, which hooks for several versions print besides the newer one.
    #[serde(rename = "updatedMCPToolOutput")]
    pub(super) updated_mcp_tool_output: Option<Value>,
    pub(super) additional_context: Option<String>,
    pub(super) worktree_path: Option<String>,
    pub(super) session_title: Option<String>,
    pub(super) initial_user_message: Option<String>,
    /// The answer to a question of an MCP server.
    pub(super) action: Option<Action>,
    pub(super) content: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    Accept,
    Decline,
    Cancel,
}

/// The decision about a call that needs approval.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RequestDecision {
    pub(super) behavior: Option<Permission>,
    pub(super) message: Option<String>,
    pub(super) updated_input: Option<Map<String, Value>>,
    pub(super) updated_permissions: Vec<Value>,
    /// Whether a denial ends the turn.
    pub(super) interrupt: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Permission {
    Allow,
    Deny,
    Ask,
    Defer,
}
