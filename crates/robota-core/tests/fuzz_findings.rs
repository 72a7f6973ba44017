//! Regression tests for inputs that the fuzzer found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use robota_core::error::ErrorKind;
use robota_core::event::{Closed, DecodeError, Envelope, Event, ProviderPayload, ToolCalled};
use robota_core::ids::CountingIds;
use robota_core::message::{ToolInput, ToolUse};
use robota_core::provider::{PayloadKind, ProviderError};
use robota_core::state::State;
use robota_core::tool::validate;
use robota_core::turn::{Effect, Env, Input, Turn, TurnFacts, TurnInput, TurnRules};

fn envelope(seq: u64, epoch: u32, event: impl Into<Event>) -> Envelope {
    let ts = Timestamp::UNIX_EPOCH;
    Envelope { seq, epoch, ts, turn: None, event: event.into(), min_reader: None }
}

fn closed(seq: u64, epoch: u32) -> Envelope {
    envelope(seq, epoch, Closed::from("done"))
}

fn called(input: ToolInput) -> Envelope {
    let tool_use = ToolUse::new("call".into(), "id", "name", input);
    envelope(1, 1, ToolCalled { round: 1, index: 0, tool_use })
}

fn payload(payload: Value) -> Envelope {
    let event = ProviderPayload {
        round: 1,
        provider: "p".to_owned(),
        api_surface: None,
        kind: PayloadKind::Request,
        sequence: 0,
        payload,
        metadata: serde_json::Map::new(),
    };
    envelope(1, 1, event)
}

fn line(envelope: &Envelope) -> Vec<u8> {
    let mut line = Vec::new();
    envelope.encode(&mut line).unwrap();
    line
}

/// Returns a line whose data is `data`, sealed.
fn sealed(kind: &str, data: &str) -> Vec<u8> {
    let ts = Timestamp::UNIX_EPOCH;
    let body = format!(r#"{{"seq":1,"epoch":1,"ts":"{ts}","type":"{kind}","data":{data}"#);
    format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes())).into_bytes()
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// Strings of JSON in each other, each under the key that the JSON library keeps for itself.
fn private_keys(levels: usize) -> String {
    let mut text = "1".to_owned();
    for _ in 0..levels {
        let deep = format!("{}{text}{}", "[".repeat(100), "]".repeat(100));
        let quoted = deep.replace('\\', "\\u005c").replace('"', "\\u0022");
        text = format!("{{\"$serde_json::private::RawValue\":\"{quoted}\"}}");
    }
    text
}

#[test]
fn json_inside_of_strings_stays_a_string() {
    let text = private_keys(60);
    assert!(text.len() < 200_000, "a model writes that easily: {} bytes", text.len());
    let expected: Value = serde_json::from_str(&text).unwrap();
    assert!(expected["$serde_json::private::RawValue"].is_string());
    assert_eq!(ToolInput::parse(&text), ToolInput::Json(expected));
}

#[test]
fn the_deepest_arguments_that_can_be_read_can_be_journaled() {
    let input = ToolInput::parse(&nested(127));
    assert!(input.json().is_some());
    let envelope = called(input);
    assert_eq!(Envelope::decode(&line(&envelope)), Ok(envelope));
    // Deeper ones are declared unreadable, and that can be journaled too.
    let input = ToolInput::parse(&nested(100_000));
    assert_eq!(input.json(), None);
    let envelope = called(input);
    assert_eq!(Envelope::decode(&line(&envelope)), Ok(envelope));
}

#[test]
fn nothing_is_written_that_cannot_be_read() {
    // Data with 256 levels is read, on a small stack; data with 257 levels is neither written nor
    // read.
    let mut value = json!([]);
    for _ in 0..254 {
        value = json!([value]);
    }
    let deepest = payload(value.clone());
    let read = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || assert_eq!(Envelope::decode(&line(&deepest)), Ok(deepest)));
    read.unwrap().join().unwrap();

    let deeper = payload(json!([value]));
    let error = deeper.encode(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("256 levels"), "{error}");
    let data = format!(r#"{{"round":1,"text":{}}}"#, nested(256));
    let error = Envelope::decode(&sealed("text_chunk", &data)).unwrap_err().to_string();
    assert!(error.contains("256 levels"), "{error}");
    // Data of unknown events has no limit.
    let carried = Envelope::decode(&sealed("tomorrow", &nested(100_000))).unwrap();
    assert_eq!(Envelope::decode(&line(&carried)), Ok(carried));
}

