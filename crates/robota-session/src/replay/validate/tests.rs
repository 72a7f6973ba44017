use robota_core::event::*;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use robota_core::message::{Block, Image, Message};
use robota_core::redact::Redactor;
use serde_json::{Map, Value, json};

use super::*;
use crate::replay::log::{Payloads, from_events};
use crate::replay::tests::{stored, two_turns};
use crate::replay::{self, Record};

fn check(events: &[Envelope]) -> ValidationReport {
    let mut check = JournalCheck::new(None);
    events.iter().for_each(|event| check.event(event));
    check.finish().0
}

fn codes(report: &ValidationReport) -> Vec<&'static str> {
    report.findings.iter().map(|finding| finding.code).collect()
}

/// Returns the journal without the chosen events, with sequence numbers as if they had never
/// existed.
fn without(events: &[Envelope], mut drop: impl FnMut(&Event) -> bool) -> Vec<Envelope> {
    let kept = events.iter().filter(|event| !drop(&event.event)).cloned();
    kept.zip(1..).map(|(event, seq)| Envelope { seq, ..event }).collect()
}

#[tokio::test(start_paused = true)]
async fn sess_14_a_whole_journal_has_nothing_to_report() {
    let report = check(&two_turns().await);
    assert_eq!(report.findings, []);
    assert_eq!((report.messages, report.calls), (6, 3));
}

#[tokio::test(start_paused = true)]
async fn sess_14_every_missing_piece_of_a_journal_is_reported() {
    let events = two_turns().await;
    let mut first = true;
    let one_result =
        |event: &Event| matches!(event, Event::ToolResultAdded(_)) && std::mem::take(&mut first);
    assert_eq!(codes(&check(&without(&events, one_result)))[0], "UNPAIRED_TOOL_USE");
    type Case = (fn(&Event) -> bool, &'static [&'static str]);
    let cases: [Case; 6] = [
        (|event| matches!(event, Event::TurnFinished(_)), &["MISSING_TERMINAL"; 2]),
        (|event| matches!(event, Event::TurnStarted(_)), &["TERMINAL_WITHOUT_TURN"; 2]),
        (|event| matches!(event, Event::SessionCreated(_)), &["SESSION_CREATED_MISSING"]),
        (|event| matches!(event, Event::ToolStarted(_)), &["FINISHED_WITHOUT_START"]),
        (|event| matches!(event, Event::PermissionDecided(_)), &["STARTED_WITHOUT_PERMISSION"]),
        (|event| matches!(event, Event::InputAccepted(_)), &["UNKNOWN_INPUT"; 2]),
    ];
    for (drop, expected) in cases {
        assert_eq!(codes(&check(&without(&events, drop))), expected);
    }
    let lone = |event: &Event| matches!(event, Event::AssistantMessage(_) | Event::ToolCalled(_));
    let found = codes(&check(&without(&events, lone)));
    assert!(
        found.contains(&"RESULT_WITHOUT_CALL") && found.contains(&"REQUEST_MISFIT"),
        "{found:?}"
    );
    assert_eq!(codes(&check(&[])), ["EMPTY"]);
}

