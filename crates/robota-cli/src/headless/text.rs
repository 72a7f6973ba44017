//! The output of a run in the format `text`.

use robota_core::event::TurnEnd;

use super::result::Outcome;
use super::turn_record::TurnRecord;
use crate::{Exit, output};

/// Prints the answer to standard output, and problems to standard error.
pub(crate) fn print_text(record: &TurnRecord, outcome: &Outcome) {
    match &record.error {
        Some(cause) => {
            output::error(&cause.message);
            if let Some(hint) = &cause.hint {
                output::note(&format!("hint: {hint}"));
            }
        }
        None => {
            // A hook that stops a turn leaves what was said before, which may be nothing.
            let stopped = record.end == Some(TurnEnd::Stopped)
                && record.budget.is_none()
                && record.structured.is_none();
            // That of the outcome, because a structured answer is there.
            let text =
                if outcome.is_error || stopped { &record.answer.text } else { &outcome.text };
            if !(stopped && text.is_empty()) {
                // Without the last line break, because one is printed.
                output::answer(text.strip_suffix('\n').unwrap_or(text));
            }
            if let Some(problem) = problem(record, outcome) {
                output::error(&problem);
            }
        }
    }
}

/// Explains why a turn did not complete; none if it did.
fn problem(record: &TurnRecord, outcome: &Outcome) -> Option<String> {
    match record.end {
        _ if outcome.exit == Exit::Ok => None,
        Some(TurnEnd::Complete) => match outcome.stop.as_deref() {
            Some("max_tokens") => {
                Some("the answer was cut: the model reached its output limit".into())
            }
            stop => Some(format!("the model stopped: {}", stop.unwrap_or("no reason"))),
        },
        Some(TurnEnd::RoundLimit) => Some(format!("stopped at --max-turns {}", record.max_rounds)),
        Some(TurnEnd::ContextFull) => {
            Some("the conversation exceeds the context window of the model".to_owned())
        }
        Some(TurnEnd::Blocked) => Some(format!(
            "a hook blocked the prompt: {}",
            record.blocked.clone().unwrap_or_default()
        )),
        Some(TurnEnd::Stopped) if record.budget.is_none() => Some(format!(
            "a hook stopped the turn: {}",
            record.stopped.as_deref().unwrap_or("it gave no reason")
        )),
        Some(TurnEnd::Interrupted) | None => Some("interrupted".to_owned()),
        Some(
            TurnEnd::Stopped
            | TurnEnd::UnknownTools
            | TurnEnd::ProviderFailed
            | TurnEnd::StoreFailed,
        ) => Some(outcome.text.clone()),
    }
}
