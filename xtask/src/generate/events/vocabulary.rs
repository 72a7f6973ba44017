//! The events of the journal in the names of the five vocabularies that clients and tools know.

use std::fmt::Write as _;

/// A vocabulary: the id of its promise, its purpose, and every name it has.
pub(super) type Vocabulary = (&'static str, &'static str, &'static str);

/// The five vocabularies, in the order of the columns of `vocabulary.txt`.
pub(super) const VOCABULARIES: [Vocabulary; 5] = [
    (
        "CORE-20",
        "replay boundary events, from which a run can be replayed",
        "provider_request provider_stream_raw_delta provider_native_raw_payload \
         provider_response_raw provider_response_normalized assistant_message_committed \
         tool_batch_started tool_execution_request tool_execution_result tool_message_committed \
         history_mutation",
    ),
    (
        "CORE-26",
        "`owner.local` names for observers",
        "agent.created agent.completion agent.compacted execution.start execution.complete \
         execution.error execution.interrupted execution.round_start execution.round_complete \
         execution.retry tool.call tool.execute_start tool.execute_success tool.execute_error \
         tool.permission_asked tool.permission_decided user.input user.message task.started \
         task.completed",
    ),
    (
        "SESS-12",
        "the session log",
        "session_init server_tool pre_run provider_request provider_native_raw_payload \
         provider_stream_raw_delta provider_response_raw provider_response_normalized \
         tool_batch_started tool_execution_request tool_execution_result tool_message_committed \
         history_mutation text_delta assistant context_compact error session_shutdown",
    ),
    (
        "SDK-02",
        "the events of an interactive client",
        "text_delta tool_start tool_end thinking complete error context_update interrupted \
         background_task_event background_job_group_event",
    ),
    (
        "KODE-03",
        "the events of a subscriber with a cursor",
        "text_chunk text tool_use tool_result usage error messages_update state commit \
         permission_ask permission_decision resume forked",
    ),
];

const HEAD: &str = "\
The same facts in the five vocabularies that clients and tools may know. They are projections: code
computes them when they are needed, and no store contains them. An event is listed with every name it
becomes *or is part of*: `provider_request`, for example, repeats the tools that `tools_set` recorded
once. A dash means that the vocabulary has no name for the event.
";

/// Returns the rows of the table: the event, and its names in each vocabulary.
pub(super) fn rows() -> impl Iterator<Item = (&'static str, Vec<Vec<&'static str>>)> {
    let lines = include_str!("vocabulary.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let event = cells.next().unwrap_or_default();
        (event, cells.map(|cell| cell.split_whitespace().collect()).collect())
    })
}

/// Returns the section of the page.
pub(super) fn section() -> String {
    let mut text = format!("{HEAD}\n");
    for (id, what, _) in VOCABULARIES {
        let _ = writeln!(text, "- **{id}**: {what}.");
    }
    let ids = VOCABULARIES.map(|(id, ..)| id).join(" | ");
    let _ = write!(text, "\n| event | {ids} |\n|---|---|---|---|---|---|\n");
    for (event, columns) in rows() {
        let cells = columns.iter().map(|names| match names.as_slice() {
            [] => "–".to_owned(),
            names => format!("`{}`", names.join("`, `")),
        });
        let _ = writeln!(text, "| `{event}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}