#[test]
fn brackets_in_strings_are_not_nesting() {
    let text = r#"\"[{["#.repeat(1000);
    let envelope = payload(json!({ "text": text, "more": "\\" }));
    assert_eq!(Envelope::decode(&line(&envelope)), Ok(envelope));
}

#[test]
fn numbers_are_read_as_they_were_written() {
    for number in [31.245_270_191_439_438, 121.487_911_696_042_71, 1.0 / 3.0, 5e-324, f64::MAX] {
        let envelope = payload(json!(number));
        assert_eq!(Envelope::decode(&line(&envelope)), Ok(envelope));
    }
}

#[test]
fn a_key_that_comes_twice_reads_the_same_every_time() {
    let twice = r#"{"round":1,"index":0,"tool_use":{"call":"c","id":"p","name":"n",
        "input":{"$unparsed":"a","$unparsed":"b","$error":"e"}}}"#
        .replace('\n', "");
    let first = Envelope::decode(&sealed("tool_called", &twice)).unwrap();
    assert_eq!(Envelope::decode(&line(&first)), Ok(first));
}

#[test]
fn the_last_number_there_is_folds_and_nothing_follows_it() {
    let mut state = State::default();
    state.apply(&closed(u64::MAX, u32::MAX)).unwrap();
    for seq in [0, 1, u64::MAX] {
        assert!(state.apply(&closed(seq, u32::MAX)).is_err());
    }
    // No writer reaches these numbers, and no event could follow them, so such lines are refused.
    for (seq, epoch) in [(u64::MAX, 1), (1 << 53, 1), (1, u32::MAX)] {
        let decoded = Envelope::decode(&line(&closed(seq, epoch)));
        assert!(matches!(decoded, Err(DecodeError::Malformed(_))), "{decoded:?}");
    }
    let last = closed((1 << 53) - 1, u32::MAX - 1);
    assert_eq!(Envelope::decode(&line(&last)), Ok(last));
}

#[test]
fn the_fields_of_a_line_come_in_any_order_and_may_be_more() {
    let body = "{ \"data\" : {\"reason\":\"done\"} ,\"later\":{\"data\":[1]},\"type\":\"clos\\u0065d\",\
                \"turn\":null, \"ts\":\"1970-01-01T00:00:00Z\",\"epoch\":1,\"seq\":7";
    let line = format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes()));
    assert_eq!(Envelope::decode(line.as_bytes()), Ok(closed(7, 1)));
}

#[test]
fn a_line_that_is_not_an_event_says_what_is_wrong() {
    let ts = r#""ts":"1970-01-01T00:00:00Z""#;
    for (body, word) in [
        (
            format!(r#"{{"seq":1,{ts},"type":"closed","data":{{"reason":""}}"#),
            "missing field `epoch`",
        ),
        (format!(r#"{{"seq":"1",{ts},"epoch":1"#), "`seq`"),
        (r#"{"seq":1,"data":{"a":1"#.to_owned(), "`}` is missing"),
        (r#"["#.to_owned(), "`{` is missing"),
        (r#"{"seq" 1"#.to_owned(), "`:` is missing"),
    ] {
        let line = format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes()));
        match Envelope::decode(line.as_bytes()) {
            Err(DecodeError::Malformed(error)) => assert!(error.contains(word), "{error}"),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn a_huge_retry_after_does_not_overflow_the_budget() {
    let (state, ids) = (State::default(), CountingIds::default());
    let env = |elapsed| Env { state: &state, ids: &ids, elapsed: Duration::from_secs(elapsed) };
    let mut rules = TurnRules::new("m");
    rules.retry.budget = Duration::MAX;
    let (mut turn, _) = Turn::start(rules, TurnFacts::default(), TurnInput::Continue, &env(0));
    turn.on(Input::Appended, &env(0));
    let failure = ProviderError::new(ErrorKind::RateLimit, "later").with_retry_after(Duration::MAX);
    for elapsed in [1, 2] {
        let effects = turn.on(Input::ModelFailed(failure.clone()), &env(elapsed));
        assert!(effects.contains(&Effect::Wait(Duration::MAX)), "{effects:?}");
        turn.on(Input::WaitOver, &env(elapsed));
    }
}

#[test]
fn a_thousand_mistakes_are_not_all_listed() {
    let input: Vec<u32> = (0..1000).collect();
    let schema = json!({"items": {"type": "string"}});
    let error = validate(&schema, &json!(input)).unwrap_err().0;
    assert!(error.starts_with("`[0]` must be string, not integer; `[1]` must"), "{error}");
    assert!(error.ends_with("; `[15]` must be string, not integer; and 984 more"), "{error}");
}
