//! Our events in the words of the five vocabularies that clients and tools may know.

use std::fmt::Write as _;

/// A vocabulary: what its column is called, and every name it has.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// The id of its promise.
    pub id: &'static str,
    /// What it is for.
    pub what: &'static str,
    /// Its names, those that come later included.
    pub names: &'static [&'static str],
}

/// The five vocabularies, in the order of [`Row::words`].
pub const VOCABULARIES: [Vocabulary; 5] = [
    Vocabulary {
        id: "CORE-20",
        what: "replay boundary events: what a run can be replayed from",
        names: &[
            "provider_request",
            "provider_stream_raw_delta",
            "provider_native_raw_payload",
            "provider_response_raw",
            "provider_response_normalized",
            "assistant_message_committed",
            "tool_batch_started",
            "tool_execution_request",
            "tool_execution_result",
            "tool_message_committed",
            "history_mutation",
        ],
    },
    Vocabulary {
        id: "CORE-26",
        what: "`owner.local` names for observers",
        names: &[
            "agent.created",
            "agent.completion",
            "agent.compacted",
            "execution.start",
            "execution.complete",
            "execution.error",
            "execution.interrupted",
            "execution.round_start",
            "execution.round_complete",
            "execution.retry",
            "tool.call",
            "tool.execute_start",
            "tool.execute_success",
            "tool.execute_error",
            "tool.permission_asked",
            "tool.permission_decided",
            "user.input",
            "user.message",
            "task.started",
            "task.completed",
        ],
    },
    Vocabulary {
        id: "SESS-12",
        what: "the session log",
        names: &[
            "session_init",
            "server_tool",
            "pre_run",
            "provider_request",
            "provider_native_raw_payload",
            "provider_stream_raw_delta",
            "provider_response_raw",
            "provider_response_normalized",
            "tool_batch_started",
            "tool_execution_request",
            "tool_execution_result",
            "tool_message_committed",
            "history_mutation",
            "text_delta",
            "assistant",
            "context_compact",
            "error",
            "session_shutdown",
        ],
    },
    Vocabulary {
        id: "SDK-02",
        what: "what an interactive client listens to",
        names: &[
            "text_delta",
            "tool_start",
            "tool_end",
            "thinking",
            "complete",
            "error",
            "context_update",
            "interrupted",
            "background_task_event",
            "background_job_group_event",
        ],
    },
    Vocabulary {
        id: "KODE-03",
        what: "what a subscriber with a cursor gets",
        names: &[
            "text_chunk",
            "text",
            "tool_use",
            "tool_result",
            "usage",
            "error",
            "messages_update",
            "state",
            "commit",
            "permission_ask",
            "permission_decision",
            "resume",
            "forked",
        ],
    },
];

/// Names that no event can become yet, and what they wait for.
pub const LATER: &[(&str, &str)] = &[
    ("task.started", "background tasks"),
    ("task.completed", "background tasks"),
    ("server_tool", "providers whose service runs tools of its own"),
    ("background_task_event", "background tasks"),
    ("background_job_group_event", "background job groups"),
];

/// One event, in the words of each vocabulary.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Our name.
    pub event: &'static str,
    /// The names it becomes or is part of, one list per vocabulary.
    pub words: [&'static [&'static str]; 5],
}

