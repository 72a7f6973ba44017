#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use proptest::prelude::*;
use robota_core::message::ToolUse;

use super::*;
use crate::fuzzing::read;

fn chunk(parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({"candidates": [candidate], "modelVersion": "m", "responseId": "r1", "usageMetadata": {
        "promptTokenCount": 9, "candidatesTokenCount": 1, "thoughtsTokenCount": 12, "totalTokenCount": 22}})
}

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect()
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

fn call(id: &str, name: &str, input: Value, signature: Option<&str>) -> Delta {
    let mut call = ToolUse::new("".into(), id, name, ToolInput::Json(input));
    if let Some(signature) = signature {
        call.extra = origin(WIRE, "m");
        call.extra.insert(SIGNATURE.into(), signature.into());
    }
    Delta::Block(Block::ToolUse(call))
}

#[test]
fn reasoning_text_signature_and_usage() {
    let events = [
        chunk(json!([{"text": "Add.", "thought": true}]), None),
        chunk(json!([{"text": "5"}]), None),
        chunk(json!([{"text": "", "thoughtSignature": "c2ln"}]), Some("STOP")),
    ];
    let (deltas, failure) = decode(&sse(&events));
    assert_eq!(failure, None);
    let usage =
        Usage { input_tokens: 9, output_tokens: 13, reasoning_tokens: 12, ..Usage::default() };
    assert_eq!(
        deltas,
        [
            Delta::Thinking("Add.".into()),
            Delta::Text("5".into()),
            opaque(WIRE, "m", json!({"text": "", "thoughtSignature": "c2ln"})),
            Delta::Usage(usage),
            Delta::End(StopReason::EndTurn),
        ]
    );
}

#[test]
fn signatures_stay_with_their_parts() {
    let events = [
        chunk(
            json!([{"text": "Hm", "thought": true}, {"text": ".", "thought": true, "thoughtSignature": "a"}]),
            None,
        ),
        chunk(json!([{"text": "words", "thoughtSignature": "b"}]), Some("STOP")),
    ];
    let content = content(&events);
    assert_eq!(content[1], thinking(WIRE, "m", "Hm.".into(), Some("a".into())));
    let Delta::Block(Block::Text(text)) = &content[2] else { panic!("{content:?}") };
    assert_eq!((text.text.as_str(), &text.extra[SIGNATURE]), ("words", &json!("b")));
}

#[test]
fn core_17_calls_with_and_without_ids() {
    let events = [chunk(
        json!([
            {"functionCall": {"id": "a1", "name": "read", "args": {"path": "a.txt"}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "list", "args": null}},
            {"functionCall": {"name": "list"}},
        ]),
        Some("STOP"),
    )];
    assert_eq!(
        content(&events),
        [
            call("a1", "read", json!({"path": "a.txt"}), Some("c2ln")),
            call("call_1", "list", json!({}), None),
            call("call_2", "list", json!({}), None),
            Delta::End(StopReason::ToolUse),
        ]
    );
}

#[test]
fn sdk_26_a_search_is_reported_and_its_sources_kept() {
    let mut event = chunk(json!([{"text": "y"}]), Some("STOP"));
    event["usageMetadata"] = json!({"promptTokenCount": 3, "candidatesTokenCount": 1});
    event["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["x"],
        "groundingChunks": [{"web": {"uri": "https://e.test", "title": "T"}}]});
    let (deltas, _) = decode(&sse(&[event.clone()]));
    let counted = Usage { web_searches: 1, ..Usage::new(3, 1) };
    assert!(deltas.contains(&Delta::Usage(counted)), "{deltas:?}");
    assert!(deltas.contains(&Delta::ToolInput {
        index: SERVER_TOOL_INDEX,
        id: None,
        name: Some("web_search".into()),
        json: "{\"queries\":[\"x\"]}".into(),
    }));
    assert!(content(&[event]).iter().any(|delta| matches!(delta,
        Delta::Block(Block::Opaque(block)) if block.wire == "gemini-grounding")));
}

#[test]
fn every_stop_reason() {
    for (word, reason) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Filtered),
        ("IMAGE_SAFETY", StopReason::Filtered),
        ("CONTINUATION", StopReason::Pause),
        ("OTHER", StopReason::Other("OTHER".into())),
    ] {
        let event = json!({"candidates": [{"finishReason": word}]});
        assert_eq!(content(&[event]), [Delta::End(reason)]);
    }
    let malformed =
        json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "x"}]});
    let failure = decode(&sse(&[malformed])).1.unwrap();
    assert_eq!(failure.reason, Some(FailureReason::Server));
}

#[test]
fn a_blocked_prompt_and_errors_in_each_form() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    assert_eq!(decode(&sse(&[blocked])).1.unwrap().reason, Some(FailureReason::ContentFilter));
    let error = json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}});
    let forms = [
        format!("data: {error}\n\n"),
        format!("data: [{error}]\n\n"),
        format!("{}[{error}]\n", sse(&[chunk(json!([{"text": "a"}]), None)])),
        format!("{error:#}"),
    ];
    for form in forms {
        let failure = decode(&form).1.unwrap();
        assert_eq!((failure.status, &failure.message[..]), (Some(503), "busy"), "{form}");
    }
}

#[test]
fn an_answer_without_end_is_truncated() {
    let (_, failure) = decode(&sse(&[chunk(json!([{"text": "a"}]), None)]));
    assert_eq!(failure, Some(Failure::truncated()));
    let (_, failure) = decode(&sse(&[json!({"candidates": [{"content": {}}]})]));
    assert_eq!(failure, Some(Failure::truncated()));
}

proptest! {
    #[test]
    fn chunking_never_changes_the_result(size in 1usize..64) {
        let text = sse(&[
            chunk(json!([{"text": "Grüße 😀", "thought": true}]), None),
            chunk(json!([{"text": "naïve\n\ntext"}]), None),
            chunk(json!([{"functionCall": {"name": "read", "args": {"path": "ü"}}}]), Some("STOP")),
        ]);
        let whole = read(text.as_bytes(), text.len(), &mut Decoder::new("m"));
        prop_assert_eq!(read(text.as_bytes(), size, &mut Decoder::new("m")), whole);
    }
}

#[test]
fn the_token_of_a_paused_answer_is_kept() {
    let mut event = chunk(json!([{"text": "half"}]), Some("CONTINUATION"));
    event["candidates"][0]["continuationToken"] = "more-1".into();
    assert_eq!(
        content(&[event]),
        [
            Delta::Text("half".into()),
            opaque(WIRE, "m", json!({"continuationToken": "more-1"})),
            Delta::End(StopReason::Pause),
        ]
    );
}
