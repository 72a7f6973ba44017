use robota_core::env_ref::Secret;
use robota_core::event::{Event, TextChunk};
use robota_core::ids::CountingIds;
use robota_core::journal::MemoryStore;
use robota_core::message::Block;
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};

use super::*;
use crate::Session;
use crate::replay::tests::{stored, two_turns, view};
use crate::replay::validate;

fn kinds(exported: &ExportedLog) -> Vec<String> {
    let event = |line: &String| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["event"].as_str().unwrap().to_owned()
    };
    exported.lines.iter().map(event).collect()
}

#[tokio::test(start_paused = true)]
async fn sess_12_the_log_has_the_shape_of_the_contract() {
    let events = two_turns().await;
    let session = SessionId::from("session-1");
    let exported = from_events(&session, &events, &Redactor::default()).unwrap();
    assert_eq!(exported.payloads, []);
    insta::assert_snapshot!(exported.lines.join("\n"));
    // A log can be read while the session still runs: every prefix of the journal has a log.
    for end in 1..events.len() {
        from_events(&session, &events[..end], &Redactor::default()).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn sess_12_every_kind_of_line_is_there() {
    let exported = from_events(&"s".into(), &two_turns().await, &Redactor::default()).unwrap();
    let kinds = kinds(&exported);
    for kind in [
        "session_init",
        "pre_run",
        "provider_request",
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
    ] {
        assert!(kinds.iter().any(|found| found == kind), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn sess_13_large_fields_are_in_payload_files() {
    let mut events = two_turns().await;
    let long = "x".repeat(40_000);
    for event in &mut events {
        if let Event::TextChunk(TextChunk { text, .. }) = &mut event.event {
            text.clone_from(&long);
        }
    }
    let session = SessionId::from("agent:dev/session:main");
    let exported = from_events(&session, &events, &Redactor::default()).unwrap();
    assert_eq!(exported.payloads.len(), 1, "the same bytes are one file");
    let Payload { path, bytes } = exported.payloads[0].clone();
    let line: Value = exported
        .lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|line: &Value| line["delta"]["kind"] == "external-payload")
        .unwrap();
    let sha256 = line["delta"]["sha256"].as_str().unwrap();
    let reference = serde_json::json!({"kind": "external-payload", "encoding": "json",
        "sha256": sha256, "byteLength": bytes.len(), "relativePath": path});
    assert_eq!(line["delta"], reference);
    assert_eq!(path, format!("agent%3adev%2fsession%3amain.payloads/{sha256}.json"));
    assert_eq!(sha256, robota_core::message::BlobRef::of(&bytes).sha256);
    assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), long);
    let payloads = Payloads::from([(path.clone(), bytes)]);
    assert!(validate::log(&exported.bytes(), &payloads).ok());
    assert_eq!(references(&exported.bytes()).len(), 1);

    let report = validate::log(&exported.bytes(), &Payloads::new());
    assert!(report.findings.iter().any(|found| found.code == "UNRESOLVED_REPLAY_PAYLOAD"));
    let lines = || parse(&exported.bytes()).unwrap();
    assert!(resolve(lines(), &Payloads::new()).is_err());
    let damaged = Payloads::from([(path, b"\"other\"".to_vec())]);
    let error = resolve(lines(), &damaged).unwrap_err();
    assert!(error.to_string().contains("does not match"), "{error}");
    let whole = resolve(lines(), &payloads).unwrap();
    assert!(whole.iter().any(|line| line["delta"] == long.as_str()));

    // A field of exactly 32 KiB, with its quotes, stays in the line.
    for (bytes, files) in [(32 * 1024, 0), (32 * 1024 + 1, 1)] {
        for event in &mut events {
            if let Event::TextChunk(TextChunk { text, .. }) = &mut event.event {
                *text = "x".repeat(bytes - 2);
            }
        }
        let exported = from_events(&session, &events, &Redactor::default()).unwrap();
        assert_eq!(exported.payloads.len(), files, "{bytes}");
    }
}

#[test]
fn sess_13_a_reference_never_leads_out_of_the_folder() {
    for path in ["../x.json", "/etc/passwd", "a/../../b", "C:\\x", "a//b", ""] {
        let reference = serde_json::json!({"kind": "external-payload", "encoding": "json",
            "sha256": "a".repeat(64), "byteLength": 3, "relativePath": path});
        assert!(PayloadRef::read(&reference).unwrap().is_err(), "{path}");
    }
    let other_words = serde_json::json!({"kind": "external-payload", "encoding": "json",
        "sha256": "a".repeat(64), "bytes": 3, "path": "s.payloads/x.json"});
    assert!(PayloadRef::read(&other_words).unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn sess_13_the_log_has_no_secrets() {
    let events = two_turns().await;
    let redactor = Redactor::new([Secret::new("The notes say")]).unwrap();
    let exported = from_events(&"s".into(), &events, &redactor).unwrap();
    let text = String::from_utf8(exported.bytes()).unwrap();
    assert!(!text.contains("The notes say") && text.contains("[REDACTED] hello."));
}

#[tokio::test(start_paused = true)]
async fn sess_14_a_log_is_replayed_as_far_as_it_goes() {
    let events = two_turns().await;
    let (store, session) = stored(&events).await;
    let exported = export(&store, &session, &Redactor::default()).await.unwrap();
    let mut bytes = exported.bytes();
    bytes.truncate(bytes.len() - 3);
    let record = replay(&parse(&bytes).unwrap()).unwrap();
    assert_eq!(record.id, session.as_str());
    assert_eq!(
        (record.provider.as_deref(), record.system_prompt.as_deref()),
        (Some("scripted"), Some("Be brief."))
    );
    assert_eq!(record.tool_schemas.len(), 2);

    // Cut off in the middle of a batch: a call without a result gets one that says so.
    let at = kinds(&exported).iter().position(|kind| kind == "tool_message_committed").unwrap();
    let cut = ExportedLog { lines: exported.lines[..at + 2].to_vec(), payloads: Vec::new() };
    let (other, ids) = (MemoryStore::new(), CountingIds::default());
    let to = Destination::new(&other);
    let imported = import(&to, &cut.bytes(), &Payloads::new(), &ids).await.unwrap();
    assert_eq!(imported.sealed.len(), 2);
    let seen = view(&other, &session).await;
    assert_eq!(seen[2].tool_results().count(), 3);

    assert!(parse(b"{\"event\": 1}\nnot json\n{}").is_err());
    assert!(replay(&[]).is_err());
}

#[tokio::test(start_paused = true)]
async fn sess_12_compactions_errors_and_the_end_of_a_session_are_lines() {
    let (store, id) = (MemoryStore::new(), SessionId::from("s"));
    let model = ScriptedProvider::new(Script::new().text("Hello.").text("A summary."));
    let session = Session::builder(model, "m").open(store.clone(), "s").await.unwrap();
    session.run("Hi").await.unwrap();
    session.context().compact(None).await.unwrap();
    // The script has no third answer.
    session.run("Again").await.unwrap_err();
    session.shutdown("done").await.unwrap();
    let exported = export(&store, &id, &Redactor::default()).await.unwrap();
    let kinds = kinds(&exported);
    for kind in ["context_compact", "error", "session_shutdown"] {
        assert!(kinds.iter().any(|found| found == kind), "{kind} in {kinds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sess_12_a_tool_that_the_service_ran_is_a_line() {
    let mut events = two_turns().await;
    let answer = events.iter_mut().find_map(|event| match &mut event.event {
        Event::AssistantMessage(data) => Some(&mut data.message),
        _ => None,
    });
    let block = serde_json::json!({"type": "server_tool_use", "id": "t", "name": "web_search",
        "input": {"query": "rust"}});
    std::sync::Arc::make_mut(answer.unwrap()).content.push(Block::Unknown(block));
    let exported = from_events(&"s".into(), &events, &Redactor::default()).unwrap();
    let line = exported.lines.iter().find(|line| line.contains("\"server_tool\"")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["tool"], &line["query"]["query"]), (&"web_search".into(), &"rust".into()));
}

#[tokio::test]
async fn sess_12_the_log_can_be_read_while_a_run_is_in_progress() {
    let (store, id) = (MemoryStore::new(), SessionId::from("s"));
    let answer = ScriptedAnswer::new().text("Half an").gate("hold").text(" answer.");
    let model = ScriptedProvider::new(Script::new().answer(answer));
    let session = Session::builder(model.clone(), "m").open(store.clone(), "s").await.unwrap();
    session.send("Hi").await.unwrap();
    model.reached("hold").await;
    let during = export(&store, &id, &Redactor::default()).await.unwrap();
    assert!(kinds(&during).iter().any(|kind| kind == "provider_request"));
    assert!(!kinds(&during).iter().any(|kind| kind == "assistant"));
    model.release("hold");
    session.run("Again").await.unwrap_err();
    let after = export(&store, &id, &Redactor::default()).await.unwrap();
    assert_eq!(after.lines[..during.lines.len()], during.lines, "the log only grows");
    assert!(kinds(&after).iter().any(|kind| kind == "assistant"));
}
