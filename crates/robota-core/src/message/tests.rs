use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ids::{CallId, CountingIds};

fn call(input: ToolInput) -> ToolUse {
    ToolUse::new(CallId::from("c1"), "call_0", "read", input)
}

fn round_trip(message: &Message) -> Message {
    serde_json::from_str(&serde_json::to_string(message).unwrap()).unwrap()
}

#[test]
fn core_01_constructors_fill_id_role_and_state() {
    let ids = CountingIds::default();
    let messages = [
        Message::user(&ids, "hi"),
        Message::system(&ids, "be brief"),
        Message::assistant(&ids, "hello", MessageState::Complete),
        Message::tool(MessageId::mint(&ids), Vec::<ToolResult>::new()),
    ];
    let roles: Vec<_> = messages.iter().map(Message::role).collect();
    assert_eq!(roles, [Role::User, Role::System, Role::Assistant, Role::Tool]);
    let unique: std::collections::HashSet<_> = messages.iter().map(|m| &m.id).collect();
    assert_eq!(unique.len(), messages.len());
    for message in &messages {
        assert_eq!(message.state(), MessageState::Complete);
        assert!(uuid::Uuid::parse_str(message.id.as_str()).is_ok());
    }
}

#[test]
fn core_01_only_an_assistant_message_can_be_interrupted() {
    let ids = CountingIds::default();
    let cut = Message::assistant(&ids, "half", MessageState::Interrupted(Cause::Shutdown));
    assert_eq!(round_trip(&cut), cut);
    for role in ["user", "system", "tool"] {
        let text = json!({ "id": "m1", "role": role, "state": "interrupted", "content": [] });
        let error = serde_json::from_value::<Message>(text).unwrap_err().to_string();
        assert!(error.contains("m1") && error.contains("only an assistant"), "{error}");
    }
}

#[test]
fn core_01_an_interrupted_message_without_a_cause_was_interrupted_by_the_user() {
    let text = json!({ "id": "m1", "role": "assistant", "state": "interrupted", "content": [] });
    let message: Message = serde_json::from_value(text).unwrap();
    assert_eq!(message.state(), MessageState::Interrupted(Cause::User));
}

#[test]
fn core_01_complete_messages_write_no_state() {
    let written = serde_json::to_value(Message::user(&CountingIds::default(), "hi")).unwrap();
    let id = "00000000-0000-0000-0000-000000000001";
    let text = json!({ "type": "text", "text": "hi" });
    assert_eq!(written, json!({ "id": id, "role": "user", "content": [text] }));
}

#[test]
fn core_01_unknown_fields_and_blocks_are_preserved() {
    let text = json!({
        "id": "m1",
        "role": "assistant",
        "content": [
            { "type": "text", "text": "hi", "annotations": [1, { "a": null }] },
            { "type": "thinking", "thinking": "", "signature": "s", "more": true },
            { "type": "image", "blob": { "sha256": "00", "bytes": 1 }, "media_type": "image/png", "alt": "x" },
            { "type": "tool_use", "call": "c", "id": "0", "name": "n", "input": {}, "caller": "x" },
            { "type": "tool_result", "call": "c", "id": "0", "name": "n", "content": [], "ms": 3 },
            { "type": "opaque", "wire": "w", "value": [0.1], "v": 2 },
            { "type": "hologram", "depth": 18446744073709551615_u64 },
        ],
        "metadata": { "k": 1 },
        "usage": { "input_tokens": 1, "output_tokens": 2 },
        "mood": { "deep": ["x"] },
    });
    let message: Message = serde_json::from_value(text.clone()).unwrap();
    assert!(matches!(message.content[6], Block::Unknown(_)));
    assert_eq!(serde_json::to_value(&message).unwrap(), text);
    assert_eq!(message.extra["mood"], json!({ "deep": ["x"] }));
}

#[test]
fn core_01_unknown_parts_of_a_result_are_preserved() {
    let text = json!({
        "type": "tool_result", "call": "c", "id": "0", "name": "n",
        "content": [
            { "type": "text", "text": "hi", "lang": "en" },
            { "type": "hologram", "depth": 3 },
        ],
    });
    let block: Block = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(&block).unwrap(), text);
    let Block::ToolResult(result) = block else { panic!("not a result") };
    assert_eq!(result.as_text(), "hi");
}

