//! The spans of a run. Their names and fields are defined only here, so that a trace is the same in
//! `--debug` files, in OpenTelemetry and in an embedder's own subscriber.
//!
//! The fields follow the OpenTelemetry semantic conventions for generative AI (the state of
//! `open-telemetry/semantic-conventions-genai` on top of semantic conventions 1.42). `otel.name`,
//! `otel.kind` and `otel.status_code` are read by `tracing-opentelemetry`.
//!
//! | span | conventions' operation | parent |
//! |---|---|---|
//! | [`turn_span`] | `invoke_agent` | the current span of the caller |
//! | [`round_span`] | none | the turn |
//! | [`model_call_span`] | `chat` | the round; outside a turn the span of the caller |
//! | [`tool_span`] | `execute_tool` | the round |
//! | [`append_span`] | none | the turn, or the span the caller is in |
//!
//! Spans never contain content: no prompts, answers, arguments, outputs or error messages.
//!
//! A span that no subscriber enables costs one comparison: its fields are evaluated only if one is
//! interested. `benches/spans.rs` measures it.

use serde::Serialize;
use tracing::field::Empty;
use tracing::{Span, debug_span, info_span};

use crate::event::Durability;
use crate::ids::{SessionId, TurnId};
use crate::message::ToolUse;
use crate::permission::Class;
use crate::provider::StopReason;
use crate::tool::ToolOutcome;
use crate::turn::TurnReport;
use crate::usage::Usage;

/// All these spans have this target; exporters filter by it.
pub const TARGET: &str = module_path!();

/// Spans have this value for errors and tools without a name of low cardinality.
pub const OTHER: &str = "_OTHER";

/// Creates the span of a turn, from its input to its end. Its parent is the caller's span.
#[must_use]
pub fn turn_span(session: Option<&SessionId>, turn: &TurnId, model: &str, provider: &str) -> Span {
    info_span!(
        "turn",
        "otel.name" = "invoke_agent",
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.provider.name" = provider,
        "gen_ai.request.model" = model,
        "gen_ai.conversation.id" = session.map(SessionId::as_str),
        "gen_ai.usage.input_tokens" = Empty,
        "gen_ai.usage.output_tokens" = Empty,
        "gen_ai.usage.cache_read.input_tokens" = Empty,
        "gen_ai.usage.cache_creation.input_tokens" = Empty,
        "gen_ai.usage.reasoning.output_tokens" = Empty,
        "error.type" = Empty,
        "robota.turn.id" = turn.as_str(),
        "robota.turn.end" = Empty,
        "robota.turn.rounds" = Empty,
        "robota.turn.tool_calls" = Empty,
    )
}

/// Creates the span of one round: a model call with its retries, and the tool calls it asks for.
#[must_use]
pub fn round_span(turn: &Span, round: u32) -> Span {
    info_span!(
        parent: turn,
        "round",
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "error.type" = Empty,
        "robota.round" = round,
    )
}

/// Creates the span of one attempt of a model call, from the request to the end of its stream.
#[must_use]
pub fn model_call_span(
    parent: &Span,
    session: Option<&SessionId>,
    model: &str,
    provider: &str,
    attempt: u32,
) -> Span {
    info_span!(
        parent: parent,
        "model_call",
        "otel.name" = %format_args!("chat {model}"),
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = provider,
        "gen_ai.request.model" = model,
        "gen_ai.request.stream" = true,
        "gen_ai.conversation.id" = session.map(SessionId::as_str),
        "gen_ai.response.finish_reasons" = Empty,
        "gen_ai.usage.input_tokens" = Empty,
        "gen_ai.usage.output_tokens" = Empty,
        "gen_ai.usage.cache_read.input_tokens" = Empty,
        "gen_ai.usage.cache_creation.input_tokens" = Empty,
        "gen_ai.usage.reasoning.output_tokens" = Empty,
        "error.type" = Empty,
        "robota.attempt" = attempt,
    )
}

