//! Describes a tool call for the policy, and maps the names of tools to the families that share
//! rules.

use robota_core::permission::Class;
use serde_json::Value;

/// Describes one tool call as the policy judges it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The name of the tool, which may be one of several names of a family.
    pub tool: &'a str,
    /// The arguments as JSON; the fields that rules know are read by their names.
    pub input: &'a Value,
    /// The class that the tool declares. For tools that the policy knows, the class is derived from
    /// the arguments of the call.
    pub class: Class,
}

/// The tool that writes to the standard input of a running command. A shell may read and run that
/// input.
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
    /// Everything that changes a file. Writing can do everything that editing can, so they share
    /// rules.
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

    /// Returns the family of tools that a rule with this name applies to; `None` for tools that
    /// have rules of their own.
    pub(crate) fn of_rule(name: &str) -> Option<Self> {
        match name {
            // A rule for one of these tools is for that tool alone; a rule for Read applies to all
            // that read.
            "Grep" | "Glob" | TYPED => None,
            other => Self::of_tool(other),
        }
    }
}

/// Returns the usual name of a tool that has two names.
pub(crate) fn canonical(name: &str) -> &str {
    match name {
        "Task" => "Agent",
        "Shell" | "BackgroundProcess" | "ExecuteCommand" => "Bash",
        other => other,
    }
}

/// Returns whether a tool only reads or ends the commands that shell tools have started, so that it has
/// nothing to do without them.
pub(crate) fn needs_shell(tool: &str) -> bool {
    matches!(tool, "BashOutput" | "KillShell")
}

/// Returns whether a rule with the name of a tool is about another tool: tools with the same effect
/// share rules.
pub(crate) fn shares_rules(rule: &str, tool: &str) -> bool {
    match Family::of_rule(rule) {
        Some(family) => Family::of_tool(tool) == Some(family),
        None => canonical(rule) == canonical(tool),
    }
}

/// Returns whether a deny rule that consists of the name of a tool removes another tool. Tools with
/// the same effect share rules: `Write` is about `Edit` and `MultiEdit`, too. Without `Bash` there is
/// nothing for `BashOutput` and `KillShell` to read or end.
///
/// ```
/// use robota_policy::name_denies;
///
/// assert!(name_denies("Write", "MultiEdit"));
/// assert!(!name_denies("Write", "Read"));
/// assert!(name_denies("Bash", "KillShell"));
/// assert!(!name_denies("KillShell", "Bash"));
/// ```
#[must_use]
pub fn name_denies(rule: &str, tool: &str) -> bool {
    shares_rules(rule, tool) || (needs_shell(tool) && shares_rules(rule, "Bash"))
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

/// Returns a scalar as the text that rules are compared with.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
