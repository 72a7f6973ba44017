use proptest::prelude::*;

use crate::import::tests::{Done, assert_paired, import as import_bytes, jsonl};
use crate::import::{ImportSource, read as read_foreign};

use super::*;

fn line(kind: &str, uuid: &str, parent: &str, second: u32, message: &Value) -> Value {
    json!({
        "type": kind, "uuid": uuid, "sessionId": "s-1", "cwd": "/home/ada/app", "version": "2.1.0",
        "parentUuid": if parent.is_empty() { Value::Null } else { parent.into() },
        "isSidechain": false, "timestamp": format!("2026-03-01T10:00:{second:02}.000Z"),
        "message": message,
    })
}

fn user(uuid: &str, parent: &str, second: u32, text: &str) -> Value {
    line("user", uuid, parent, second, &json!({"role": "user", "content": text}))
}

fn answer(uuid: &str, parent: &str, second: u32, id: &str, block: &Value) -> Value {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": second});
    let message = json!({"id": id, "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [block], "usage": usage});
    line("assistant", uuid, parent, second, &message)
}

fn says(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn calls(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {"path": id}})
}

fn result(uuid: &str, parent: &str, second: u32, call: &str, text: &str) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": call,
        "content": [{"type": "text", "text": text}], "is_error": text == "bad"});
    line("user", uuid, parent, second, &json!({"role": "user", "content": [block]}))
}

fn import(lines: &[Value]) -> Done {
    let done = import_bytes(ImportSource::Claude, &jsonl(lines));
    assert_paired(&done.state);
    done
}

#[test]
fn a_transcript_becomes_a_session() {
    let done = import(&[
        json!({"type": "summary", "summary": "An old title", "leafUuid": "x"}),
        json!({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}}),
        user("u1", "", 1, "Read it"),
        answer(
            "a1",
            "u1",
            2,
            "m1",
            &json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        ),
        answer("a2", "a1", 3, "m1", &says("Sure.")),
        answer("a3", "a2", 4, "m1", &calls("t1", "Read")),
        result("r1", "a3", 5, "t1", "content"),
        answer("a4", "r1", 6, "m2", &says("Done.")),
        json!({"type": "ai-title", "aiTitle": "Reads a file", "sessionId": "s-1"}),
        json!({"type": "custom-title", "customTitle": "My title", "sessionId": "s-1"}),
        json!({"type": "brand-new-kind", "uuid": "z", "parentUuid": "a4"}),
    ]);
    assert_eq!(
        done.view(),
        ["user: Read it", "assistant: Sure. -> Read", "results: content", "assistant: Done."]
    );
    let record = &done.record;
    assert_eq!((record.id.as_str(), record.cwd.as_str()), ("s-1", "/home/ada/app"));
    assert_eq!(record.name.as_deref(), Some("My title"));
    assert_eq!(record.model.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(record.created_at.to_string(), "2026-03-01T10:00:01Z");
    let usage = done.state.view.messages[1].usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.output_tokens), (100, 90, 4));
    assert_eq!(done.state.view.messages[1].metadata["thinking"], json!(["hm"]));
    let skipped: Vec<_> = done.session.report.skipped.iter().collect();
    assert_eq!(
        skipped,
        [(&"brand-new-kind".to_owned(), &1), (&"file-history-snapshot".to_owned(), &1)]
    );
    assert!(done.imported.sealed.is_empty() && done.imported.orphans == 0);
}

#[test]
fn parallel_calls_keep_all_results_though_they_are_on_side_branches() {
    let done = import(&[
        user("u1", "", 1, "Both"),
        answer("a1", "u1", 2, "m1", &calls("t1", "Read")),
        answer("a2", "a1", 3, "m1", &calls("t2", "Grep")),
        result("r2", "a2", 4, "t2", "two"),
        result("r1", "a1", 5, "t1", "one"),
        answer("a3", "r2", 6, "m2", &says("Done.")),
    ]);
    assert_eq!(
        done.view(),
        ["user: Both", "assistant:  -> Read, Grep", "results: one | two", "assistant: Done."]
    );
    assert_eq!(done.session.report.abandoned, 0);
}