/// Creates the span of one tool call that runs, from its start to its outcome.
#[must_use]
pub fn tool_span(parent: &Span, tool_use: &ToolUse, class: Class) -> Span {
    info_span!(
        parent: parent,
        "tool",
        "otel.name" = %format_args!("execute_tool {}", tool_use.name),
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = tool_use.name.as_str(),
        "gen_ai.tool.call.id" = tool_use.id.as_str(),
        "gen_ai.tool.type" = "function",
        "error.type" = Empty,
        "robota.call.id" = tool_use.call.as_str(),
        "robota.tool.class" = variant_name(&class).as_str(),
    )
}

/// Creates the span of one append to the journal. Synced appends have level INFO; the others, one
/// per streamed chunk, have level DEBUG.
#[must_use]
pub fn append_span(parent: &Span, events: usize, durability: Durability) -> Span {
    macro_rules! span {
        ($level:ident, $durability:literal) => {
            $level!(
                parent: parent,
                "append",
                "otel.kind" = "internal",
                "otel.status_code" = Empty,
                "error.type" = Empty,
                "robota.append.events" = events,
                "robota.append.durability" = $durability,
            )
        };
    }
    match durability {
        Durability::Synced => span!(info_span, "synced"),
        Durability::Written => span!(debug_span, "written"),
    }
}

/// Records the tokens of a model call or a turn.
pub fn record_usage(span: &Span, usage: Usage) {
    if span.is_disabled() {
        return;
    }
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    for (field, tokens) in [
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
    ] {
        if tokens > 0 {
            span.record(field, tokens);
        }
    }
}

/// Records why a model stopped its answer, in the names of the conventions for GenAI.
pub fn record_finish(span: &Span, stop: &StopReason) {
    if !span.is_disabled() {
        span.record("gen_ai.response.finish_reasons", finish_reason(stop));
    }
}

/// Records a failure of the span's operation. `error_type` is a stable code, such as
/// [`crate::error::ErrorKind::code`] or [`ToolOutcome::error_code`]; anything else becomes
/// `_OTHER`.
pub fn record_error(span: &Span, error_type: &str) {
    if !span.is_disabled() {
        span.record("error.type", stable_code(error_type));
        span.record("otel.status_code", "ERROR");
    }
}

/// Records the outcome of a tool call: an error, unless it succeeded.
pub fn record_outcome(span: &Span, outcome: &ToolOutcome) {
    if !outcome.ok {
        record_error(span, outcome.error_code.as_deref().unwrap_or(OTHER));
    }
}

/// Records how a turn ended: rounds, calls, tokens, and an error if it failed.
pub fn record_turn(span: &Span, report: &TurnReport) {
    if span.is_disabled() {
        return;
    }
    record_usage(span, report.usage);
    span.record("robota.turn.end", variant_name(&report.end).as_str());
    span.record("robota.turn.rounds", report.rounds);
    span.record("robota.turn.tool_calls", report.tools_executed);
    if let Some(error) = &report.error {
        record_error(span, error.kind.code());
    }
}

/// Returns the name that the conventions define for why a model stopped.
fn finish_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::MaxTokens | StopReason::WindowFull => "length",
        StopReason::Refusal | StopReason::Filtered => "content_filter",
        StopReason::Pause => "pause",
        StopReason::Other(reason) => stable_code(reason),
    }
}

/// Returns the text if it looks like a stable code, else `_OTHER`: free text could contain content,
/// and its cardinality is unbounded.
#[must_use]
pub fn stable_code(text: &str) -> &str {
    let stable = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !text.is_empty() && text.len() <= 64 && text.bytes().all(stable) { text } else { OTHER }
}

/// Returns the serialised name of an enum variant without data.
#[must_use]
pub fn variant_name<T: Serialize>(variant: &T) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => OTHER.to_owned(),
    }
}

#[cfg(test)]
mod tests;
