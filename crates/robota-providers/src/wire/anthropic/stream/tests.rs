#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use proptest::prelude::*;
use robota_core::message::{Block, ToolUse};
use serde_json::json;

use super::*;
use crate::fuzzing::read;

/// Frames events as the service does.
fn sse(events: &[Value]) -> String {
    let frame = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("odd"))
    };
    events.iter().map(frame).collect()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [],
        "usage": {"input_tokens": 9, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 30,
                  "output_tokens": 1}}})
}

fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn piece(index: u64, kind: &str, key: &str, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}})
}

fn end_block(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn over(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]
}

fn answer(middle: &[Value], reason: &str) -> String {
    let mut events = vec![start()];
    events.extend_from_slice(middle);
    events.extend(over(reason));
    sse(&events)
}

fn decode(text: &str) -> (Vec<Delta>, Option<Failure>) {
    read(text.as_bytes(), text.len(), &mut Decoder::new("m"))
}

/// Decodes an answer, without usage and pieces of input.
fn content(text: &str) -> Vec<Delta> {
    let (deltas, failure) = decode(text);
    assert_eq!(failure, None);
    let is_content = |delta: &Delta| !matches!(delta, Delta::Usage(_) | Delta::ToolInput { .. });
    deltas.into_iter().filter(is_content).collect()
}

fn call(id: &str, name: &str, input: Value) -> Delta {
    Delta::Block(Block::ToolUse(ToolUse::new("".into(), id, name, ToolInput::Json(input))))
}

#[test]
fn text_usage_and_end() {
    let middle = [
        begin(0, json!({"type": "text", "text": ""})),
        json!({"type": "ping"}),
        piece(0, "text_delta", "text", "Hi"),
        piece(0, "text_delta", "text", " there"),
        end_block(0),
    ];
    let (deltas, failure) = decode(&answer(&middle, "end_turn"));
    assert_eq!(failure, None);
    let before = Usage {
        input_tokens: 43,
        output_tokens: 1,
        cache_read_tokens: 30,
        cache_write_tokens: 4,
        ..Usage::default()
    };
    assert_eq!(
        deltas,
        [
            Delta::Usage(before),
            Delta::Text("Hi there".into()),
            Delta::Usage(Usage { output_tokens: 5, ..before }),
            Delta::End(StopReason::EndTurn),
        ]
    );
}

#[test]
fn reasoning_keeps_its_signature_even_when_it_is_hidden() {
    let middle = [
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        piece(0, "thinking_delta", "thinking", "Add "),
        piece(0, "thinking_delta", "thinking", "them."),
        piece(0, "signature_delta", "signature", "c2ln"),
        end_block(0),
        begin(1, json!({"type": "thinking", "thinking": "", "signature": "aGlk"})),
        end_block(1),
        begin(2, json!({"type": "redacted_thinking", "data": "ZGF0YQ"})),
        end_block(2),
        begin(3, json!({"type": "text", "text": "5"})),
        end_block(3),
    ];
    assert_eq!(
        content(&answer(&middle, "end_turn")),
        [
            Delta::Thinking("Add them.".into()),
            thinking(WIRE, "m", "Add them.".into(), Some("c2ln".into())),
            thinking(WIRE, "m", String::new(), Some("aGlk".into())),
            opaque(WIRE, "m", json!({"type": "redacted_thinking", "data": "ZGF0YQ"})),
            Delta::Text("5".into()),
            Delta::End(StopReason::EndTurn),
        ]
    );
}

#[test]
fn calls_are_whole_and_in_order() {
    let middle = [
        begin(0, json!({"type": "tool_use", "id": "toolu_a", "name": "read", "input": {}})),
        piece(0, "input_json_delta", "partial_json", ""),
        piece(0, "input_json_delta", "partial_json", "{\"path\":\"a.t"),
        // The next block starts before this one has ended, and this one has no input.
        begin(1, json!({"type": "tool_use", "id": "toolu_b", "name": "list"})),
        end_block(1),
        piece(0, "input_json_delta", "partial_json", "xt\"}"),
        end_block(0),
    ];
    let (deltas, failure) = decode(&answer(&middle, "tool_use"));
    assert_eq!(failure, None);
    let inputs: Vec<_> =
        deltas.iter().filter(|delta| matches!(delta, Delta::ToolInput { .. })).collect();
    assert_eq!(inputs.len(), 3, "{inputs:?}");
    assert_eq!(
        content(&answer(&middle, "tool_use")),
        [
            call("toolu_a", "read", json!({"path": "a.txt"})),
            call("toolu_b", "list", json!({})),
            Delta::End(StopReason::ToolUse),
        ]
    );
}

#[test]
fn a_truncated_call_is_marked_unparsed() {
    let middle = [
        begin(0, json!({"type": "tool_use", "id": "toolu_a", "name": "read", "input": {}})),
        piece(0, "input_json_delta", "partial_json", "{\"path\": \"a"),
        end_block(0),
    ];
    let content = content(&answer(&middle, "max_tokens"));
    let [Delta::Block(Block::ToolUse(call)), Delta::End(StopReason::MaxTokens)] = &content[..]
    else {
        panic!("{content:?}");
    };
    assert!(matches!(&call.input, ToolInput::Unparsed(cut) if cut.raw == "{\"path\": \"a"));
}

