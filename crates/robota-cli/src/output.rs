//! Printing: the answer goes to standard output, everything else to standard error.

use std::io::Write as _;
use std::time::Duration;

use robota_core::event::{ModelRetry, TurnEnd};
use robota_core::ids::SessionId;
use robota_core::turn::TurnReport;
use serde_json::{Value, json};

use crate::Exit;

/// Prints a line. A reader that is gone (`robota … | head`) is not an error.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Prints bytes as they are.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Tells the user what is wrong.
pub(crate) fn complain(text: &str) {
    note(&format!("robota: {text}"));
}

/// Tells the user something that is not the answer.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Tells the user why there is no answer yet.
pub(crate) fn retry(retry: &ModelRetry) {
    let seconds = Duration::from_millis(retry.delay_ms).as_secs_f64();
    let message = retry.error.message.trim_end_matches('.');
    complain(&format!("{message}. Trying again in {seconds:.1} s."));
}

/// What the end of a turn is to scripts.
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

/// The report as text: the answer for programs, what went wrong for people.
pub(crate) fn text(report: &TurnReport) {
    match &report.error {
        Some(error) => {
            complain(&error.message);
            if let Some(hint) = &error.hint {
                note(&format!("hint: {hint}"));
            }
        }
        None => {
            line(&report.text);
            if let Some(reason) = shortfall(report.end) {
                note(&format!("robota: {reason}"));
            }
        }
    }
}

fn shortfall(end: TurnEnd) -> Option<&'static str> {
    match end {
        TurnEnd::Complete => None,
        TurnEnd::RoundLimit => Some("stopped at --max-turns; the answer is a summary"),
        TurnEnd::UnknownTools => Some("the model kept asking for tools that do not exist"),
        TurnEnd::ContextFull => Some("the conversation does not fit into the context window"),
        TurnEnd::Blocked => Some("a hook refused the prompt"),
        TurnEnd::Stopped => Some("a hook ended the turn"),
        TurnEnd::Interrupted => Some("interrupted"),
        TurnEnd::ProviderFailed => Some("the model could not answer"),
        TurnEnd::StoreFailed => Some("the journal could not be written"),
    }
}

/// The report as one JSON object.
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

/// A run that did not begin, as the same object.
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