#[test]
fn core_01_a_block_without_a_type_is_refused() {
    for (text, expected) in [
        (r#"{"text":"hi"}"#, "no `type`"),
        (r#"{"type":3}"#, "no `type`"),
        (r#""hi""#, "expected a content block"),
        ("3", "expected a content block"),
        ("[]", "expected a content block"),
    ] {
        let error = serde_json::from_str::<Block>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn core_01_text_joins_blocks_and_calls_keep_their_order() {
    let ids = CountingIds::default();
    let blocks = vec![
        Block::text("a"),
        Block::thinking("hidden", None),
        Block::ToolUse(call(ToolInput::parse(""))),
        Block::text("b"),
        Block::ToolUse(ToolUse::new(CallId::from("c2"), "call_0", "grep", ToolInput::parse("1"))),
    ];
    let message = Message::assistant(&ids, blocks, MessageState::Complete);
    assert_eq!(message.text(), "ab");
    let names: Vec<_> = message.tool_uses().map(|tool_use| tool_use.name.as_str()).collect();
    assert_eq!(names, ["read", "grep"]);
}

#[test]
fn core_02_an_answer_that_the_user_interrupted_has_a_note() {
    let ids = CountingIds::default();
    let note = "[This response was interrupted by the user]";
    let state = MessageState::Interrupted(Cause::User);
    let cut = Message::assistant(&ids, "half", state);
    assert_eq!(cut.for_api().text(), format!("half\n\n{note}"));
    assert_eq!(cut.text(), "half", "the conversation itself is not altered");

    let empty = Message::assistant(&ids, vec![], state);
    assert_eq!(empty.for_api().text(), note);

    // What follows a call must be its result, so the note is placed before the calls.
    let calls = vec![Block::thinking("t", None), Block::ToolUse(call(ToolInput::parse("{}")))];
    let asks = Message::assistant(&ids, calls, state).for_api().into_owned();
    assert_eq!(asks.content[1], Block::text(note));
    assert!(matches!(asks.content[2], Block::ToolUse(_)));

    let whole = Message::assistant(&ids, "all", MessageState::Complete);
    assert_eq!(*whole.for_api(), whole);
}

#[test]
fn core_02_other_causes_are_named_as_they_are() {
    let ids = CountingIds::default();
    for cause in [Cause::Shutdown, Cause::Crash, Cause::Provider, Cause::Store] {
        let message = Message::assistant(&ids, "half", MessageState::Interrupted(cause));
        let text = message.for_api().text();
        assert!(text.starts_with("half\n\n[This response was interrupted by a"), "{text}");
        assert!(!text.contains("by the user"), "{text}");
    }
}

#[test]
fn core_01_arguments_are_json_or_marked_as_unparsed() {
    assert_eq!(ToolInput::parse("  "), ToolInput::Json(json!({})));
    assert_eq!(ToolInput::parse("[1]").json(), Some(&json!([1])));
    let broken = ToolInput::parse("{\"a\": ");
    assert_eq!(broken.json(), None);
    let text = serde_json::to_string(&broken).unwrap();
    assert!(text.contains("$unparsed") && text.contains("$error"), "{text}");
    assert_eq!(serde_json::from_str::<ToolInput>(&text).unwrap(), broken);
}

#[test]
fn core_01_arguments_that_look_like_unparsed_ones_are_preserved() {
    for value in [
        json!({ "$unparsed": "x", "$error": "y" }),
        json!({ "$unparsed": "x", "$error": 1 }),
        json!({ "$unparsed": "x" }),
        json!({ "$json": 1 }),
        json!({ "$json": { "$json": { "$unparsed": "x", "$error": "y" } } }),
        json!({ "$json": 1, "$error": "y" }),
    ] {
        let input = ToolInput::parse(&value.to_string());
        assert_eq!(input, ToolInput::Json(value));
        let text = serde_json::to_string(&input).unwrap();
        assert_eq!(serde_json::from_str::<ToolInput>(&text).unwrap(), input, "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z$]{0,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_block() -> impl Strategy<Value = Block> {
    let extra = prop_oneof![
        Just(Map::new()),
        any_json().prop_map(|value| Map::from_iter([("x_new".to_owned(), value)])),
    ];
    let words = any::<String>();
    prop_oneof![
        (words, extra.clone()).prop_map(|(text, extra)| Block::Text(Text { text, extra })),
        (any::<String>(), any::<Option<String>>(), extra.clone()).prop_map(
            |(thinking, signature, extra)| Block::Thinking(Thinking { thinking, signature, extra })
        ),
        (any::<String>(), any_json(), extra.clone()).prop_map(|(id, input, extra)| {
            let input = ToolInput::Json(input);
            Block::ToolUse(ToolUse { extra, ..ToolUse::new(CallId::from("c"), id, "n", input) })
        }),
        (any::<String>(), any::<bool>(), extra.clone()).prop_map(|(text, failed, extra)| {
            let result = ToolResult::text(&call(ToolInput::parse("")), text, failed);
            Block::ToolResult(ToolResult { extra, ..result }.into())
        }),
        (any_json(), extra).prop_map(|(value, extra)| {
            Block::Opaque(Opaque { wire: "w".to_owned(), value, extra })
        }),
        any_json().prop_map(|value| Block::Unknown(json!({ "type": "novel", "v": value }))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn core_01_messages_survive_serde_without_loss(
        blocks in proptest::collection::vec(any_block(), 0..5),
        metadata in any_json(),
        cut in any::<bool>(),
    ) {
        let state = if cut { MessageState::Interrupted(Cause::Crash) } else { MessageState::Complete };
        let mut message = Message::assistant(&CountingIds::default(), blocks, state)
            .with_usage(cut.then(|| Usage::new(3, 4)));
        message.metadata.insert("k".to_owned(), metadata.clone());
        message.extra.insert("x_new".to_owned(), metadata);
        prop_assert_eq!(&round_trip(&message), &message);
        let bytes = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(serde_json::to_string(&round_trip(&message)).unwrap(), bytes);
    }

    #[test]
    fn core_01_no_bytes_make_reading_a_message_panic(bytes in any::<Vec<u8>>(), text in "\\PC*") {
        let _ = serde_json::from_slice::<Message>(&bytes);
        let _ = serde_json::from_str::<Block>(&format!("{{\"type\":\"text\",{text}}}"));
        let _ = ToolInput::parse(&text);
    }
}