#[test]
fn core_17_missing_and_repeated_ids_and_indices() {
    let middle = [
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "name": "read", "input": {"path": "x"}}}),
        json!({"type": "content_block_stop"}),
        begin(0, json!({"type": "tool_use", "id": "call_0", "name": "list"})),
        begin(0, json!({"type": "tool_use", "id": "call_0", "name": "list"})),
    ];
    assert_eq!(
        content(&answer(&middle, "tool_use")),
        [
            call("call_0", "read", json!({"path": "x"})),
            call("call_0-2", "list", json!({})),
            call("call_0-3", "list", json!({})),
            Delta::End(StopReason::ToolUse),
        ]
    );
}

#[test]
fn text_waits_for_open_reasoning() {
    let middle = [
        begin(0, json!({"type": "thinking", "thinking": ""})),
        piece(0, "thinking_delta", "thinking", "a"),
        begin(1, json!({"type": "text", "text": ""})),
        piece(1, "text_delta", "text", "x"),
        piece(0, "thinking_delta", "thinking", "b"),
        piece(0, "signature_delta", "signature", "s"),
        end_block(0),
        piece(1, "text_delta", "text", "y"),
    ];
    assert_eq!(
        content(&answer(&middle, "end_turn")),
        [
            Delta::Thinking("ab".into()),
            thinking(WIRE, "m", "ab".into(), Some("s".into())),
            Delta::Text("xy".into()),
            Delta::End(StopReason::EndTurn),
        ]
    );
}

#[test]
fn sdk_26_web_search_is_reported_and_kept_unchanged() {
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "url": "https://e.test", "title": "T", "encrypted_content": "ZW5j"}]});
    let middle = [
        begin(
            0,
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        ),
        piece(0, "input_json_delta", "partial_json", "{\"query\":\"x\"}"),
        end_block(0),
        begin(1, result.clone()),
        end_block(1),
        begin(2, json!({"type": "text", "text": "", "citations": []})),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta",
            "citation": {"url": "https://e.test", "cited_text": "y"}}}),
        piece(2, "text_delta", "text", "y"),
        end_block(2),
    ];
    let text = answer(&middle, "end_turn");
    let (deltas, _) = decode(&text);
    assert!(deltas.contains(&Delta::ToolInput {
        index: SERVER_TOOL_INDEX,
        id: None,
        name: Some("web_search".into()),
        json: "{\"query\":\"x\"}".into(),
    }));
    let content = content(&text);
    assert_eq!(
        content[..3],
        [
            opaque(
                WIRE,
                "m",
                json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
                "input": {"query": "x"}})
            ),
            opaque(WIRE, "m", result),
            Delta::Text("y".into()),
        ]
    );
    let Delta::Block(Block::Opaque(sources)) = &content[3] else { panic!("{content:?}") };
    assert_eq!(sources.wire, MESSAGES);
}

#[test]
fn every_stop_reason() {
    let reasons = [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::StopSequence),
        ("pause_turn", StopReason::Pause),
        ("refusal", StopReason::Refusal),
        ("model_context_window_exceeded", StopReason::WindowFull),
        ("max_tokens", StopReason::MaxTokens),
        ("new_word", StopReason::Other("new_word".into())),
    ];
    for (word, reason) in reasons {
        assert_eq!(content(&answer(&[], word)), [Delta::End(reason)]);
    }
}

#[test]
fn an_answer_without_end_is_truncated() {
    let whole = answer(&[begin(0, json!({"type": "text", "text": "Hi"}))], "end_turn");
    let cut =
        whole.strip_suffix("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n").unwrap();
    let (deltas, failure) = decode(cut);
    assert_eq!(failure, Some(Failure::truncated()));
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::End(_))));
}

#[test]
fn errors_in_the_stream_in_both_shapes() {
    let own = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_2\"}\n\n";
    let failure = decode(own).1.unwrap();
    assert_eq!(failure.codes, ["overloaded_error"]);
    assert_eq!(failure.request_id.as_deref(), Some("req_2"));
    let foreign =
        "data: {\"error\":{\"message\":\"no slot\",\"type\":\"server_error\",\"code\":500}}\n\n";
    let failure = decode(foreign).1.unwrap();
    assert_eq!((failure.message.as_str(), failure.status), ("no slot", Some(500)));
    let failure = decode("event: error\ndata: out of memory\n\n").1.unwrap();
    assert_eq!(failure.message, "out of memory");
}

#[test]
fn a_lone_surrogate_does_not_fail_the_answer() {
    let text = answer(&[begin(0, json!({"type": "text", "text": ""}))], "end_turn");
    let event_with_lone_surrogate = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\\ud83d\"}}\n\n";
    let at = text.find("event: message_delta").unwrap();
    let text = format!("{}{event_with_lone_surrogate}{}", &text[..at], &text[at..]);
    assert_eq!(content(&text)[0], Delta::Text("a\u{fffd}".into()));
}

proptest! {
    #[test]
    fn chunking_never_changes_the_result(size in 1usize..64) {
        let middle = [
            begin(0, json!({"type": "thinking", "thinking": ""})),
            piece(0, "thinking_delta", "thinking", "Grüße 😀"),
            piece(0, "signature_delta", "signature", "c2ln"),
            end_block(0),
            begin(1, json!({"type": "text", "text": ""})),
            piece(1, "text_delta", "text", "naïve\n\ntext"),
            end_block(1),
            begin(2, json!({"type": "tool_use", "id": "a", "name": "read", "input": {}})),
            piece(2, "input_json_delta", "partial_json", "{\"path\":\"ü\"}"),
            end_block(2),
        ];
        let text = answer(&middle, "tool_use").replace('\n', "\r\n");
        let whole = read(text.as_bytes(), text.len(), &mut Decoder::new("m"));
        prop_assert_eq!(read(text.as_bytes(), size, &mut Decoder::new("m")), whole);
    }
}