#[tokio::test(start_paused = true)]
async fn sess_14_gaps_and_damaged_lines_are_all_reported() {
    let events = two_turns().await;
    let mut gap = events.clone();
    gap.remove(10);
    gap.remove(20);
    let found = codes(&check(&gap));
    assert_eq!(found.iter().filter(|code| **code == "GAP").count(), 2, "{found:?}");

    let mut lines: Vec<String> = events.iter().map(Envelope::to_line).collect();
    lines[3] = lines[3].replace("\"crc\":\"", "\"crc\":\"0");
    lines[5] = lines[5].replace("\"seq\":6", "\"seq\":7");
    lines[7].truncate(30);
    let last = lines.len() - 1;
    lines[last].truncate(40);
    let newer = Envelope { min_reader: Some(READER + 1), ..events[1].clone() };
    lines.insert(2, newer.to_line());
    let mut check = JournalCheck::new(None);
    for (index, line) in lines.iter().enumerate() {
        check.line(&format!("line {}", index + 1), line.as_bytes(), index == last + 1);
    }
    let report = check.finish().0;
    let damaged: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.at.starts_with("line"))
        .map(|finding| (finding.code, finding.at.as_str()))
        .collect();
    assert_eq!(
        damaged,
        [
            ("NEWER_READER", "line 3"),
            ("TORN_LINE", "line 5"),
            ("BAD_CHECKSUM", "line 7"),
            ("TORN_LINE", "line 9"),
            ("TORN_TAIL", &format!("line {}", last + 2)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn sess_14_snapshots_hashes_and_sessions_must_match() {
    let mut events = two_turns().await;
    let mut snapshot = robota_core::state::State::fold(&events).unwrap().snapshot().unwrap();
    snapshot.turns_completed += 1;
    let last = events.last().unwrap().clone();
    events.push(Envelope { seq: last.seq + 1, turn: None, event: snapshot.into(), ..last });
    for event in &mut events {
        if let Event::PromptSet(data) = &mut event.event {
            data.text.push('!');
        }
    }
    let (store, session) = stored(&events).await;
    let report = super::session(&store, &session).await.unwrap();
    assert_eq!(codes(&report), ["HASH_MISFIT", "SNAPSHOT_MISFIT"]);
    let mut other = JournalCheck::new(Some(SessionId::from("another")));
    events.iter().for_each(|event| other.event(event));
    assert!(codes(&other.finish().0).contains(&"WRONG_SESSION"));
    assert!(super::session(&MemoryStore::new(), &session).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn sess_14_missing_blobs_are_reported() {
    let mut events = two_turns().await;
    let (kept, gone) = (BlobRef::of(b"kept"), BlobRef::of(b"gone"));
    let image = |blob: &BlobRef| {
        let (blob, media_type) = (blob.clone(), "image/png".to_owned());
        Block::Image(Image { blob, media_type, extra: Map::new() })
    };
    let ids = robota_core::ids::CountingIds::default();
    let message = Message::user(&ids, vec![image(&kept), image(&gone)]);
    let last = events.last().unwrap().clone();
    let event = MessageInjected { message: message.into() }.into();
    events.push(Envelope { seq: last.seq + 1, turn: None, event, ..last });
    let (store, session) = stored(&events).await;
    store.blobs(&session).put(b"kept").await.unwrap();
    let report = super::session(&store, &session).await.unwrap();
    assert_eq!((codes(&report), report.references), (vec!["BLOB_MISSING"], 2));
}

#[tokio::test(start_paused = true)]
async fn sess_14_every_missing_piece_of_a_log_is_reported() {
    let exported = from_events(&"s".into(), &two_turns().await, &Redactor::default()).unwrap();
    let log = |drop: &str| {
        let lines = exported.lines.iter().filter(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["event"] != drop
        });
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        let report = super::log(text.as_bytes(), &Payloads::new());
        let errors =
            report.findings.iter().filter(|found| found.severity == FindingSeverity::Error);
        errors.map(|found| found.code).collect::<Vec<_>>()
    };
    assert_eq!(log("nothing"), Vec::<&str>::new());
    assert_eq!(log("session_init"), ["SESSION_INIT_MISSING"]);
    assert_eq!(log("provider_response_raw"), ["PROVIDER_RESPONSE_RAW_MISSING"; 3]);
    assert_eq!(log("provider_response_normalized"), ["PROVIDER_RESPONSE_NORMALIZED_MISSING"; 3]);
    assert_eq!(log("tool_execution_result"), ["TOOL_RESULT_MISSING"; 3]);
    assert_eq!(log("tool_execution_request"), ["TOOL_REQUEST_MISSING"; 3]);
    assert_eq!(log("tool_message_committed"), ["TOOL_MESSAGE_MISSING"; 3]);
    assert_eq!(log("assistant"), ["TERMINAL_MISSING"; 2]);
    // A scripted model has no raw payloads: that they are missing is only a warning.
    let report = super::log(&exported.bytes(), &Payloads::new());
    assert!(report.ok());
    assert_eq!(codes(&report), ["PROVIDER_NATIVE_RAW_PAYLOAD_MISSING"; 3]);

    let mut mutations = 0;
    let gap: String = exported
        .lines
        .iter()
        .filter(|line| {
            mutations += u64::from(line.contains("history_mutation"));
            mutations != 2 || !line.contains("history_mutation")
        })
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(codes(&super::log(gap.as_bytes(), &Payloads::new())).contains(&"HISTORY_GAP"));
    let broken =
        "{\"event\":\"x\",\"a\":{\"kind\":\"external-payload\"}}\n[]\n{\"a\":1}\nnot json\n";
    assert_eq!(
        codes(&super::log(broken.as_bytes(), &Payloads::new())),
        [
            "PAYLOAD_REFERENCE_INVALID",
            "MALFORMED_LINE",
            "MALFORMED_LINE",
            "MALFORMED_LINE",
            "SESSION_INIT_MISSING"
        ]
    );
}

#[test]
fn sess_14_a_record_is_validated_too() {
    let record = json!({"id": "", "createdAt": "2026-01-02T03:04:05Z", "messages": [
        {"role": "assistant", "content": "", "toolCalls": [{"id": "c", "function": {"name": "ls"}}]},
        {"role": "user", "content": "?"},
        {"role": "tool", "toolCallId": "zzz", "content": "stray"},
        {"role": "wizard", "content": "?"}]});
    let report = replay::validate::record(&Record::parse(&record.to_string()).unwrap());
    let found = codes(&report);
    for code in ["UNPAIRED_TOOL_USE", "RESULT_WITHOUT_CALL", "MESSAGE_UNREADABLE", "ID_MISSING"] {
        assert!(found.contains(&code), "{code}: {found:?}");
    }
}
