//! A tool call as the policy sees it, and the names tools go by.

use robota_core::permission::Class;
use serde_json::Value;

/// One call to be judged.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments.
    pub input: &'a Value,
    /// What the tool says it does. For tools the policy knows, what the call *really* does is
    /// found from its arguments.
    pub class: Class,
}

/// The tool that types into a command that runs. What it types may be read by a shell.
pub(crate) const TYPED: &str = "BashInput";

impl<'a> ToolCall<'a> {
    pub(crate) fn script(&self) -> Option<&'a str> {
        let field = if self.tool == TYPED { "input" } else { "command" };
        self.input.get(field).and_then(Value::as_str)
    }
}

/// Tools that share rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Shell,
    /// Everything that changes a file. Writing can do whatever editing can, so they share.
    Edit,
    Read,
}

impl Family {
    pub(crate) fn of_tool(name: &str) -> Option<Self> {
        match name {
            "Bash" | "Shell" | "BackgroundProcess" | "ExecuteCommand" | TYPED => Some(Self::Shell),
            "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Some(Self::Edit),
            "Read" | "Grep" | "Glob" | "LS" | "NotebookRead" => Some(Self::Read),
            _ => None,
        }
    }

    /// The family a rule of this name binds; some tools have rules of their own.
    pub(crate) fn of_rule(name: &str) -> Option<Self> {
        match name {
            "Grep" | "Glob" | TYPED => None,
            other => Self::of_tool(other),
        }
    }
}

/// One name for what has two.
pub(crate) fn canonical(name: &str) -> &str {
    match name {
        "Task" => "Agent",
        "Shell" | "BackgroundProcess" | "ExecuteCommand" => "Bash",
        other => other,
    }
}

/// Fields that rules match by their meaning, never as a parameter.
pub(crate) const PRIMARY_FIELDS: &[&str] =
    &["command", "file_path", "filePath", "path", "notebook_path", "notebookPath", "url", "domain"];

/// Parameters of shell tools that a rule may name.
pub(crate) const SHELL_PARAMETERS: &[&str] = &[
    "run_in_background",
    "runInBackground",
    "timeout",
    "description",
    "dangerouslyDisableSandbox",
    "stdin",
];

pub(crate) const PATH_FIELDS: &[&str] =
    &["file_path", "filePath", "path", "notebook_path", "notebookPath"];

pub(crate) const CWD_FIELDS: &[&str] = &["workingDirectory", "working_directory", "cwd", "workdir"];

/// A scalar as rules compare it.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
