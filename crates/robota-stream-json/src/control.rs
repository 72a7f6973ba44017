//! The control lines that this program prints: requests to the host, and answers to its requests.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::tag::tag;

tag!(ControlRequestTag, "control_request");
tag!(ControlResponseTag, "control_response");
tag!(ControlCancelTag, "control_cancel_request");

/// A request of this program to the host, which must answer it unless a cancel line follows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlRequestLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: ControlRequestTag,
    /// The host answers with this id.
    pub request_id: &'a str,
    /// What is asked, with the fields of its subtype.
    pub request: HostRequest<'a>,
}

/// What this program asks the host and waits for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
// Hosts know these four. A question of the model is `can_use_tool` about the tool AskUserQuestion:
// the protocol has no request of its own for it.
pub enum HostRequest<'a> {
    /// The host decides whether this call may run.
    CanUseTool {
        /// The name that the model uses, with the prefix `mcp__SERVER__` for a tool of an MCP
        /// server.
        tool_name: &'a str,
        /// The name to show; today the same as `tool_name`.
        display_name: &'a str,
        /// The arguments of the call; an empty object if the model wrote no valid JSON.
        input: &'a Value,
        /// What the host can return in `updatedPermissions`: the narrowest rules for this call.
        permission_suggestions: Vec<PermissionSuggestion>,
        /// The path that is outside the workspace; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked_path: Option<&'a str>,
        /// Why the call is not allowed without a question, as a sentence for the user.
        decision_reason: &'a str,
        /// What the call does, in one line: the argument that describes it best, or empty.
        description: &'a str,
        /// The id of the `tool_use` block that the host saw before; empty for a question of the
        /// model.
        tool_use_id: &'a str,
        /// The agent that makes the call; absent for the session itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<&'a str>,
    },
    /// Run a hook of the host.
    HookCallback {
        /// The id that the host gave the hook in `initialize`.
        callback_id: &'a str,
        /// The event, with the fields that a hook command reads from its standard input.
        input: &'a Value,
        /// The `tool_use` block whose call the hook is about; absent at other events.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<&'a str>,
    },
    /// Pass a message to an MCP server in the host.
    McpMessage {
        /// The name under which the host declared the server in `initialize`.
        server_name: &'a str,
        /// A JSON-RPC message. The answer is another one, also for a notification, which needs an
        /// acknowledgement.
        message: &'a Value,
    },
    /// Ask the user for an MCP server.
    Elicitation {
        /// The name of the server in the configuration, so that the user knows who asks.
        mcp_server_name: &'a str,
        /// The question, as the server wrote it.
        message: &'a str,
        /// Which of the fields below are there.
        mode: ElicitationMode,
        /// The address to open; absent for a form.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<&'a str>,
        /// Identifies the question to the server; absent for a form, and if the server gave none.
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
    /// The answer has values for `requested_schema`.
    Form,
    /// The user opens the address; what they do there does not pass through this program.
    Url,
}

/// A change of the permissions that makes further questions like this one unnecessary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
// Only the changes that this program suggests. A host may return others, so its answer is read by a
// type of the core.
pub enum PermissionSuggestion {
    /// Adds rules to a list.
    AddRules {
        /// The narrowest rules that allow the call; one call can need several.
        rules: Vec<RuleValue>,
        /// The list to which they are added; a suggestion never denies.
        behavior: AllowText,
        /// Where they are kept: the settings of this project that are not shared.
        destination: LocalSettings,
    },
    /// Sets the permission mode of the session.
    SetMode {
        /// The mode; only edits are suggested, because a wider mode must be the user's own idea.
        mode: AcceptEditsText,
        /// Where it is kept: until the session ends.
        destination: SessionText,
    },
}

tag!(AllowText, "allow");
tag!(LocalSettings, "localSettings");
tag!(AcceptEditsText, "acceptEdits");
tag!(SessionText, "session");

/// A permission rule, split at the parentheses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool that the rule is about: the part before the parentheses.
    pub tool_name: String,
    /// What is between the parentheses; absent for a rule about every call of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// The answer to a request of the host.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlResponseLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: ControlResponseTag,
    /// The answer, with the id of the request.
    pub response: ControlResponse<'a>,
}

/// The answer to a request of the host.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
// The id is part of `response`, not a key of the line as in a request: hosts read it there.
pub enum ControlResponse<'a> {
    /// This program did what the host asked.
    Success {
        /// The `request_id` that the host chose; it can have several requests open.
        request_id: &'a str,
        /// The object that the request asked for; empty if it only changed something.
        response: &'a Value,
    },
    /// This program did not do what the host asked.
    Error {
        /// The `request_id` that the host chose; it can have several requests open.
        request_id: &'a str,
        /// Why it was not done, for the user of the host.
        error: &'a str,
        /// The kind of the error, for programs: the texts can change, the codes do not.
        error_code: ControlErrorCode,
    },
}

/// Why a request of the host was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// Hosts know `unsupported_request`, `invalid_mode` and `bypass_not_launched`. The other two are of
// this program, for failures that the protocol has no code for.
pub enum ControlErrorCode {
    /// This program does not have what the request is about.
    UnsupportedRequest,
    /// The request is malformed, or a value in it is not valid.
    InvalidRequest,
    /// There is no such permission mode.
    InvalidMode,
    /// `bypassPermissions` must be allowed when the program starts.
    BypassNotLaunched,
    /// The request was understood and could not be done; `error` has the cause.
    Failed,
}

/// A request to the host is withdrawn; the host need not answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlCancelLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: ControlCancelTag,
    /// The id of the `control_request` line that is withdrawn.
    pub request_id: &'a str,
}
