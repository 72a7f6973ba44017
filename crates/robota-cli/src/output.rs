//! Printing. Results go to standard output, everything else to standard error.

use std::io::Write as _;
use std::time::Duration;

use robota_core::event::{ModelRetry, TurnEnd};
use robota_core::ids::SessionId;
use robota_core::turn::TurnReport;
use serde_json::{Value, json};

use crate::Exit;

/// Prints a line to standard output. A closed pipe (`robota … | head`) is not an error.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Writes bytes to standard output unchanged.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Prints an error to standard error, with the program's name in front.
pub(crate) fn error(text: &str) {
    note(&format!("robota: {text}"));
}

/// Prints a line to standard error.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Reports that a model call failed and will be retried.
pub(crate) fn retry(retry: &ModelRetry) {
    let seconds = Duration::from_millis(retry.delay_ms).as_secs_f64();
    let message = retry.error.message.trim_end_matches('.');
    error(&format!("{message}. Retrying in {seconds:.1} s."));
}

/// Maps the end of a turn to the exit status.
pub(crate) fn exit(report: &TurnReport) -> Exit {
    match report.end {
        TurnEnd::Complete => Exit::Ok,
        TurnEnd::Interrupted => Exit::Interrupted,
        TurnEnd::RoundLimit
        | TurnEnd::UnknownTools
        | TurnEnd::ContextFull
        | TurnEnd::Blocked
        | TurnEnd::Stopped
        | TurnEnd::ProviderFailed
        | TurnEnd::StoreFailed => Exit::Failure,
    }
}

/// Prints a report as text: the answer to standard output, problems to standard error.
pub(crate) fn text(report: &TurnReport) {
    match &report.error {
        Some(cause) => {
            error(&cause.message);
            if let Some(hint) = &cause.hint {
                note(&format!("hint: {hint}"));
            }
        }
        None => {
            line(&report.text);
            if let Some(reason) = incomplete(report.end) {
                note(&format!("robota: {reason}"));
            }
        }
    }
}

/// Explains why a turn did not complete; none if it did.
fn incomplete(end: TurnEnd) -> Option<&'static str> {
    match end {
        TurnEnd::Complete => None,
        TurnEnd::RoundLimit => Some("stopped at --max-turns; the answer is a summary"),
        TurnEnd::UnknownTools => Some("the model kept making calls that cannot succeed"),
        TurnEnd::ContextFull => Some("the conversation exceeds the context window of the model"),
        TurnEnd::Blocked => Some("a hook blocked the prompt"),
        TurnEnd::Stopped => Some("a hook stopped the turn"),
        TurnEnd::Interrupted => Some("interrupted"),
        TurnEnd::ProviderFailed => Some("the model call failed"),
        TurnEnd::StoreFailed => Some("the journal could not be written"),
    }
}

/// Returns the report as one JSON object, for `--output-format json`.
pub(crate) fn json(report: &TurnReport, session: &SessionId) -> Value {
    json!({
        "type": "result",
        "subtype": match exit(report) {
            Exit::Ok => "success",
            Exit::Interrupted => "interrupted",
            Exit::Failure | Exit::Usage => "error",
        },
        "end": report.end,
        "is_error": exit(report) != Exit::Ok,
        "result": report.text,
        "session_id": session,
        "num_turns": report.rounds,
        "tools_executed": report.tools_executed,
        "usage": report.usage,
        "error": report.error,
    })
}

/// Returns the JSON object for a run that failed before its turn started.
pub(crate) fn failure(message: &str, hint: Option<&str>) -> Value {
    json!({
        "type": "result",
        "subtype": "error",
        "is_error": true,
        "result": "",
        "error": {"message": message, "hint": hint},
    })
}

#[cfg(test)]
mod tests;