#[test]
fn a_rewound_branch_and_subagents_are_left_out() {
    let mut side = answer("s1", "a1", 4, "m9", &says("from a subagent"));
    side["isSidechain"] = true.into();
    let done = import(&[
        user("u1", "", 1, "Start"),
        answer("a1", "u1", 2, "m1", &says("Ok.")),
        user("u2", "a1", 3, "Wrong way"),
        side,
        answer("a2", "u2", 5, "m2", &calls("t9", "Bash")),
        user("u3", "a1", 6, "Better way"),
        answer("a3", "u3", 7, "m3", &says("Yes.")),
    ]);
    assert_eq!(
        done.view(),
        ["user: Start", "assistant: Ok.", "user: Better way", "assistant: Yes."]
    );
    assert_eq!((done.session.report.sidechain, done.session.report.abandoned), (1, 2));
    let pinned = json!({"type": "last-prompt", "leafUuid": "a1", "sessionId": "s-1"});
    let back = import(&[
        user("u1", "", 1, "Start"),
        answer("a1", "u1", 2, "m1", &says("Ok.")),
        user("u2", "a1", 3, "Wrong way"),
        pinned,
    ]);
    assert_eq!(back.view(), ["user: Start", "assistant: Ok."]);
}

#[test]
fn a_compaction_replaces_the_view_and_keeps_the_history() {
    let mut summary = user("c2", "c1", 6, "They said hello.");
    summary["isCompactSummary"] = true.into();
    summary["isVisibleInTranscriptOnly"] = true.into();
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "c1",
        "parentUuid": null, "logicalParentUuid": "a1", "sessionId": "s-1",
        "content": "Conversation compacted", "timestamp": "2026-03-01T10:00:05Z",
        "compactMetadata": {"trigger": "auto", "preTokens": 9}});
    let before = [user("u1", "", 1, "Hello"), answer("a1", "u1", 2, "m1", &says("Hi."))];
    let after = [user("u2", "c2", 7, "Go on"), answer("a2", "u2", 8, "m2", &says("Sure."))];
    let lines = [&before[..], &[boundary.clone(), summary], &after[..]].concat();
    let done = import(&lines);
    assert_eq!(done.view(), ["user: They said hello.", "user: Go on", "assistant: Sure."]);
    assert_eq!(
        done.history(),
        [
            "user: Hello",
            "assistant: Hi.",
            "context-compact: They said hello.",
            "user: Go on",
            "assistant: Sure."
        ]
    );
    // A newer form keeps the last messages and has no line that leads to the boundary.
    let mut kept = boundary;
    kept["compactMetadata"]["preservedMessages"] = json!({"anchorUuid": "u1", "uuids": ["a1"]});
    let after = [user("u2", "a1", 7, "Go on")];
    let done = import(&[&before[..], &[kept], &after[..]].concat());
    assert_eq!(done.view(), ["user: Conversation compacted", "assistant: Hi.", "user: Go on"]);
}

#[test]
fn what_the_lines_do_not_tell_is_repaired() {
    let torn = br#"{"type":"user","uuid":"u9","mess"#;
    let lines = [
        user("u1", "lost", 1, "Start"),
        answer("a1", "u1", 2, "m1", &calls("t1", "Bash")),
        answer("a2", "lost-too", 3, "m2", &calls("t2", "Bash")),
        result("r9", "a2", 4, "t-unknown", "stray"),
        result("r2", "a2", 5, "t2", "bad"),
        result("r3", "a2", 6, "t2", "a second result"),
        answer("a3", "r2", 7, "m3", &says("End.")),
    ];
    let mut bytes = jsonl(&lines);
    bytes.extend_from_slice(b"\xff\xfe not utf-8\n[1,2]\n\n");
    bytes.extend_from_slice(torn);
    let done = import_bytes(ImportSource::Claude, &bytes);
    assert_paired(&done.state);
    let view = done.view();
    assert_eq!(view.len(), 6, "{view:?}");
    assert!(view[2].contains("No result of this call was recorded"), "{view:?}");
    assert_eq!(&view[3..], ["assistant:  -> Bash", "results: bad", "assistant: End."]);
    assert_eq!(done.session.report.malformed, 3);
    assert_eq!(done.imported.sealed.len(), 1);
    assert!(read_foreign(ImportSource::Claude, b"{}\nnothing", "x").is_err());
}

