//! The end of a turn: what it means for the host, for the user and for the exit code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use robota_core::error::ErrorData;
use robota_core::event::TurnEnd;
use robota_core::message::ToolUse;
use robota_core::provider::{AnswerEnd, StopReason};
use serde_json::{Map, Value};

use super::meter::{Meter, cost, token_usage};
use super::structured::MAX_INVALID;
use super::turn_record::TurnRecord;
use super::writer::LineWriter;
use crate::Exit;
use robota_stream_json::TokenUsage;
use robota_stream_json::{Denial, ModelUsage, ResultLine, ResultSubtype, TerminalReason};

/// What the end of a turn means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    /// The subtype of the result.
    pub(crate) subtype: ResultSubtype,
    /// Whether the turn failed.
    pub(crate) is_error: bool,
    /// What ended it.
    pub(crate) reason: TerminalReason,
    /// The answer, or the text of a failed model call; with an error subtype the error.
    pub(crate) text: String,
    /// Why the model stopped its last answer; none if that does not matter.
    pub(crate) stop: Option<String>,
    /// The number of model calls, as hosts count them.
    pub(crate) turns: u32,
    /// The exit status of a run with one prompt.
    pub(crate) exit: Exit,
}

/// Decides what the end of a turn means. A new end of a turn or a new stop reason is given its
/// meaning here, and nowhere else.
pub(crate) fn classify(record: &TurnRecord) -> Outcome {
    let done = Outcome {
        subtype: ResultSubtype::Success,
        is_error: false,
        reason: TerminalReason::Completed,
        text: record.answer.text.clone(),
        stop: record.stop.as_ref().map(stop_name),
        turns: record.rounds,
        exit: Exit::Ok,
    };
    let failed = |subtype, reason, text: String, exit| Outcome {
        subtype,
        is_error: true,
        reason,
        text,
        exit,
        ..done.clone()
    };
    // First, because our own hook stops the turn after a structured answer: it looks like one that
    // a hook of the user stopped. The same is true of the next two.
    if let Some(value) = &record.structured {
        return Outcome { text: value.to_string(), ..done };
    }
    if record.structured_exhausted {
        let text =
            format!("Failed to provide valid structured output after {MAX_INVALID} attempts");
        let subtype = ResultSubtype::ErrorMaxStructuredOutputRetries;
        return failed(
            subtype,
            TerminalReason::StructuredOutputRetryExhausted,
            text,
            Exit::Failure,
        );
    }
    if let Some(text) = record.budget.clone() {
        let subtype = ResultSubtype::ErrorMaxBudgetUsd;
        return failed(subtype, TerminalReason::BudgetExhausted, text, Exit::Limit);
    }
    let during = ResultSubtype::ErrorDuringExecution;
    let message = record.error.as_ref().map_or("", |error| &error.message);
    match record.end {
        // A command that failed: no model was called.
        Some(TurnEnd::Complete) if record.error.is_some() => {
            let hint = record.error.as_ref().and_then(|error| error.hint.as_ref());
            let text = match hint {
                Some(hint) => format!("{message} ({hint})"),
                None => message.to_owned(),
            };
            Outcome { is_error: true, text, exit: Exit::Failure, ..done }
        }
        Some(TurnEnd::Complete) => {
            match record.stop.as_ref().map_or(AnswerEnd::Whole, StopReason::answer) {
                // An error, because a script must not take a part of an answer for the whole.
                AnswerEnd::Cut => Outcome {
                    is_error: true,
                    reason: TerminalReason::MaxOutputTokens,
                    exit: Exit::Limit,
                    ..done
                },
                AnswerEnd::Refused | AnswerEnd::Filtered => {
                    Outcome { is_error: true, exit: Exit::Failure, ..done }
                }
                AnswerEnd::Whole | AnswerEnd::Paused => done,
            }
        }
        Some(TurnEnd::RoundLimit) => Outcome {
            // Hosts expect that the call counts that was not made.
            turns: record.rounds + 1,
            ..failed(
                ResultSubtype::ErrorMaxTurns,
                TerminalReason::MaxTurns,
                // The words of Claude Code, which scripts search for.
                format!("Reached maximum number of turns ({})", record.max_rounds),
                Exit::Limit,
            )
        },
        Some(TurnEnd::UnknownTools) => {
            let text = "the model kept making calls that cannot succeed".to_owned();
            failed(during, TerminalReason::Completed, text, Exit::Failure)
        }
        Some(TurnEnd::ContextFull) => Outcome {
            is_error: true,
            reason: TerminalReason::PromptTooLong,
            exit: Exit::Failure,
            ..done
        },
        // No error for hosts, which expect a success without a turn. Scripts see the exit code.
        Some(TurnEnd::Blocked) => Outcome {
            text: record.blocked.clone().unwrap_or_default(),
            turns: 0,
            exit: Exit::Failure,
            ..done
        },
        Some(TurnEnd::Stopped) => Outcome {
            // Hosts expect an empty result, whatever the model has said before.
            text: String::new(),
            reason: TerminalReason::HookStopped,
            exit: Exit::Failure,
            ..done
        },
        Some(TurnEnd::Interrupted) | None => {
            let reason = if record.aborted_in_tools {
                TerminalReason::AbortedTools
            } else {
                TerminalReason::AbortedStreaming
            };
            let text = "Request interrupted by user".to_owned();
            // Hosts expect no stop reason here, also if an earlier answer of the turn had one.
            Outcome { stop: None, ..failed(during, reason, text, Exit::Interrupted) }
        }
        // The subtype stays that of a success: hosts know a failed model call by `is_error` alone.
        Some(TurnEnd::ProviderFailed) => Outcome {
            is_error: true,
            reason: TerminalReason::ApiError,
            text: record.error.as_ref().map(api_error_text).unwrap_or_default(),
            // The stop reason of the message that reports the failure.
            stop: Some("stop_sequence".to_owned()),
            exit: Exit::Failure,
            ..done
        },
        Some(TurnEnd::StoreFailed) => {
            let text =
                if message.is_empty() { "the journal could not be written" } else { message };
            failed(during, TerminalReason::ApiError, text.to_owned(), Exit::Failure)
        }
    }
}

