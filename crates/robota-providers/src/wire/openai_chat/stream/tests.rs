#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use proptest::prelude::*;
use robota_core::message::{Block, ToolUse};

use super::*;
use crate::fuzzing::read;

fn chunk(delta: Value) -> Value {
    json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
}

fn finish(reason: &str) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn usage() -> Value {
    json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2,
        "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 1}}})
}

fn sse(events: &[Value]) -> String {
    let frames: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("{frames}data: [DONE]\n\n")
}

fn decode(text: &str) -> (Vec<Delta>, Option<Failure>) {
    read(text.as_bytes(), text.len(), &mut Decoder::new("m"))
}

fn content(events: &[Value]) -> Vec<Delta> {
    let (deltas, failure) = decode(&sse(events));
    assert_eq!(failure, None);
    deltas.into_iter().filter(|delta| !matches!(delta, Delta::ToolInput { .. })).collect()
}

fn call(id: &str, name: &str, input: Value) -> Delta {
    Delta::Block(Block::ToolUse(ToolUse::new("".into(), id, name, ToolInput::Json(input))))
}

fn tools(list: Value) -> Value {
    chunk(json!({"tool_calls": list}))
}

#[test]
fn text_usage_and_end() {
    let events = [
        chunk(json!({"role": "assistant", "content": "", "refusal": null})),
        chunk(json!({"content": "Hi"})),
        chunk(json!({"content": null})),
        finish("stop"),
        usage(),
    ];
    let counted = Usage {
        input_tokens: 9,
        output_tokens: 2,
        cache_read_tokens: 3,
        reasoning_tokens: 1,
        ..Usage::default()
    };
    assert_eq!(
        content(&events),
        [Delta::Text("Hi".into()), Delta::Usage(counted), Delta::End(StopReason::EndTurn)]
    );
}

#[test]
fn reasoning_under_each_of_its_names() {
    for delta in [
        json!({"reasoning_content": "Add.", "content": ""}),
        json!({"reasoning": "Add."}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Add."}]}]}),
    ] {
        let deltas =
            content(&[chunk(delta.clone()), chunk(json!({"content": "5"})), finish("stop")]);
        assert_eq!(
            deltas,
            [
                Delta::Thinking("Add.".into()),
                Delta::Text("5".into()),
                Delta::End(StopReason::EndTurn)
            ],
            "{delta}"
        );
    }
}

#[test]
fn reasoning_details_are_kept_whole() {
    let detail = |text: &str| {
        chunk(json!({"reasoning": text, "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": text, "signature": null}]}))
    };
    let signed = chunk(json!({"reasoning_details": [
        {"type": "reasoning.text", "index": 0, "signature": "s"}]}));
    let deltas = content(&[detail("Ad"), detail("d."), signed, finish("stop")]);
    let expected = json!({"reasoning_details": [
        {"type": "reasoning.text", "index": 0, "text": "Add.", "signature": "s"}]});
    assert_eq!(deltas[0], Delta::Thinking("Add.".into()));
    assert_eq!(deltas[1], opaque(WIRE, "m", expected));
}

#[test]
fn calls_in_pieces() {
    let events = [
        chunk(json!({"role": "assistant", "content": null, "tool_calls": [
            {"index": 0, "id": "call_a", "type": "function", "function": {"name": "read", "arguments": ""}}]})),
        tools(json!([{"index": 0, "function": {"arguments": "{\"path\":\"a.t"}}])),
        tools(json!([{"index": 0, "function": {"arguments": "xt\"}"}}])),
        tools(
            json!([{"index": 1, "id": "call_b", "type": "function", "function": {"name": "list", "arguments": "{}"}}]),
        ),
        finish("tool_calls"),
    ];
    let expected = [
        call("call_a", "read", json!({"path": "a.txt"})),
        call("call_b", "list", json!({})),
        Delta::End(StopReason::ToolUse),
    ];
    assert_eq!(content(&events), expected);
}

