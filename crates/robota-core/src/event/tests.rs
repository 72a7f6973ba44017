//! Every event survives the journal, and no bytes make reading one panic.

mod samples;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tool::ToolOutcome;
use samples::{line, samples};

fn seal(body: &str) -> Vec<u8> {
    let crc = crc32fast::hash(body.as_bytes());
    format!("{body},\"crc\":\"{crc:08x}\"}}\n").into_bytes()
}

/// Returns a whole line with that type and data.
fn raw(kind: &str, data: &str) -> Vec<u8> {
    let head = r#"{"seq":7,"epoch":2,"ts":"2026-01-02T03:04:05Z","type":"#;
    seal(&format!("{head}{},\"data\":{data}", json!(kind)))
}

#[test]
fn core_20_every_event_of_the_table_has_a_sample_that_round_trips() {
    let samples = samples();
    for info in TABLE {
        let found = samples.iter().filter(|event| event.kind() == info.name).count();
        assert!(found > 0, "no sample of {}", info.name);
        assert!(!info.doc.is_empty());
    }
    for event in samples {
        let envelope = line(event);
        let mut bytes = Vec::new();
        envelope.encode(&mut bytes).unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
        let read = Envelope::decode(&bytes).unwrap();
        assert_eq!(read, envelope);
        let mut again = Vec::new();
        read.encode(&mut again).unwrap();
        assert_eq!(again, bytes);
        assert_eq!(format!("{}\n", envelope.to_line()).as_bytes(), bytes);
        assert_eq!(Envelope::decode(bytes.strip_suffix(b"\n").unwrap()).unwrap(), envelope);
    }
}

#[test]
fn core_20_names_are_unique_and_schemas_are_complete() {
    let names: std::collections::HashSet<_> = TABLE.iter().map(|info| info.name).collect();
    assert_eq!(names.len(), TABLE.len());
    let schemas = Event::schemas(&mut schemars::SchemaGenerator::default());
    let described: Vec<_> = schemas.iter().map(|(name, _)| *name).collect();
    assert_eq!(described, TABLE.iter().map(|info| info.name).collect::<Vec<_>>());
}

#[test]
fn core_20_the_line_is_as_documented() {
    let event = TextChunk { round: 1, text: "hi".to_owned() };
    let text = line(event.into()).to_line();
    let body = r#"{"seq":1042,"epoch":3,"ts":"2026-01-02T03:04:05.678Z","turn":"t1","type":"text_chunk","data":{"round":1,"text":"hi"}"#;
    assert_eq!(text.as_bytes(), seal(body).strip_suffix(b"\n").unwrap());
}

#[test]
fn core_20_unknown_types_keep_their_data_byte_for_byte() {
    for data in [
        r#"{ "b":1e400,  "a" : [1.0, 1e2, "A"], "b":2 }"#,
        "null",
        "123456789012345678901234567890.10",
        r#""""#,
    ] {
        let bytes = raw("from_the_future", data);
        let read = Envelope::decode(&bytes).unwrap();
        let Event::Unknown { kind, data: kept } = &read.event else { panic!("{read:?}") };
        assert_eq!((kind.as_str(), kept.as_str()), ("from_the_future", data));
        assert_eq!(read.event.durability(), Durability::Written);
        assert!(read.event.info().is_none() && !read.event.is_chunk());
        let mut again = Vec::new();
        read.encode(&mut again).unwrap();
        assert_eq!(again, bytes);
    }
}