#[test]
fn program_notes_images_and_errors_find_their_place() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}});
    let mut note = user("u2", "u1", 2, "<system-note>");
    note["isMeta"] = true.into();
    let mut failed = answer("a1", "u2", 3, "m1", &says("API Error"));
    failed["message"]["model"] = SYNTHETIC.into();
    let content = json!({"role": "user", "content": [says("Look"), image]});
    let done = import(&[
        line("user", "u1", "", 1, &content),
        note,
        failed,
        answer("a2", "a1", 4, "m2", &says("I see.")),
    ]);
    assert_eq!(done.view(), ["user: Look<system-note>", "assistant: I see."]);
    assert_eq!(done.state.view.messages[0].content.len(), 3, "text, image, note");
    assert_eq!(done.session.report.skipped["error message"], 1);
    assert!(done.imported.missing_blobs.is_empty(), "the image came along");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// If any lines are missing, doubled, torn or in another order, the import succeeds, and every
    /// call has one result.
    #[test]
    fn any_damage_is_survived(
        picks in prop::collection::vec((0usize..9, any::<bool>(), 0usize..300), 1..20),
    ) {
        let mut summary = user("c2", "c1", 6, "summary");
        summary["isCompactSummary"] = true.into();
        let all = [
            user("u1", "", 1, "Start"),
            answer("a1", "u1", 2, "m1", &calls("t1", "Bash")),
            answer("a2", "a1", 3, "m1", &calls("t2", "Bash")),
            result("r1", "a1", 4, "t1", "one"),
            result("r2", "a2", 5, "t2", "two"),
            json!({"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": null,
                "compactMetadata": {"preservedMessages": {"uuids": ["a2"]}}}),
            summary,
            user("u2", "r2", 7, "More"),
            answer("a3", "u2", 8, "m3", &calls("t3", "Bash")),
        ];
        let mut bytes = Vec::new();
        for (at, whole, cut) in picks {
            let line = format!("{}\n", all[at]);
            let end = if whole { line.len() } else { cut.min(line.len()) };
            bytes.extend_from_slice(&line.as_bytes()[..end]);
        }
        if read_foreign(ImportSource::Claude, &bytes, "x").is_ok() {
            let done = import_bytes(ImportSource::Claude, &bytes);
            assert_paired(&done.state);
        }
    }
}

#[test]
fn images_that_are_not_in_the_file_leave_a_note() {
    let image = |source: Value| json!({"type": "image", "source": source});
    for source in [
        json!({"type": "url", "url": "http://images.test/a.png"}),
        json!({"type": "base64", "media_type": "image/png", "data": "!!!"}),
    ] {
        let message = json!({"role": "user", "content": [image(source)]});
        let done = import(&[
            line("user", "u1", "", 1, &message),
            answer("a1", "u1", 2, "m1", &says("I see.")),
        ]);
        // A model refuses a message without content, and with it the rest of the session.
        let text = done.state.view.messages[0].text();
        assert!(text.starts_with("[an image that"), "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_costs_no_line() {
    let lines = jsonl(&[user("u1", "", 1, "Hello?"), answer("a1", "u1", 2, "m1", &says("Yes."))]);
    let bytes = [b"\xef\xbb\xbf", lines.as_slice()].concat();
    let session = read_foreign(ImportSource::Claude, &bytes, "s").unwrap();
    assert_eq!((session.report.malformed, session.record.messages.len()), (0, 2));
}