#[test]
fn core_17_ids_names_and_indices_as_servers_send_them() {
    let read = |id: &str| call(id, "read", json!({"path": "a"}));
    let end = Delta::End(StopReason::ToolUse);
    // Id and name in every piece.
    let repeated = [
        tools(
            json!([{"index": 0, "id": "x", "function": {"name": "read", "arguments": "{\"path\""}}]),
        ),
        tools(
            json!([{"index": 0, "id": "x", "function": {"name": "read", "arguments": ":\"a\"}"}}]),
        ),
        finish("tool_calls"),
    ];
    assert_eq!(content(&repeated), [read("x"), end.clone()]);
    // No index: another id is another call.
    let unnumbered = [
        tools(json!([{"id": "x", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                     {"id": "y", "function": {"name": "list", "arguments": {}}}])),
        finish("stop"),
    ];
    assert_eq!(content(&unnumbered), [read("x"), call("y", "list", json!({})), end.clone()]);
    // Neither index nor id, arguments as an object.
    let bare = [
        tools(json!([{"function": {"name": "read", "arguments": {"path": "a"}}}])),
        tools(json!([{"id": "", "function": {"name": "read", "arguments": {"path": "a"}}}])),
        finish("tool_calls"),
    ];
    assert_eq!(content(&bare), [read("call_0"), read("call_1"), end.clone()]);
    // Every call has the index 0.
    let zero = [
        tools(
            json!([{"index": 0, "id": "x", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]),
        ),
        tools(json!([{"index": 0, "id": "y", "function": {"name": "list", "arguments": "{}"}}])),
        finish("tool_calls"),
    ];
    assert_eq!(content(&zero), [read("x"), call("y", "list", json!({})), end.clone()]);
    // The same id twice is two calls.
    let twice = [
        tools(
            json!([{"index": 0, "id": "call_0", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]),
        ),
        tools(json!([{"index": 1, "id": "call_0", "function": {"name": "list", "arguments": ""}}])),
        finish("tool_calls"),
    ];
    assert_eq!(content(&twice), [read("call_0"), call("call_0-2", "list", json!({})), end]);
}

#[test]
fn a_repeated_finish_reason_without_done_and_usage_after_it() {
    let mut finish_with_usage = finish("stop");
    finish_with_usage["usage"] = usage()["usage"].clone();
    let text = sse(&[
        chunk(json!({"content": "Hi"})),
        finish("stop"),
        finish_with_usage,
        finish("length"),
    ]);
    let text = text.strip_suffix("data: [DONE]\n\n").unwrap();
    let (deltas, failure) = decode(text);
    assert_eq!(failure, None);
    assert_eq!(deltas.len(), 3, "{deltas:?}");
    assert_eq!(deltas[2], Delta::End(StopReason::EndTurn));
}

#[test]
fn an_answer_without_end_is_truncated() {
    let text = sse(&[chunk(json!({"content": "Hi"}))]);
    let (deltas, failure) = decode(text.strip_suffix("data: [DONE]\n\n").unwrap());
    assert_eq!(failure, Some(Failure::truncated()));
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    assert_eq!(decode("").1, Some(Failure::truncated()));
}

#[test]
fn every_stop_reason() {
    let reasons = [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Filtered),
        ("odd", StopReason::Other("odd".into())),
    ];
    for (word, reason) in reasons {
        assert_eq!(content(&[finish(word)]), [Delta::End(reason)]);
    }
    let refused = [chunk(json!({"refusal": "No."})), finish("stop")];
    assert_eq!(content(&refused), [Delta::Text("No.".into()), Delta::End(StopReason::Refusal)]);
}

#[test]
fn an_error_in_the_stream() {
    let error = json!({"error": {"message": "boom", "code": "server_error"}});
    let (deltas, failure) = decode(&sse(&[chunk(json!({"content": "Hi"})), error]));
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    assert_eq!(failure.unwrap().message, "boom");
    assert_eq!(
        decode("data: {\"choices\": nonsense\n\n").1.unwrap().reason,
        Some(robota_core::provider::FailureReason::Unreadable)
    );
    assert!(decode(&sse(&[finish("error")])).1.is_some());
}

#[test]
fn comments_and_a_whole_message_are_accepted() {
    let text = format!(
        ": OPENROUTER PROCESSING\n\n{}",
        sse(&[json!({"choices": [{"message":
        {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]})])
    );
    assert_eq!(decode(&text).0, [Delta::Text("Hi".into()), Delta::End(StopReason::EndTurn)]);
}

proptest! {
    #[test]
    fn chunking_never_changes_the_result(size in 1usize..64) {
        let text = sse(&[
            chunk(json!({"reasoning_content": "Grüße 😀"})),
            chunk(json!({"content": "naïve\n\ntext"})),
            tools(json!([{"index": 0, "id": "x", "function": {"name": "read", "arguments": "{\"path\":\"ü\"}"}}])),
            finish("tool_calls"),
            usage(),
        ]).replace('\n', "\r\n");
        let whole = read(text.as_bytes(), text.len(), &mut Decoder::new("m"));
        prop_assert_eq!(read(text.as_bytes(), size, &mut Decoder::new("m")), whole);
    }
}
