//! A tool call, prepared for display.

use robota_core::ids::CallId;
use robota_core::message::ToolUse;
use robota_core::tool::{DidRun, ToolOutcome};
use robota_tools::Bash;
use serde::Serialize;
use serde_json::Value;

/// The arguments that say best what a call is about, in this order.
const MAIN_ARGUMENTS: [&str; 10] = [
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "url",
    "query",
    "skill",
    "prompt",
    "description",
];

/// How a call ended.
///
/// ```
/// use robota_sdk::ToolEnd;
///
/// assert_ne!(ToolEnd::Error, ToolEnd::Denied);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEnd {
    /// The call ran, and its tool reported success.
    Success,
    /// The call failed, or did not run for another reason than a denial.
    Error,
    /// The call was denied and did not run.
    Denied,
}

/// Describes a tool call for display.
///
/// ```
/// use robota_sdk::ToolState;
///
/// fn line(tool: &ToolState) -> String {
///     format!("{}({})", tool.tool, tool.first_argument)
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolState {
    /// The id of the call, which all events about it have.
    pub call: CallId,
    /// The name of the tool, as the model calls it.
    #[serde(rename = "toolName")]
    pub tool: String,
    /// The argument that says best what the call is about, such as the file or the command.
    #[serde(rename = "firstArg")]
    pub first_argument: String,
    /// Whether the call runs.
    #[serde(rename = "isRunning")]
    pub running: bool,
    /// After which time a command is ended, in milliseconds; none for other calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
    /// How the call ended; none while it runs.
    #[serde(rename = "result", skip_serializing_if = "Option::is_none")]
    pub end: Option<ToolEnd>,
    /// The changed lines, for a call that changed a file.
    #[serde(rename = "diffLines", skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<DiffLine>,
    /// The file that the changed lines belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_file: Option<String>,
    /// The exit code, for a call that ran a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The background tasks in which the work of the call continues after its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background_tasks: Vec<String>,
    /// The text that the model received; none while the call runs.
    #[serde(rename = "toolResultData", skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl ToolState {
    /// Creates the state of a call that runs, with the argument that says what it is about.
    pub fn new(call: CallId, tool: impl Into<String>, first_argument: impl Into<String>) -> Self {
        Self {
            call,
            tool: tool.into(),
            first_argument: first_argument.into(),
            running: true,
            time_limit_ms: None,
            end: None,
            diff: Vec::new(),
            diff_file: None,
            exit_code: None,
            background_tasks: Vec::new(),
            output: None,
        }
    }

    /// Returns the state of a call that the model asked for.
    #[must_use]
    pub fn of(call: &ToolUse) -> Self {
        Self::started(call, None)
    }

    /// Returns the state of a call that starts, with the arguments that it runs with.
    pub(super) fn started(call: &ToolUse, input: Option<&Value>) -> Self {
        let input = input.or_else(|| call.input.json());
        let limit = input.filter(|_| call.name == Bash::NAME).and_then(Bash::time_limit);
        let time_limit_ms = limit.and_then(|limit| u64::try_from(limit.as_millis()).ok());
        let state = Self::new(call.call.clone(), &*call.name, first_argument(input));
        Self { time_limit_ms, ..state }
    }

    /// Returns the state of the call after it ended.
    pub(super) fn ended(self, outcome: &ToolOutcome) -> Self {
        let denied = outcome.ran == DidRun::No
            && matches!(outcome.error_code.as_deref(), Some("denied" | "blocked_by_hook"));
        let end = match (outcome.ok, denied) {
            (true, _) => ToolEnd::Success,
            (false, true) => ToolEnd::Denied,
            (false, false) => ToolEnd::Error,
        };
        let text = |key| outcome.metadata.get(key).and_then(Value::as_str);
        let diff = text("diff").map(diff_lines).unwrap_or_default();
        // Tools report the path also for calls that changed nothing.
        let diff_file = text("file_path").filter(|_| !diff.is_empty()).map(str::to_owned);
        Self {
            running: false,
            end: Some(end),
            diff,
            diff_file,
            exit_code: outcome.metadata.get("exit_code").and_then(Value::as_i64),
            background_tasks: background_tasks(&self.tool, outcome),
            output: Some(outcome.text()),
            ..self
        }
    }
}

