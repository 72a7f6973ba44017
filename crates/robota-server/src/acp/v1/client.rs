//! Requests to the client: approvals and forms.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::update::ToolCall;

/// Asks the user about a call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The call.
    pub tool_call: ToolCall,
    /// The answers to choose from.
    pub options: Vec<PermissionOption>,
}

/// An answer to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// Its id.
    pub option_id: &'static str,
    /// Its text.
    pub name: String,
    /// What kind of answer it is.
    pub kind: PermissionOptionKind,
}

/// The kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    /// Allow this call.
    AllowOnce,
    /// Allow calls like this.
    AllowAlways,
    /// Do not allow this call.
    RejectOnce,
}

/// What the user answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionResponse {
    /// The answer.
    pub outcome: PermissionOutcome,
}

/// An answer of the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    /// The turn was cancelled.
    Cancelled,
    /// One of the options.
    Selected {
        /// Its id.
        option_id: String,
    },
}

/// Asks the user to fill in a form.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FormRequest<'a> {
    /// Always `form`.
    pub mode: &'static str,
    /// The session.
    pub session_id: &'a str,
    /// The question.
    pub message: &'a str,
    /// The fields.
    pub requested_schema: Value,
}

/// What the user filled in.
#[derive(Debug, Clone, Deserialize)]
pub struct FormResponse {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    /// The values of the fields.
    #[serde(default)]
    pub content: Option<serde_json::Map<String, Value>>,
}

/// Asks for the text of a file, saved or not.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadFileRequest<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The file.
    pub path: &'a str,
}

/// The text of a file.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadFileResponse {
    /// The text.
    pub content: String,
}

/// Asks the client to write a file.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFileRequest<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The file.
    pub path: &'a str,
    /// The text.
    pub content: &'a str,
}

/// Asks the client to run a command in a terminal.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalRequest<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The program.
    pub command: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// The directory.
    pub cwd: &'a str,
    /// How many bytes of the output are kept.
    pub output_byte_limit: usize,
}

/// A terminal that was created.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalResponse {
    /// Its id.
    pub terminal_id: String,
}

/// Names the terminal of the editor that a request is about.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRequest<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The terminal.
    pub terminal_id: &'a str,
}

/// How the command of a terminal ended.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalExit {
    /// The exit code.
    pub exit_code: Option<i64>,
    /// The signal.
    pub signal: Option<String>,
}

/// What the command of a terminal printed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TerminalOutput {
    /// The end of the output.
    pub output: String,
    /// Whether it was longer.
    pub truncated: bool,
}