/// Returns the text about a failed model call.
pub(crate) fn api_error_text(error: &ErrorData) -> String {
    match error.http_status {
        Some(status) => format!("API Error: {status} {}", error.message),
        None => format!("API Error: {}", error.message),
    }
}

/// Returns the name of a stop reason in the protocol.
pub(crate) fn stop_name(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::WindowFull => "model_context_window_exceeded",
        StopReason::Filtered => "content_filter",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Refusal => "refusal",
        StopReason::Pause => "pause_turn",
        StopReason::Other(other) => other,
    }
    .to_owned()
}

/// Makes the result line and passes it to `print`.
pub(crate) fn with_line<T>(
    record: &TurnRecord,
    outcome: &Outcome,
    meter: &Meter,
    writer: &LineWriter,
    (result_index, queued_turn_count): (u32, u32),
    print: impl FnOnce(&ResultLine<'_>) -> T,
) -> T {
    let models = meter.models();
    // Once per line: the next line counts from here on.
    let new_models = meter.take_new_models();
    meter.add_turn_ms(record.duration_ms());
    let success = outcome.subtype == ResultSubtype::Success;
    print(&ResultLine {
        kind: Default::default(),
        subtype: outcome.subtype,
        is_error: outcome.is_error,
        api_error_status: success
            .then(|| record.error.as_ref().and_then(|error| error.http_status)),
        duration_ms: record.duration_ms(),
        duration_api_ms: record.api_ms,
        ttft_ms: record.ttft_ms(),
        ttft_stream_ms: record.ttft_ms(),
        time_to_request_ms: record.time_to_request_ms(),
        num_turns: outcome.turns,
        result: success.then_some(outcome.text.as_str()),
        errors: (!success).then(|| vec![Cow::Borrowed(outcome.text.as_str())]),
        stop_reason: outcome.stop.as_deref(),
        session_id: writer.session(),
        total_cost_usd: cost(&models),
        usage: token_usage(record.usage),
        model_usage: models.iter().map(|(name, usage)| (name.as_str(), *usage)).collect(),
        model_usage_since_last_result: new_models
            .iter()
            .map(|(name, usage)| (name.as_str(), *usage))
            .collect(),
        permission_denials: record.denials.iter().map(|(call, _)| denial(call)).collect(),
        structured_output: record.structured.as_ref(),
        user_message_uuid: record.user_messages.last().map(String::as_str),
        user_message_uuids: &record.user_messages,
        terminal_reason: Some(outcome.reason),
        origin: record.origin,
        result_index,
        queued_turn_count,
        fast_mode_state: Default::default(),
        uuid: writer.id().as_str(),
    })
}

fn denial(call: &ToolUse) -> Denial<'_> {
    let tool_input = match call.input.json() {
        Some(input) => Cow::Borrowed(input),
        None => Cow::Owned(Value::Object(Map::new())),
    };
    Denial { tool_name: &call.name, tool_use_id: call.public_id(), tool_input }
}

/// Returns the result line of a run that failed outside of a turn.
pub(crate) fn failure<'a>(message: &'a str, session: &'a str, uuid: &'a str) -> ResultLine<'a> {
    ResultLine {
        kind: Default::default(),
        subtype: ResultSubtype::ErrorDuringExecution,
        is_error: true,
        api_error_status: None,
        duration_ms: 0,
        duration_api_ms: 0,
        ttft_ms: None,
        ttft_stream_ms: None,
        time_to_request_ms: None,
        num_turns: 0,
        result: None,
        errors: Some(vec![Cow::Borrowed(message)]),
        stop_reason: None,
        session_id: session,
        total_cost_usd: 0.0,
        usage: TokenUsage::default(),
        model_usage: BTreeMap::<&str, ModelUsage>::new(),
        model_usage_since_last_result: BTreeMap::new(),
        permission_denials: Vec::new(),
        structured_output: None,
        user_message_uuid: None,
        user_message_uuids: &[],
        terminal_reason: None,
        origin: None,
        result_index: 0,
        queued_turn_count: 0,
        fast_mode_state: Default::default(),
        uuid,
    }
}

#[cfg(test)]
mod tests;