/// Returns the tasks that a call left running: a command, or agents.
fn background_tasks(tool: &str, outcome: &ToolOutcome) -> Vec<String> {
    let value = |key| outcome.metadata.get(key);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if tool == Bash::NAME {
        // A command has an id only if it runs in the background, whether the model or the user put
        // it there.
        return value("bash_id").and_then(text).into_iter().collect();
    }
    if value("background").and_then(Value::as_bool) != Some(true) {
        return Vec::new();
    }
    let several = value("agent_ids").and_then(Value::as_array);
    let several = several.into_iter().flatten().filter_map(text);
    value("agent_id").and_then(text).into_iter().chain(several).collect()
}

fn first_argument(input: Option<&Value>) -> String {
    let Some(Value::Object(input)) = input else { return String::new() };
    let main = MAIN_ARGUMENTS.iter().find_map(|name| input.get(*name)?.as_str());
    let first = || input.values().find_map(Value::as_str);
    main.or_else(first).unwrap_or_default().to_owned()
}

/// Holds a line of a diff.
///
/// ```
/// use robota_sdk::DiffLine;
///
/// fn added(lines: &[DiffLine]) -> usize {
///     lines.iter().filter(|line| matches!(line, DiffLine::Add { .. })).count()
/// }
/// assert_eq!(added(&[]), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DiffLine {
    /// The start of a group of changes.
    Hunk {
        /// The position of the group, such as `-3,4 +3,5`.
        text: String,
    },
    /// A line that did not change.
    Context {
        /// Its number in the new file.
        line: u32,
        /// The line without the mark at its start.
        text: String,
    },
    /// A line that only the new file has.
    Add {
        /// Its number in the new file.
        line: u32,
        /// The line without the mark at its start.
        text: String,
    },
    /// A line that only the old file has.
    Remove {
        /// Its number in the old file.
        line: u32,
        /// The line without the mark at its start.
        text: String,
    },
}

/// Parses a unified diff. Lines outside of its hunks are left out.
#[must_use]
pub fn diff_lines(unified: &str) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let mut position: Option<(u32, u32)> = None;
    for line in unified.lines() {
        if let Some(start) = hunk_start(line) {
            position = Some(start);
            let text = line.trim_start_matches("@@ ").trim_end_matches(" @@").to_owned();
            lines.push(DiffLine::Hunk { text });
            continue;
        }
        let Some((old, new)) = &mut position else { continue };
        let text = line.get(1..).unwrap_or_default().to_owned();
        match line.as_bytes().first() {
            Some(b'+') => {
                lines.push(DiffLine::Add { line: *new, text });
                *new += 1;
            }
            Some(b'-') => {
                lines.push(DiffLine::Remove { line: *old, text });
                *old += 1;
            }
            // An empty line is a line of context whose space was removed.
            Some(b' ') | None => {
                lines.push(DiffLine::Context { line: *new, text });
                (*old, *new) = (*old + 1, *new + 1);
            }
            // The note that the file has no newline at its end.
            Some(_) => {}
        }
    }
    lines
}

/// Returns the first line numbers of a hunk, from its header `@@ -3,4 +3,5 @@`.
fn hunk_start(line: &str) -> Option<(u32, u32)> {
    let inner = line.strip_prefix("@@ -")?;
    let (old, rest) = inner.split_once(" +")?;
    let number = |text: &str| text.split([',', ' ']).next()?.parse().ok();
    Some((number(old)?, number(rest)?))
}

#[cfg(test)]
mod tests;
