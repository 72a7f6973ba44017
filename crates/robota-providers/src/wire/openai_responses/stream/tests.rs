#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use proptest::prelude::*;
use robota_core::message::{Block, ToolUse};

use super::*;
use crate::fuzzing::read;

fn sse(events: &[Value]) -> String {
    let frame = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("odd"))
    };
    events.iter().map(frame).collect()
}

fn created() -> Value {
    json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1",
        "status": "in_progress", "output": [], "tools": []}})
}

fn completed(status: &str, more: Value) -> Value {
    let mut response = json!({"id": "resp_1", "status": status, "output": [], "usage": {
        "input_tokens": 9, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 12}, "total_tokens": 29}});
    crate::json::merge(&mut response, &more);
    json!({"type": format!("response.{status}"), "response": response})
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": text})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn function(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "arguments": arguments, "status": "completed"})
}

fn decode(text: &str) -> (Vec<Delta>, Option<Failure>) {
    read(text.as_bytes(), text.len(), &mut Decoder::new("m"))
}

fn content(events: &[Value]) -> Vec<Delta> {
    let (deltas, failure) = decode(&sse(events));
    assert_eq!(failure, None);
    let is_content = |delta: &Delta| !matches!(delta, Delta::Usage(_) | Delta::ToolInput { .. });
    deltas.into_iter().filter(is_content).collect()
}

fn call(id: &str, name: &str, input: Value) -> Delta {
    Delta::Block(Block::ToolUse(ToolUse::new("".into(), id, name, ToolInput::Json(input))))
}

#[test]
fn reasoning_text_usage_and_end() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "Z0FB",
        "summary": [{"type": "summary_text", "text": "Add."}]});
    let events = [
        created(),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0}),
        delta("reasoning_summary_text", 0, "Add."),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1}),
        delta("reasoning_summary_text", 0, "Then stop."),
        done(0, reasoning),
        added(1, json!({"type": "message", "id": "msg_1", "content": []})),
        delta("output_text", 1, "5"),
        done(1, message("5")),
        completed("completed", json!({})),
    ];
    let (deltas, failure) = decode(&sse(&events));
    assert_eq!(failure, None);
    let item = json!({"type": "reasoning", "encrypted_content": "Z0FB",
        "summary": [{"type": "summary_text", "text": "Add."}]});
    let usage = Usage {
        input_tokens: 9,
        output_tokens: 20,
        cache_read_tokens: 2,
        reasoning_tokens: 12,
        ..Usage::default()
    };
    assert_eq!(
        deltas,
        [
            Delta::Thinking("Add.\n\nThen stop.".into()),
            opaque(WIRE, "m", item),
            Delta::Text("5".into()),
            Delta::Usage(usage),
            Delta::End(StopReason::EndTurn),
        ]
    );
}

#[test]
fn items_without_deltas_are_emitted_when_done() {
    let events = [
        done(0, json!({"type": "reasoning", "summary": [{"text": "Hm."}]})),
        done(1, message("Hi")),
        completed("completed", json!({})),
    ];
    assert_eq!(
        content(&events),
        [Delta::Thinking("Hm.".into()), Delta::Text("Hi".into()), Delta::End(StopReason::EndTurn)]
    );
}

#[test]
fn completed_calls_are_authoritative() {
    let events = [
        created(),
        added(0, function("call_a", "read", "")),
        delta("function_call_arguments", 0, "{\"path\":\"wr"),
        done(0, function("call_a", "read", "{\"path\":\"a.txt\"}")),
        added(1, function("call_b", "list", "")),
        delta("function_call_arguments", 1, "{}"),
        // The second one has no `done` event.
        completed("completed", json!({})),
    ];
    assert_eq!(
        content(&events),
        [
            call("call_a", "read", json!({"path": "a.txt"})),
            call("call_b", "list", json!({})),
            Delta::End(StopReason::ToolUse),
        ]
    );
}

