//! Fuzzes messages.

use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use robota_core::event::{AssistantMessage, Envelope};
use robota_core::ids::CountingIds;
use robota_core::message::{Block, Message, MessageState, Role, ToolInput, ToolUse};
use robota_core::usage::Usage;

/// Reads the bytes as the JSON of a message. A valid message is serialised without losing anything,
/// except values that are equivalent to their absence. Also reads the bytes as arguments of a call.
pub fn messages(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        arguments(text);
    }
    // Directly from the bytes, where a key may occur twice.
    if let Ok(message) = serde_json::from_slice::<Message>(data) {
        check(&message);
    }
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let Ok(message) = serde_json::from_value::<Message>(value.clone()) else { return };
    check(&message);
    let encoded = serde_json::to_value(&message).expect("a message can be serialised");
    assert_eq!(normalised(encoded), normalised(value), "no part of a message is lost");
}

fn check(message: &Message) {
    let encoded = serde_json::to_value(message).expect("a message can be serialised");
    let decoded: Message = serde_json::from_value(encoded).expect("a message can be parsed");
    assert_eq!(decoded, *message);
    let text = message.text();
    let sent = message.for_api();
    match message.state() {
        MessageState::Complete => assert_eq!(sent.as_ref(), message),
        MessageState::Interrupted(_) => {
            assert_eq!(message.role(), Role::Assistant);
            let note = message.interruption_note().expect("an interrupted message has a note");
            assert!(sent.text().starts_with(&text), "no text is lost");
            assert!(sent.text().contains(note), "the model sees the note");
        }
    }
    assert_eq!(sent.tool_uses().count(), message.tool_uses().count());
}

fn arguments(text: &str) {
    let input = ToolInput::parse(text);
    let encoded = serde_json::to_value(&input).expect("arguments can be serialised");
    let decoded: ToolInput = serde_json::from_value(encoded).expect("arguments can be parsed");
    assert_eq!(decoded.json().is_some(), input.json().is_some(), "parsed, or marked as unparsed");
    assert_eq!(decoded, input);
    let tool_use = ToolUse::new("call".into(), "id", "name", input);
    let message = Message::assistant(
        &CountingIds::default(),
        vec![Block::ToolUse(tool_use)],
        MessageState::Complete,
    );
    let envelope = Envelope {
        seq: 1,
        epoch: 1,
        ts: Timestamp::UNIX_EPOCH,
        turn: None,
        event: AssistantMessage { round: 1, message: message.into() }.into(),
        min_reader: None,
    };
    let mut line = Vec::new();
    envelope.encode(&mut line).expect("parsed arguments can be journaled");
    assert_eq!(Envelope::decode(&line), Ok(envelope), "and read back");
}

/// Normalises the JSON of a message: removes values that are equivalent to their absence, and the
/// unknown fields of the parts that do not keep them: usage and blob references.
fn normalised(mut value: Value) -> Value {
    let Some(message) = value.as_object_mut() else { return value };
    // Only an interrupted message has a cause.
    if message.get("state").is_none_or(|state| state == "complete") {
        message.shift_remove("state");
        message.shift_remove("interrupted_by");
    } else if message.get("interrupted_by").is_none_or(Value::is_null) {
        message.insert("interrupted_by".to_owned(), "user".into());
    }
    let usage = message.get("usage").and_then(|usage| Usage::deserialize(usage).ok());
    match usage {
        Some(usage) => {
            let usage = serde_json::to_value(usage).expect("usage can be serialised");
            message.insert("usage".to_owned(), usage);
        }
        None => drop(message.shift_remove("usage")),
    }
    drop_if(message, "metadata", |value| value == &Value::Object(Map::new()));
    if let Some(Value::Array(blocks)) = message.get_mut("content") {
        blocks.iter_mut().filter_map(Value::as_object_mut).for_each(normalise_block);
    }
    value
}

fn normalise_block(block: &mut Map<String, Value>) {
    match block.get("type").and_then(Value::as_str) {
        Some("thinking") => drop_if(block, "signature", Value::is_null),
        Some("tool_use") => {
            // Arguments that would be parsed as something else are serialised in another form.
            let input = block.get("input").and_then(|input| ToolInput::deserialize(input).ok());
            if let Some(Ok(input)) = input.map(serde_json::to_value) {
                block.insert("input".to_owned(), input);
            }
        }
        Some("image") => keep_known(block.get_mut("blob"), &["sha256", "bytes"]),
        Some("tool_result") => {
            drop_if(block, "is_error", |value| value == &Value::Bool(false));
            drop_if(block, "metadata", |value| value == &Value::Object(Map::new()));
            let parts = block.get_mut("content").and_then(Value::as_array_mut);
            parts.into_iter().flatten().filter_map(Value::as_object_mut).for_each(normalise_block);
        }
        _ => {}
    }
}

fn drop_if(object: &mut Map<String, Value>, key: &str, absent: impl Fn(&Value) -> bool) {
    if object.get(key).is_some_and(absent) {
        object.shift_remove(key);
    }
}

fn keep_known(object: Option<&mut Value>, keys: &[&str]) {
    if let Some(object) = object.and_then(Value::as_object_mut) {
        object.retain(|key, _| keys.contains(&key.as_str()));
    }
}
