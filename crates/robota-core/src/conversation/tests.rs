use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ids::CountingIds;
use crate::message::{Cause, Role, ToolInput};

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn call(id: &str) -> ToolUse {
    ToolUse::new(CallId::from("theirs"), id, "read", ToolInput::parse("{}"))
}

fn commit(conversation: &mut Conversation, state: MessageState) -> Message {
    conversation.commit_assistant(&CountingIds::default(), now(), state, Map::new())
}

#[test]
fn core_03_an_answer_is_begun_streamed_and_committed() {
    let mut conversation = Conversation::default();
    assert!(!conversation.has_pending());
    conversation.begin_assistant().unwrap();
    assert!(conversation.has_pending());
    conversation.append_streaming("Hel");
    conversation.append_streaming("lo");
    assert_eq!(conversation.pending_content(), "Hello");
    assert!(conversation.history().is_empty());
    let metadata = Map::from_iter([("k".to_owned(), json!(1))]);
    let ids = CountingIds::default();
    let message =
        conversation.commit_assistant(&ids, now(), MessageState::Complete, metadata.clone());
    assert_eq!((message.text().as_str(), message.role()), ("Hello", Role::Assistant));
    assert_eq!(message.metadata, metadata);
    assert_eq!(conversation.history()[0].message(), Some(&message));
    assert!(!conversation.has_pending());
    assert_eq!(conversation.pending_content(), "");
}

#[test]
fn core_03_an_answer_is_committed_even_empty_even_on_abort() {
    let mut conversation = Conversation::default();
    conversation.begin_assistant().unwrap();
    let state = MessageState::Interrupted(Cause::User);
    let message = commit(&mut conversation, state);
    assert!(message.content.is_empty());
    assert_eq!(message.state(), state);
    commit(&mut conversation, MessageState::Complete);
    assert_eq!(conversation.history().len(), 2);
}

#[test]
fn core_03_text_stays_beside_calls_and_calls_are_told_apart_by_id() {
    let ids = CountingIds::default();
    let mut conversation = Conversation::default();
    conversation.append_streaming("  I look  ");
    conversation.append_tool_call(call("call_0"), &ids);
    conversation.append_tool_call(call("call_0"), &ids);
    conversation.append_tool_call(call("call_1"), &ids);
    conversation.append_streaming("after");
    let message = commit(&mut conversation, MessageState::Complete);
    assert_eq!(message.text(), "  I look  after");
    let calls: Vec<_> = message.tool_uses().collect();
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["call_0", "call_1"]);
    assert!(calls.iter().all(|call| call.call.as_str() != "theirs"), "the ids are ours");
    // The next answer may use the same ids again.
    conversation.append_tool_call(call("call_0"), &ids);
    assert_eq!(commit(&mut conversation, MessageState::Complete).tool_uses().count(), 1);
}

#[test]
fn core_03_a_pending_answer_is_never_dropped_by_beginning_another() {
    let mut conversation = Conversation::default();
    conversation.begin_assistant().unwrap();
    conversation.begin_assistant().unwrap();
    conversation.append_streaming("words");
    assert_eq!(conversation.begin_assistant(), Err(PendingAnswer));
    assert_eq!(conversation.pending_content(), "words");
    conversation.discard_pending();
    assert!(!conversation.has_pending() && conversation.history().is_empty());
    conversation.begin_assistant().unwrap();
}

#[test]
fn core_03_entries_are_only_added() {
    let ids = CountingIds::default();
    let mut conversation = Conversation::default();
    conversation.add_message(Message::user(&ids, "hi"), now());
    conversation.add_entry(HistoryEntry::event(&ids, now(), "note", json!(1)));
    let before = conversation.history().to_vec();
    conversation.append_streaming("x");
    commit(&mut conversation, MessageState::Complete);
    assert_eq!(conversation.history()[..2], before);
    assert_eq!(conversation.history().len(), 3);
}

#[test]
fn core_03_a_signed_thinking_block_takes_the_place_of_what_streamed() {
    let ids = CountingIds::default();
    let mut pending = Pending::default();
    pending.push_text("a");
    pending.push_thinking("hm");
    pending.push_thinking("m");
    pending.push_block(Block::thinking("hmm", Some("proof".to_owned())), &ids);
    pending.push_text("b");
    let expected =
        [Block::text("a"), Block::thinking("hmm", Some("proof".to_owned())), Block::text("b")];
    assert_eq!(pending.content(), "ab");
    assert_eq!(pending.take_blocks(), expected);
    assert!(pending.is_empty());
}

#[test]
fn core_03_unsigned_thinking_is_kept_in_its_place() {
    let mut pending = Pending::default();
    pending.push_thinking("hm");
    assert!(!pending.is_empty());
    pending.push_text("a");
    assert_eq!(pending.take_blocks(), [Block::thinking("hm", None), Block::text("a")]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn core_03_every_word_is_kept_in_order(
        pieces in proptest::collection::vec((0_u8..4, "[a-c \n]{0,3}"), 0..20),
    ) {
        let ids = CountingIds::default();
        let mut pending = Pending::default();
        let mut words = String::new();
        for (at, (kind, text)) in pieces.iter().enumerate() {
            match kind {
                0 => pending.push_text(text),
                1 => { pending.push_block(Block::text(text.clone()), &ids); }
                2 => pending.push_thinking(text),
                _ => { pending.push_block(Block::ToolUse(call(&at.to_string())), &ids); }
            }
            if *kind < 2 {
                words.push_str(text);
            }
            prop_assert_eq!(pending.content(), words.clone());
        }
        let message = Message::assistant(&ids, pending.take_blocks(), MessageState::Complete);
        prop_assert_eq!(message.text(), words);
        prop_assert_eq!(message.tool_uses().count(), pieces.iter().filter(|(k, _)| *k > 2).count());
    }
}