#[test]
fn sdk_26_a_search_is_reported_and_kept() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "queries": ["x"]}});
    let mut cited = message("y");
    cited["content"][0]["annotations"] = json!([{"type": "url_citation", "url": "https://e.test"}]);
    cited["phase"] = "final_answer".into();
    let events = [
        added(0, search.clone()),
        done(0, search),
        added(1, message("")),
        delta("output_text", 1, "y"),
        done(1, cited),
        completed("completed", json!({"usage": {"input_tokens": 3, "output_tokens": 1}})),
    ];
    let (deltas, _) = decode(&sse(&events));
    let counted = |delta: &Delta| matches!(delta, Delta::Usage(usage) if usage.web_searches == 1);
    assert!(deltas.iter().any(counted), "{deltas:?}");
    assert!(deltas.iter().any(|delta| matches!(delta,
        Delta::ToolInput { name: Some(name), .. } if name == "web_search")));
    let content = content(&events);
    let expected = json!({"type": "web_search_call", "status": "completed",
        "action": {"type": "search", "queries": ["x"]}});
    assert_eq!(content[0], opaque(WIRE, "m", expected));
    assert_eq!(content[1], Delta::Text("y".into()));
    assert_eq!(content[2], opaque(WIRE, "m", json!({"phase": "final_answer"})));
    assert!(matches!(&content[3], Delta::Block(Block::Opaque(block)) if block.wire == RESPONSES));
}

#[test]
fn every_stop_reason() {
    let incomplete = |reason: &str| {
        vec![completed("incomplete", json!({"incomplete_details": {"reason": reason}}))]
    };
    assert_eq!(content(&incomplete("max_output_tokens")), [Delta::End(StopReason::MaxTokens)]);
    assert_eq!(content(&incomplete("content_filter")), [Delta::End(StopReason::Filtered)]);
    assert_eq!(content(&incomplete("steered")), [Delta::End(StopReason::Other("steered".into()))]);
    let refused = [delta("refusal", 0, "No."), completed("completed", json!({}))];
    assert_eq!(content(&refused), [Delta::Text("No.".into()), Delta::End(StopReason::Refusal)]);
}

#[test]
fn failures_in_the_stream() {
    let failed = json!({"type": "response.failed", "response": {"status": "failed", "error":
        {"code": "rate_limit_exceeded", "message": "Slow down. Please try again in 1.5s."}}});
    let failure = decode(&sse(&[created(), failed])).1.unwrap();
    assert_eq!(failure.codes, ["rate_limit_exceeded"]);
    assert_eq!(failure.retry_after, Some(std::time::Duration::from_millis(1_500)));
    for error in [
        json!({"type": "error", "code": "server_error", "message": "boom"}),
        json!({"type": "error", "error": {"code": "server_error", "message": "boom"}}),
    ] {
        let failure = decode(&sse(&[error])).1.unwrap();
        assert_eq!((failure.message.as_str(), &failure.codes[0][..]), ("boom", "server_error"));
    }
}

#[test]
fn an_answer_without_end_is_truncated() {
    let (_, failure) =
        decode(&sse(&[created(), added(0, message("")), delta("output_text", 0, "H")]));
    assert_eq!(failure, Some(Failure::truncated()));
}

proptest! {
    #[test]
    fn chunking_never_changes_the_result(size in 1usize..64) {
        let text = sse(&[
            created(),
            added(0, json!({"type": "message", "content": []})),
            delta("output_text", 0, "Grüße 😀\n\n"),
            done(0, message("Grüße 😀\n\n")),
            added(1, function("call_a", "read", "")),
            done(1, function("call_a", "read", "{\"path\":\"ü\"}")),
            completed("completed", json!({})),
        ]).replace('\n', "\r\n");
        let whole = read(text.as_bytes(), text.len(), &mut Decoder::new("m"));
        prop_assert_eq!(read(text.as_bytes(), size, &mut Decoder::new("m")), whole);
    }
}
