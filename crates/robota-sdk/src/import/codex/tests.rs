use proptest::prelude::*;

use crate::import::tests::{Done, assert_paired, import as import_bytes, jsonl};
use crate::import::{ImportSource, read as read_foreign};

use super::*;

fn line(second: u32, kind: &str, payload: &Value) -> Value {
    let at = format!("2026-03-01T10:00:{second:02}.000Z");
    json!({"timestamp": at, "type": kind, "payload": payload})
}

fn item(second: u32, payload: &Value) -> Value {
    line(second, "response_item", payload)
}

fn meta() -> Value {
    line(
        0,
        "session_meta",
        &json!({"id": "s-1", "timestamp": "2026-03-01T10:00:00Z",
        "cwd": "/home/ada/app", "originator": "codex_cli_rs", "model_provider": "openai"}),
    )
}

fn says(second: u32, role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(
        second,
        &json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
    )
}

fn call(second: u32, id: &str) -> Value {
    item(
        second,
        &json!({"type": "function_call", "name": "shell", "call_id": id,
        "arguments": "{\"command\":[\"ls\"]}"}),
    )
}

fn output(second: u32, id: &str, output: &Value) -> Value {
    item(second, &json!({"type": "function_call_output", "call_id": id, "output": output}))
}

fn import(lines: &[Value]) -> Done {
    let done = import_bytes(ImportSource::Codex, &jsonl(lines));
    assert_paired(&done.state);
    done
}

#[test]
fn a_rollout_becomes_a_session() {
    let reasoning = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "xxx"});
    let usage = json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 100,
        "cached_input_tokens": 40, "output_tokens": 7, "reasoning_output_tokens": 3}}});
    let done = import(&[
        meta(),
        says(1, "developer", "You are an agent."),
        says(
            1,
            "user",
            "<environment_context>\n  <cwd>/home/ada/app</cwd>\n</environment_context>",
        ),
        line(1, "turn_context", &json!({"cwd": "/home/ada/app", "model": "gpt-5-codex"})),
        says(2, "user", "List it"),
        line(2, "event_msg", &json!({"type": "user_message", "message": "List it"})),
        item(3, &reasoning),
        says(3, "assistant", "Sure."),
        call(4, "c1"),
        call(4, "c2"),
        line(5, "event_msg", &usage),
        output(6, "c2", &json!("{\"output\":\"two\",\"metadata\":{\"exit_code\":1}}")),
        output(6, "c1", &json!("one")),
        item(
            7,
            &json!({"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin"}),
        ),
        item(
            8,
            &json!({"type": "custom_tool_call_output", "call_id": "c3", "output": {"content": "ok", "success": true}}),
        ),
        says(9, "assistant", "Done."),
        line(9, "event_msg", &json!({"type": "thread_name_updated", "thread_name": "Listing"})),
        line(9, "world_state", &json!({})),
    ]);
    assert_eq!(
        done.view(),
        [
            "user: List it",
            "assistant: Sure. -> shell, shell",
            "results: one | two",
            "assistant:  -> apply_patch",
            "results: ok",
            "assistant: Done.",
        ]
    );
    let record = &done.record;
    assert_eq!((record.id.as_str(), record.cwd.as_str()), ("s-1", "/home/ada/app"));
    assert_eq!(record.model.as_deref(), Some("gpt-5-codex"));
    assert_eq!(
        (record.provider.as_deref(), record.name.as_deref()),
        (Some("openai"), Some("Listing"))
    );
    let answer = &done.state.view.messages[1];
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.output_tokens), (100, 40, 7));
    assert_eq!(answer.metadata["thinking"], json!(["hm"]));
    let results: Vec<_> =
        done.state.view.messages[2].tool_results().map(|it| it.is_error).collect();
    assert_eq!(results, [false, true]);
    assert_eq!(done.session.report.skipped["context"], 2);
    assert_eq!(done.session.report.skipped["world_state"], 1);
}