const fn row(event: &'static str, words: [&'static [&'static str]; 5]) -> Row {
    Row { event, words }
}

const NONE: &[&str] = &[];
const NO_WORDS: [&[&str]; 5] = [NONE; 5];

/// The mapping.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("session_created", [NONE, &["agent.created"], &["session_init"], NONE, NONE]),
    row("opened", [NONE, NONE, NONE, NONE, &["resume"]]),
    row("closed", [NONE, NONE, &["session_shutdown"], NONE, NONE]),
    row("renamed", NO_WORDS),
    row("mode_changed", NO_WORDS),
    row("prompt_set", [NONE, NONE, &["session_init"], NONE, NONE]),
    row("tools_set", [&["provider_request"], NONE, &["session_init", "provider_request"], NONE, NONE]),
    row("entry_added", NO_WORDS),
    row("message_injected", [&["history_mutation"], NONE, &["history_mutation"], NONE, &["messages_update"]]),
    row("input_accepted", [NONE, &["user.input"], NONE, NONE, NONE]),
    row("input_blocked", NO_WORDS),
    row("input_cancelled", NO_WORDS),
    row("turn_started", [NONE, &["execution.start"], &["pre_run"], &["thinking"], &["state"]]),
    row("user_message", [&["history_mutation"], &["user.message"], &["history_mutation"], NONE, &["messages_update"]]),
    row("context_measured", [NONE, NONE, NONE, &["context_update"], NONE]),
    row("compaction_started", [NONE, NONE, &["context_compact"], NONE, NONE]),
    row("compaction_finished", [NONE, &["agent.compacted"], &["context_compact"], &["context_update"], &["messages_update"]]),
    row("compaction_failed", [NONE, NONE, &["error"], NONE, &["error"]]),
    row("prefix_changed", NO_WORDS),
    row("model_requested", [&["provider_request"], &["execution.round_start"], &["provider_request"], NONE, NONE]),
    row("content_left_out", NO_WORDS),
    row("text_chunk", [&["provider_stream_raw_delta"], NONE, &["provider_stream_raw_delta", "text_delta"], &["text_delta"], &["text_chunk"]]),
    row("thinking_chunk", NO_WORDS),
    row("tool_input_chunk", NO_WORDS),
    row("provider_payload", [&["provider_native_raw_payload"], NONE, &["provider_native_raw_payload"], NONE, NONE]),
    row("stream_reset", [NONE, NONE, NONE, NONE, &["text_chunk"]]),
    row("model_retry", [NONE, &["execution.retry"], NONE, NONE, NONE]),
    row("model_failed", [NONE, NONE, &["error"], NONE, &["error"]]),
    row("model_responded", [NONE, &["execution.round_complete"], NONE, NONE, &["usage"]]),
    row("model_asked", [NONE, NONE, NONE, NONE, NONE]),
    row("assistant_message", [
        &["provider_response_raw", "provider_response_normalized", "assistant_message_committed", "history_mutation"],
        &["agent.completion"],
        &["provider_response_raw", "provider_response_normalized", "assistant", "history_mutation"],
        NONE,
        &["text", "messages_update", "commit"],
    ]),
    row("tool_called", [&["tool_execution_request"], &["tool.call"], &["tool_execution_request"], NONE, &["tool_use"]]),
    row("tool_batch_started", [
        &["tool_batch_started", "tool_execution_request"],
        NONE,
        &["tool_batch_started", "tool_execution_request"],
        NONE,
        NONE,
    ]),
    row("hook_started", NO_WORDS),
    row("hook_finished", NO_WORDS),
    row("permission_asked", [NONE, &["tool.permission_asked"], NONE, NONE, &["permission_ask", "state"]]),
    row("permission_decided", [NONE, &["tool.permission_decided"], NONE, NONE, &["permission_decision", "state"]]),
    row("tool_started", [NONE, &["tool.execute_start"], NONE, &["tool_start"], NONE]),
    row("files_changing", NO_WORDS),
    row("process_started", NO_WORDS),
    row("tool_output", NO_WORDS),
    row("tool_finished", [
        &["tool_execution_result"],
        &["tool.execute_success", "tool.execute_error"],
        &["tool_execution_result"],
        &["tool_end"],
        NONE,
    ]),
    row("tool_result", [
        &["tool_message_committed", "history_mutation"],
        NONE,
        &["tool_message_committed", "history_mutation"],
        NONE,
        &["tool_result", "messages_update"],
    ]),
    row("tool_batch_finished", [NONE, NONE, NONE, NONE, &["commit"]]),
    row("interrupted", NO_WORDS),
    row("turn_finished", [
        NONE,
        &["execution.complete", "execution.error", "execution.interrupted"],
        NONE,
        &["complete", "error", "interrupted", "thinking", "context_update"],
        &["state"],
    ]),
    row("rewound", [&["history_mutation"], NONE, &["history_mutation"], &["context_update"], &["messages_update"]]),
    row("view_restored", [&["history_mutation"], NONE, &["history_mutation"], &["context_update"], &["messages_update"]]),
    row("label_set", NO_WORDS),
    row("forked", [NONE, NONE, NONE, NONE, &["forked"]]),
    row("state_snapshot", NO_WORDS),
    row("recovered", [NONE, NONE, NONE, NONE, &["resume"]]),
    row("failed", [NONE, NONE, &["error"], &["error"], &["error"]]),
];

const HEAD: &str = "\
The same facts in the five vocabularies that clients and tools may know. They are projections,
made at the edge and never stored. An event stands beside every name it becomes *or is part of*:
`provider_request`, for example, repeats the tools that `tools_set` said once. A dash means that
the vocabulary has no word for it. The first two projections are code today
(`robota_core::project`); the other three are the contract for the log export and for clients.
";

/// The section of the page.
#[must_use]
pub fn section() -> String {
    let mut text = format!("{HEAD}\n");
    for vocabulary in VOCABULARIES {
        let _ = writeln!(text, "- **{}**: {}.", vocabulary.id, vocabulary.what);
    }
    text.push_str("\n| event |");
    for vocabulary in VOCABULARIES {
        let _ = write!(text, " {} |", vocabulary.id);
    }
    text.push_str("\n|---|---|---|---|---|---|\n");
    for row in ROWS {
        let _ = write!(text, "| `{}` |", row.event);
        for words in row.words {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            let words = if words.is_empty() { "–".to_owned() } else { words.join(", ") };
            let _ = write!(text, " {words} |");
        }
        text.push('\n');
    }
    text.push_str("\nNames that nothing becomes yet:\n\n| name | comes with |\n|---|---|\n");
    for (name, with) in LATER {
        let _ = writeln!(text, "| `{name}` | {with} |");
    }
    text
}
