use robota_core::message::Cause;

use super::*;

fn back(values: &[Value]) -> Vec<Message> {
    let ids = CountingIds::default();
    let mut reader = Reader::new(&ids);
    let mut messages: Vec<_> =
        values.iter().flat_map(|value| reader.read(value).unwrap()).collect();
    messages.extend(reader.finish());
    messages.into_iter().map(|(message, _)| message).collect()
}

#[test]
fn sess_10_a_plain_message_needs_no_extra_field() {
    let ids = CountingIds::default();
    let call = ToolUse::new("c1".into(), "call_0", "read", ToolInput::Json(json!({"path": "a"})));
    let answer = vec![Block::text("Look."), Block::ToolUse(call.clone())];
    let answer = Message::assistant(&ids, answer, MessageState::Interrupted(Cause::User));
    let results = vec![
        ToolResult::text(&call, "one", false),
        ToolResult::text(&ToolUse { call: "c2".into(), ..call.clone() }, "two", true),
    ];
    for message in [Message::user(&ids, "Hi"), answer, Message::tool("t".into(), results)] {
        let written = write(&message, None);
        assert!(written.iter().all(|value| value.get("robota").is_none()), "{written:?}");
        assert_eq!(back(&written), [message]);
    }
}

#[test]
fn sess_10_what_the_format_would_lose_is_in_an_extra_field() {
    let ids = CountingIds::default();
    let thinking = vec![Block::thinking("hm", Some("proof".to_owned())), Block::text("Yes.")];
    let crash = MessageState::Interrupted(Cause::Crash);
    let call = ToolUse::new("c1".into(), "call_0", "read", ToolInput::parse("{oops"));
    let mut two_texts = ToolResult::text(&call, "one", false);
    two_texts.content.push(ResultBlock::text("more"));
    for message in [
        Message::assistant(&ids, thinking, MessageState::Complete),
        Message::assistant(&ids, "Half an ans", crash),
        Message::tool(
            "t".into(),
            vec![two_texts.clone(), ToolResult { call: "c2".into(), ..two_texts }],
        ),
    ] {
        let written = write(&message, None);
        assert!(written[0].get("robota").is_some());
        assert_eq!(back(&written), [message]);
    }
    // The text outside of the extra field was changed, so that text counts.
    let mut changed = write(&Message::assistant(&ids, "Half", crash), None);
    changed[0]["content"] = "Whole".into();
    assert_eq!(back(&changed)[0].text(), "Whole");
}

#[test]
fn sess_10_messages_of_other_programs_are_read() {
    let read = back(&[
        json!({"role": "user", "content": [{"type": "text", "text": "Look at"},
            {"type": "image_inline", "mimeType": "image/png", "data": "aGVsbG8="}]}),
        json!({"id": "a", "role": "assistant", "content": null, "toolCalls": [
            {"id": "call_0", "type": "function", "function": {"name": "see", "arguments": "{\"n\":1}"}}],
            "metadata": {"usage": {"input_tokens": 3, "output_tokens": 4}}}),
        json!({"id": "r", "role": "tool", "toolCallId": "call_0", "content": "a cat"}),
    ]);
    let Block::Image(image) = &read[0].content[1] else { panic!() };
    assert_eq!(image.blob, BlobRef::of(b"hello"));
    let call = read[1].tool_uses().next().unwrap();
    assert_eq!((call.name.as_str(), call.input.json()), ("see", Some(&json!({"n": 1}))));
    assert_eq!(read[1].usage, Some(Usage::new(3, 4)));
    let result = read[2].tool_results().next().unwrap();
    assert_eq!((&result.call, result.name.as_str()), (&call.call, "see"));
    let ids = CountingIds::default();
    assert!(Reader::new(&ids).read(&json!({"role": "wizard", "content": "x"})).is_err());
}
