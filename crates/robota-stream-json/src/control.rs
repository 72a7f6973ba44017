//! The control lines that this program prints: requests to the host, and answers to its requests.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::tag::tag;

tag!(ControlRequestTag, "control_request");
tag!(ControlResponseTag, "control_response");
tag!(ControlCancelTag, "control_cancel_request");

/// A request to the host.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlRequestLine<'a> {
    /// Names the type of the line.
    #[serde(rename = "type")]
    pub kind: ControlRequestTag,
    /// The host answers with this id.
    pub request_id: &'a str,
    /// What is asked.
    pub request: HostRequest<'a>,
}

/// What the host is asked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum HostRequest<'a> {
    /// May this call run?
    CanUseTool {
        /// The tool's name.
        tool_name: &'a str,
        /// The name to show.
        display_name: &'a str,
        /// The arguments.
        input: &'a Value,
        /// What the host can return in `updatedPermissions`: the narrowest rules for this call.
        permission_suggestions: Vec<PermissionUpdate>,
        /// The path that is outside the workspace; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked_path: Option<&'a str>,
        /// Why the call needs approval.
        decision_reason: &'a str,
        /// What the call does, in one line.
        description: &'a str,
        /// The id of the call.
        tool_use_id: &'a str,
        /// The agent that makes the call; absent for the session itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<&'a str>,
    },
    /// Run a hook of the host.
    HookCallback {
        /// The id from `initialize`.
        callback_id: &'a str,
        /// The event.
        input: &'a Value,
        /// The id of the call, at a tool's hook.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<&'a str>,
    },
    /// Pass a message to an MCP server in the host.
    McpMessage {
        /// The server.
        server_name: &'a str,
        /// The message, as the protocol of MCP has it.
        message: &'a Value,
    },
    /// Ask the user for an MCP server.
    Elicitation {
        /// The server.
        mcp_server_name: &'a str,
        /// The question.
        message: &'a str,
        /// `form` or `url`.
        mode: ElicitationMode,
        /// The address to open; absent for a form.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<&'a str>,
        /// The id of the question; absent for a form.
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<&'a str>,
        /// The schema of the form; absent for an address.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_schema: Option<&'a Value>,
    },
}

/// What an MCP server asks the user for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationMode {
    /// To fill in a form.
    Form,
    /// To open an address.
    Url,
}

/// A change of the permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PermissionUpdate {
    /// Adds rules.
    AddRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// The list to which they are added.
        behavior: AllowText,
        /// Where they are kept.
        destination: LocalSettings,
    },
    /// Sets the permission mode.
    SetMode {
        /// The mode.
        mode: AcceptEditsText,
        /// Where it is kept.
        destination: SessionText,
    },
}

tag!(AllowText, "allow");
tag!(LocalSettings, "localSettings");
tag!(AcceptEditsText, "acceptEdits");
tag!(SessionText, "session");

/// A rule, in two parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// What is between the parentheses; absent for a rule about every call of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// The answer to a request of the host.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlResponseLine<'a> {
    /// Names the type of the line.
    #[serde(rename = "type")]
    pub kind: ControlResponseTag,
    /// The answer.
    pub response: ControlResponse<'a>,
}

/// The answer to a request of the host.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum ControlResponse<'a> {
    /// It was done.
    Success {
        /// The id of the request.
        request_id: &'a str,
        /// What the request asked for.
        response: &'a Value,
    },
    /// It was not done.
    Error {
        /// The id of the request.
        request_id: &'a str,
        /// Why.
        error: &'a str,
        /// The same, for programs.
        error_code: ControlErrorCode,
    },
}

/// Why a request of the host was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlErrorCode {
    /// This program does not have what the request is about.
    UnsupportedRequest,
    /// The request is malformed.
    InvalidRequest,
    /// There is no such permission mode.
    InvalidMode,
    /// `bypassPermissions` must be allowed when the program starts.
    BypassNotLaunched,
    /// It failed.
    Failed,
}

/// A request to the host is withdrawn; the host need not answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlCancelLine<'a> {
    /// Names the type of the line.
    #[serde(rename = "type")]
    pub kind: ControlCancelTag,
    /// The id of the request.
    pub request_id: &'a str,
}