#[test]
fn core_20_a_journal_for_newer_readers_is_refused() {
    let mut envelope = line(Closed::from("done").into());
    for (needed, refused) in [(READER, false), (READER + 1, true), (u32::MAX, true)] {
        envelope.min_reader = Some(needed);
        let read = Envelope::decode(envelope.to_line().as_bytes());
        if refused {
            assert_eq!(read, Err(DecodeError::NewerReader { needed }));
        } else {
            assert_eq!(read, Ok(envelope.clone()));
        }
    }
    // Also if this version cannot read anything else of the event.
    let head =
        r#"{"seq":7,"epoch":2,"ts":"2026-01-02T03:04:05Z","min_reader":9,"type":"closed","data":7"#;
    assert_eq!(Envelope::decode(&seal(head)), Err(DecodeError::NewerReader { needed: 9 }));
    assert_eq!(FORMAT, 1, "another format needs frozen fixtures of its own");
}

#[test]
fn core_20_a_torn_line_is_torn_wherever_it_tears() {
    let whole = line(Renamed { name: "a \"name\", with }".to_owned() }.into()).to_line();
    for length in 0..whole.len() {
        let torn = Envelope::decode(&whole.as_bytes()[..length]);
        assert!(matches!(torn, Err(DecodeError::Torn)), "{length}: {torn:?}");
    }
}

