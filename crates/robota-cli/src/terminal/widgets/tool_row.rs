//! A tool call: a verb that says how far it is, what it is about, and its output or changes.

use std::time::Duration;

use robota_sdk::ToolEnd;

use crate::terminal::conversation::{RowState, ToolRow};
use crate::terminal::diff;
use crate::terminal::event::clock_text;
use crate::terminal::text::{Line, Role, truncate, width};

/// How many rows of its output a call shows.
// The last ones: the first ones would look like a command that hangs.
const TAIL: usize = 4;
/// How many rows an expanded call shows.
const EXPANDED: usize = 500;

/// The tool that ends plan mode.
const PLAN: &str = "ExitPlanMode";

/// The verbs for a tool: before, during and after the call.
struct Verbs(&'static str, &'static str, &'static str);

fn verbs(tool: &str) -> Verbs {
    match tool {
        "Read" => Verbs("read", "Reading", "Read"),
        "Write" => Verbs("write", "Writing", "Wrote"),
        "Edit" | "MultiEdit" | "NotebookEdit" => Verbs("edit", "Editing", "Edited"),
        "Bash" => Verbs("run", "Running", "Ran"),
        "Glob" => Verbs("find", "Finding", "Found"),
        "Grep" => Verbs("search", "Searching", "Searched"),
        "WebFetch" => Verbs("fetch", "Fetching", "Fetched"),
        "WebSearch" => Verbs("search the web for", "Searching the web for", "Searched the web for"),
        PLAN => Verbs("carry out", "Approving", "Approved"),
        _ => Verbs("use", "Using", "Used"),
    }
}

/// Returns what a call that asks is about: `Wants to edit src/app.py`.
pub(crate) fn wants(tool: &str, argument: &str) -> String {
    let Verbs(verb, ..) = verbs(tool);
    format!("Wants to {verb} {}", object(tool, argument))
}

/// Returns the text of the status line for a call that runs.
pub(crate) fn running_words(row: &ToolRow) -> String {
    let Verbs(_, verb, _) = verbs(&row.tool);
    let object = object(&row.tool, &row.argument);
    let short = truncate(&Line::new(object, Role::Text), 24).plain();
    format!("{} {short}", verb.to_lowercase())
}

/// Returns the first line of what the call is about, with the name of a tool that has no verb.
fn object(tool: &str, argument: &str) -> String {
    if tool == PLAN {
        return "the plan".to_owned();
    }
    let mut lines = argument.lines();
    let first = lines.next().unwrap_or_default();
    let first = if lines.next().is_some() { format!("{first} …") } else { first.to_owned() };
    match (verbs(tool).0, first.is_empty()) {
        ("use", true) => tool.to_owned(),
        ("use", false) => format!("{tool} {first}"),
        _ => first,
    }
}

/// Returns the sign of a call, its colour, and the verb of its state.
fn state_words(row: &ToolRow) -> (&'static str, Role, String) {
    let Verbs(want, running, done) = verbs(&row.tool);
    let code = row.details.exit_code.filter(|code| *code != 0);
    match (row.state, code) {
        // It waits for its turn, or for calls before it.
        (RowState::Asking, _) if row.approved.is_some() => {
            ("•", Role::Accent, format!("Allowed to {want}"))
        }
        (RowState::Asking, _) => ("?", Role::Warn, format!("Wants to {want}")),
        (RowState::Running, _) => ("•", Role::Accent, running.to_owned()),
        (RowState::Stopped, _) => ("✗", Role::Warn, "Stopped".to_owned()),
        (RowState::Ended(ToolEnd::Denied), _) => ("✗", Role::Warn, "Refused".to_owned()),
        // In the text and not by the colour alone, which some users do not see.
        (RowState::Ended(_), Some(code)) => ("✗", Role::Bad, format!("Failed ({code})")),
        (RowState::Ended(ToolEnd::Error), None) => ("✗", Role::Bad, "Failed".to_owned()),
        (RowState::Ended(ToolEnd::Success), None) => {
            let tasks = row.details.background_tasks.join(", ");
            let verb = if tasks.is_empty() {
                done.to_owned()
            } else {
                format!("In the background as {tasks}:")
            };
            ("✓", Role::Good, verb)
        }
    }
}

/// Returns what a call did, in words.
pub(crate) fn words(row: &ToolRow) -> String {
    let (_, _, verb) = state_words(row);
    format!("{verb} {}", object(&row.tool, &row.argument))
}

/// Renders a call. `now` is the time for a call that runs.
pub(crate) fn append(
    row: &ToolRow,
    columns: usize,
    now: Duration,
    expanded: bool,
    out: &mut Vec<Line>,
) {
    let (sign, role, verb) = state_words(row);
    let mut line = Line::new(format!("{sign} "), role).with(verb, role);
    line.push(" ", Role::Text);
    line.push(object(&row.tool, &row.argument), Role::Text);
    let (added, removed) = diff::counts(&row.details.diff);
    if added + removed > 0 {
        line.push(format!("  +{added}"), Role::Added);
        line.push(format!(" -{removed}"), Role::Removed);
    }
    let time = match (row.state, row.took) {
        (RowState::Running, _) => {
            let elapsed = clock_text(now.saturating_sub(row.started));
            match row.details.time_limit_ms.map(Duration::from_millis) {
                Some(limit) => format!("{elapsed} of {}", clock_text(limit)),
                None => elapsed,
            }
        }
        (_, Some(took)) if !row.is_open() => seconds(took),
        _ => String::new(),
    };
    out.push(with_right(&line, &time, columns));
    if let Some(how) = &row.approved {
        out.push(truncate(&Line::new(format!("  {how}"), Role::Dim), columns));
    }
    details(row, columns, expanded, out);
}

/// Renders the changes, the output or the failure.
fn details(row: &ToolRow, columns: usize, expanded: bool, out: &mut Vec<Line>) {
    if row.state == RowState::Asking {
        return;
    }
    if !row.details.diff.is_empty() {
        let lines = diff::render(
            &row.details.diff,
            row.details.diff_file.as_deref(),
            columns.saturating_sub(2),
        );
        out.extend(lines.into_iter().map(indented));
        return;
    }
    let failed = matches!(row.state, RowState::Ended(ToolEnd::Error | ToolEnd::Denied));
    let shows = matches!(row.tool.as_str(), "Bash" | "BashOutput") || failed || expanded;
    let limit = if expanded { EXPANDED } else { TAIL };
    if !shows {
        return;
    }
    let (hidden, lines) = row.output.last(limit);
    if hidden > 0 {
        let key = if expanded { "" } else { " (Ctrl+O)" };
        let lines = if hidden == 1 { "line" } else { "lines" };
        out.push(Line::new(format!("  … +{hidden} {lines}{key}"), Role::Dim));
    }
    for line in lines {
        out.push(truncate(&indented(line), columns));
    }
}

fn indented(line: Line) -> Line {
    let mut shown = Line::new("  ", Role::Text);
    shown.extend(line);
    shown
}

/// Returns the line with a text at the right edge, if there is room for it.
pub(crate) fn with_right(line: &Line, right: &str, columns: usize) -> Line {
    if right.is_empty() {
        return truncate(line, columns);
    }
    let line = truncate(line, columns.saturating_sub(width(right) + 1));
    line.pad(columns - width(right), Role::Text).with(right, Role::Dim)
}

fn seconds(took: Duration) -> String {
    match took.as_secs() {
        0..=59 => format!("{:.1}s", took.as_secs_f64()),
        _ => clock_text(took),
    }
}
