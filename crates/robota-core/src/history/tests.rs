use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::ids::CountingIds;
use crate::message::{Cause, MessageState};

fn at() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

#[test]
fn core_02_a_message_becomes_an_entry_and_comes_back() {
    let message = Message::user(&CountingIds::default(), "hi");
    let entry = HistoryEntry::chat(message.clone(), at());
    assert_eq!(entry.message(), Some(&message));
    assert_eq!(entry.id.as_str(), message.id.as_str());
    assert_eq!(entry.timestamp, at());
}

#[test]
fn core_02_entries_have_category_type_and_data() {
    let ids = CountingIds::default();
    let chat = HistoryEntry::chat(Message::user(&ids, "hi"), at());
    let event = HistoryEntry::event(&ids, at(), "tool-summary", json!({ "tools": 3 }));
    let written = serde_json::to_value(&chat).unwrap();
    assert_eq!((&written["category"], &written["type"]), (&json!("chat"), &json!("user")));
    assert_eq!(written["data"]["content"][0]["text"], "hi");
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        json!({
            "id": "00000000-0000-0000-0000-000000000002",
            "timestamp": "2026-01-02T03:04:05Z",
            "category": "event",
            "type": "tool-summary",
            "data": { "tools": 3 },
        })
    );
    for entry in [chat, event] {
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<HistoryEntry>(&text).unwrap(), entry);
    }
}

#[test]
fn core_02_only_chat_reaches_a_model_and_an_interrupted_answer_has_a_note() {
    let ids = CountingIds::default();
    let cut = Message::assistant(&ids, "half", MessageState::Interrupted(Cause::User));
    let history = [
        HistoryEntry::chat(Message::user(&ids, "hi"), at()),
        HistoryEntry::event(&ids, at(), "note", json!("for people")),
        HistoryEntry::chat(cut, at()),
    ];
    let sent: Vec<_> = messages_for_api(&history).iter().map(Message::text).collect();
    assert_eq!(sent, ["hi", "half\n\n[This response was interrupted by the user]"]);
    assert_eq!(history[2].message().unwrap().text(), "half", "the history is not altered");
}