#[test]
fn core_20_a_damaged_byte_is_noticed_wherever_it_is() {
    let whole = line(Renamed { name: "name".to_owned() }.into()).to_line().into_bytes();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x01;
        let read = Envelope::decode(&damaged);
        assert!(
            matches!(read, Err(DecodeError::Torn | DecodeError::Checksum { .. })),
            "{at}: {read:?}"
        );
    }
    let mut damaged = whole;
    damaged[3] ^= 0x20;
    let error = Envelope::decode(&damaged).unwrap_err();
    assert!(matches!(error, DecodeError::Checksum { .. }));
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn core_20_an_invalid_line_is_malformed_and_the_error_says_why() {
    for (line, says) in [
        (raw("text_chunk", "{}"), "text_chunk"),
        (raw("text_chunk", "[1, 2"), ""),
        (seal("{\"seq\":1"), "missing field"),
        (seal("not json"), ""),
        (seal("{\"seq\":-1,\"epoch\":0"), ""),
    ] {
        let error = Envelope::decode(&line).unwrap_err();
        assert!(matches!(error, DecodeError::Malformed(_)), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let _ = Envelope::decode(&raw("from_the_future", &deep));
    assert!(Envelope::decode(&raw("tool_started", &deep)).is_err());
}

#[test]
fn core_20_the_barriers_are_those_of_the_table() {
    let synced = [
        "closed",
        "message_injected",
        "input_accepted",
        "input_changed",
        "turn_rules_added",
        "compaction_finished",
        "files_changing",
        "files_watched",
        "turn_finished",
        "rewound",
        "view_restored",
        "restore_started",
        "restore_finished",
        "label_set",
        "forked",
        "recovered",
        "schedule_added",
        "schedule_skipped",
        "schedule_paused",
        "schedule_resumed",
        "schedule_removed",
        "room_joined",
        "room_left",
        "room_said",
        "room_heard",
    ];
    let by_effect = ["tool_started", "tool_finished"];
    for info in TABLE {
        let expected = if synced.contains(&info.name) {
            Barrier::Synced
        } else if by_effect.contains(&info.name) {
            Barrier::SyncedForEffects
        } else {
            Barrier::Written
        };
        assert_eq!(info.barrier, expected, "{}", info.name);
    }
    for event in samples() {
        let expected = match event.info().unwrap().barrier {
            Barrier::Written => Durability::Written,
            Barrier::Synced => Durability::Synced,
            Barrier::SyncedForEffects => continue,
        };
        assert_eq!(event.durability(), expected, "{}", event.kind());
    }
}

#[test]
fn core_20_a_call_with_effects_is_synced_before_and_after() {
    for (class, expected) in [
        (Class::Inspect, Durability::Written),
        (Class::Modify, Durability::Synced),
        (Class::Execute, Durability::Synced),
    ] {
        let call = crate::ids::CallId::from("c");
        let started = Event::from(ToolStarted { call: call.clone(), class, input: None });
        assert_eq!(started.durability(), expected);
        let finished = |class, outcome: ToolOutcome| {
            Event::from(ToolFinished {
                call: call.clone(),
                class,
                outcome: outcome.into(),
                duration_ms: 1,
            })
        };
        assert_eq!(finished(Some(class), ToolOutcome::ok("")).durability(), expected);
        let unknown = finished(None, ToolOutcome::ok("")).durability();
        assert_eq!(unknown, Durability::Synced, "what is not known to only look had effects");
        let never = finished(Some(class), ToolOutcome::not_run("denied", "")).durability();
        assert_eq!(never, Durability::Written);
    }
}

#[test]
fn core_20_intents_are_what_has_not_happened_yet() {
    let named = |nature| {
        let rows = TABLE.iter().filter(move |info| info.nature == nature);
        rows.map(|info| info.name).collect::<Vec<_>>()
    };
    let intents = [
        "compaction_started",
        "model_requested",
        "hook_started",
        "permission_asked",
        "tool_started",
        "files_changing",
        "files_watched",
        "restore_started",
    ];
    assert_eq!(named(Nature::Intent), intents);
    let chunks = ["text_chunk", "thinking_chunk", "tool_input_chunk", "tool_output"];
    assert_eq!(named(Nature::Chunk), chunks);
    for event in samples() {
        assert_eq!(event.is_chunk(), chunks.contains(&event.kind()));
    }
}

#[test]
fn core_20_cursors_are_text() {
    let cursor = Cursor { epoch: 3, seq: 1042 };
    assert_eq!(cursor.to_string(), "3-1042");
    assert_eq!("3-1042".parse(), Ok(cursor));
    assert_eq!(serde_json::to_string(&cursor).unwrap(), "\"3-1042\"");
    assert_eq!(serde_json::from_str::<Cursor>("\"3-1042\"").unwrap(), cursor);
    assert_eq!(serde_json::from_str::<Cursor>("\"3\\u002d1042\"").unwrap(), cursor);
    for text in ["", "-", "3", "3-", "-3", "+3-1", "3--1", "3-1-1", " 3-1", "3-x", "4294967296-1"] {
        let error = text.parse::<Cursor>().unwrap_err().to_string();
        assert!(error.contains("3-1042"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn core_20_cursors_print_and_parse(epoch: u32, seq: u64) {
        let cursor = Cursor { epoch, seq };
        prop_assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
    }

    #[test]
    fn core_20_no_bytes_make_reading_a_line_panic(bytes: Vec<u8>, text in "\\PC*", at: usize) {
        let _ = Envelope::decode(&bytes);
        let _ = Envelope::decode(&seal(&text));
        let kind = TABLE[at % TABLE.len()].name;
        let _ = Envelope::decode(&raw(kind, &text));
        let _ = text.parse::<Cursor>();
    }

    #[test]
    fn core_20_an_altered_event_is_refused_or_decoded(
        at: usize, place: usize, byte in 0x20_u8..0x7f,
    ) {
        let all = samples();
        let whole = line(all[at % all.len()].clone()).to_line();
        let mut body = whole.as_bytes()[..whole.len() - 18].to_vec();
        let place = place % body.len();
        body[place] = byte;
        let Ok(body) = String::from_utf8(body) else { return Ok(()) };
        if let Ok(read) = Envelope::decode(&seal(&body)) {
            prop_assert_eq!(Envelope::decode(read.to_line().as_bytes()), Ok(read));
        }
    }

    #[test]
    fn core_20_text_of_any_kind_survives(text: String, name: String) {
        for event in [
            Event::from(TextChunk { round: 1, text: text.clone() }),
            Event::from(Renamed { name }),
            Event::from(ToolOutput { call: text.as_str().into(), text }),
        ] {
            let envelope = line(event);
            prop_assert_eq!(Envelope::decode(envelope.to_line().as_bytes()), Ok(envelope));
        }
    }
}