#[test]
fn a_compaction_and_a_rollback_change_the_view() {
    let rolled = line(9, "event_msg", &json!({"type": "thread_rolled_back", "num_turns": 1}));
    let done = import(&[
        meta(),
        says(1, "user", "One"),
        says(2, "assistant", "1"),
        line(3, "compacted", &json!({"message": "They counted."})),
        says(4, "user", "Two"),
        says(5, "assistant", "2"),
        says(6, "user", "Wrong"),
        call(7, "c9"),
        rolled,
        says(10, "user", "Three"),
        says(11, "assistant", "3"),
    ]);
    assert_eq!(
        done.view(),
        ["user: They counted.", "user: Two", "assistant: 2", "user: Three", "assistant: 3"]
    );
    assert_eq!(
        done.history()[..3],
        ["user: One", "assistant: 1", "context-compact: They counted."]
    );
    assert_eq!(done.session.report.abandoned, 2);
    let replaced = json!({"message": "", "replacement_history": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]}]});
    let done = import(&[meta(), says(1, "user", "One"), line(2, "compacted", &replaced)]);
    assert_eq!(done.view(), ["user: kept"]);
}

#[test]
fn the_oldest_form_is_read_too() {
    let bare = |value: Value| value["payload"].clone();
    let done = import(&[
        json!({"id": "old-1", "timestamp": "2025-05-01T10:00:00Z", "instructions": null}),
        json!({"record_type": "state"}),
        bare(says(1, "user", "Hi")),
        bare(call(2, "c1")),
        bare(output(
            3,
            "c1",
            &json!([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]),
        )),
        bare(item(
            4,
            &json!({"type": "local_shell_call", "call_id": "c2", "status": "completed",
            "action": {"type": "exec", "command": ["ls"]}}),
        )),
        bare(says(5, "assistant", "Bye")),
    ]);
    assert_eq!(done.record.id, "old-1");
    let view = done.view();
    assert_eq!(view[..3], ["user: Hi", "assistant:  -> shell", "results: a\nb"]);
    assert!(
        view[3].contains("local_shell") && view[4].contains("No result of this call"),
        "{view:?}"
    );
    assert_eq!(done.session.report.skipped["state"], 1);
}

#[test]
fn torn_lines_and_lost_outputs_do_not_stop_the_rest() {
    let mut bytes = jsonl(&[
        meta(),
        says(1, "user", "Go"),
        call(2, "c1"),
        output(3, "unknown", &json!("stray")),
        output(4, "c0", &Value::Null),
        says(5, "assistant", "End."),
        item(6, &json!({"type": "web_search_call", "status": "completed"})),
        json!({"type": "event_msg"}),
        json!({"payload": 5}),
    ]);
    bytes.extend_from_slice(b"null\n{\"timestamp\":\"2026");
    let done = import_bytes(ImportSource::Codex, &bytes);
    assert_paired(&done.state);
    assert_eq!((done.session.report.malformed, done.imported.sealed.len()), (2, 1));
    assert_eq!(done.session.report.skipped["web_search_call"], 1);
    assert_eq!(done.view().last().unwrap(), "assistant: End.");
    assert!(read_foreign(ImportSource::Codex, b"", "x").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_is_survived(
        picks in prop::collection::vec((0usize..9, any::<bool>(), 0usize..200), 1..20),
    ) {
        let all = [
            meta(),
            says(1, "user", "Go"),
            call(2, "c1"),
            call(3, "c2"),
            output(4, "c1", &json!("one")),
            output(5, "c2", &json!({"content": "two"})),
            says(6, "assistant", "End."),
            line(7, "compacted", &json!({"message": "sum"})),
            line(8, "event_msg", &json!({"type": "thread_rolled_back", "num_turns": 2})),
        ];
        let mut bytes = Vec::new();
        for (at, whole, cut) in picks {
            let line = format!("{}\n", all[at]);
            let end = if whole { line.len() } else { cut.min(line.len()) };
            bytes.extend_from_slice(&line.as_bytes()[..end]);
        }
        if read_foreign(ImportSource::Codex, &bytes, "x").is_ok() {
            let done = import_bytes(ImportSource::Codex, &bytes);
            assert_paired(&done.state);
        }
    }
}
