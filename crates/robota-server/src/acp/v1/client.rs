//! Requests to the client: approvals and forms.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::update::ToolCall;

/// Asks the user about a call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest<'a> {
    /// The session whose turn waits for the answer.
    pub session_id: &'a str,
    /// The call, with everything that the user needs to decide; the editor has seen its id before.
    pub tool_call: ToolCall,
    /// The answers to choose from, in the order in which they are shown.
    pub options: Vec<PermissionOption>,
}

/// An answer to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// What the response returns.
    pub option_id: &'static str,
    /// The text of the button.
    pub name: String,
    /// What kind of answer it is, for the icon and the shortcut of the client.
    pub kind: PermissionOptionKind,
}

/// The kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    /// Allow this call and no other.
    AllowOnce,
    /// Allow calls like this from now on. The name of the option says for how long.
    AllowAlways,
    /// Do not allow this call; the model may try another way.
    RejectOnce,
}

/// What the user answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionResponse {
    /// What the user chose.
    pub outcome: PermissionOutcome,
}

/// An answer of the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    /// The turn was cancelled before the user answered.
    Cancelled,
    /// One of the options.
    Selected {
        /// The `option_id` of the request.
        option_id: String,
    },
}

/// Asks the user to fill in a form.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FormRequest<'a> {
    /// Always `form`; the protocol reserves other modes.
    pub mode: &'static str,
    /// The session whose model or MCP server asks.
    pub session_id: &'a str,
    /// The question, which is shown above the fields.
    pub message: &'a str,
    /// A flat JSON Schema: one property per field.
    pub requested_schema: Value,
}

/// What the user filled in.
#[derive(Debug, Clone, Deserialize)]
pub struct FormResponse {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    /// The values of the fields, by name; only with `accept`.
    #[serde(default)]
    pub content: Option<serde_json::Map<String, Value>>,
}

/// Asks for the text of a file, saved or not.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadFileRequest<'a> {
    /// The session in whose folders the file is.
    pub session_id: &'a str,
    /// The absolute path of the file.
    pub path: &'a str,
}

/// The text of a file.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadFileResponse {
    /// The whole text, as it is in the editor.
    pub content: String,
}

/// Asks the client to write a file.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFileRequest<'a> {
    /// The session in whose folders the file is.
    pub session_id: &'a str,
    /// The absolute path of the file.
    pub path: &'a str,
    /// The whole new text.
    pub content: &'a str,
}

/// Asks the client to run a command in a terminal.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalRequest<'a> {
    /// The session whose call runs the command.
    pub session_id: &'a str,
    /// The program, which the client finds and starts.
    pub command: &'a str,
    /// The arguments, without the program itself.
    pub args: &'a [String],
    /// The working directory, as an absolute path.
    pub cwd: &'a str,
    /// How many bytes of the output the client keeps: those at the end.
    pub output_byte_limit: usize,
}

/// A terminal that was created.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalResponse {
    /// The id for all later requests about it; valid until it is released.
    pub terminal_id: String,
}

/// Names the terminal of the editor that a request is about.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRequest<'a> {
    /// The session that created the terminal.
    pub session_id: &'a str,
    /// The id that the creation returned.
    pub terminal_id: &'a str,
}

/// How the command of a terminal ended.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalExit {
    /// The exit code; none if a signal ended it.
    pub exit_code: Option<i64>,
    /// The name of the signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
}

/// What the command of a terminal printed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TerminalOutput {
    /// The end of the output.
    pub output: String,
    /// Whether the beginning was dropped, because the output was longer than the limit.
    pub truncated: bool,
}
