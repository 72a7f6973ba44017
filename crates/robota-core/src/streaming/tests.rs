use super::*;
use crate::ids::CountingIds;
use crate::message::{Message, MessageState, ToolInput};
use proptest::prelude::*;

fn call(id: &str) -> ToolUse {
    ToolUse::new(CallId::from("theirs"), id, "read", ToolInput::parse("{}"))
}

#[test]
fn core_03_text_stays_with_calls_and_calls_are_distinguished_by_id() {
    let ids = CountingIds::default();
    let mut answer = StreamingAnswer::default();
    answer.push_text("  I look  ");
    for id in ["call_0", "call_0", "call_1"] {
        answer.push_block(Block::ToolUse(call(id)), &ids);
    }
    answer.push_text("after");
    let message = Message::assistant(&ids, answer.take_blocks(), MessageState::Complete);
    assert_eq!(message.text(), "  I look  after");
    let calls: Vec<_> = message.tool_uses().collect();
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["call_0", "call_1"]);
    assert!(calls.iter().all(|call| call.call.as_str() != "theirs"), "the ids are ours");
    // The next answer may use the same ids again.
    answer.push_block(Block::ToolUse(call("call_0")), &ids);
    assert_eq!(answer.tool_uses().count(), 1);
}

#[test]
fn core_03_a_signed_thinking_block_replaces_the_streamed_reasoning() {
    let ids = CountingIds::default();
    let mut answer = StreamingAnswer::default();
    answer.push_text("a");
    answer.push_thinking("hm");
    answer.push_thinking("m");
    answer.push_block(Block::thinking("hmm", Some("proof".to_owned())), &ids);
    answer.push_text("b");
    let expected =
        [Block::text("a"), Block::thinking("hmm", Some("proof".to_owned())), Block::text("b")];
    assert_eq!(answer.content(), "ab");
    assert_eq!(answer.take_blocks(), expected);
    assert!(answer.is_empty());
}

#[test]
fn core_03_unsigned_thinking_is_kept_in_its_place() {
    let mut answer = StreamingAnswer::default();
    answer.push_thinking("hm");
    assert!(!answer.is_empty());
    answer.push_text("a");
    assert_eq!(answer.take_blocks(), [Block::thinking("hm", None), Block::text("a")]);
}

#[test]
fn core_03_a_discarded_answer_leaves_nothing_pending() {
    let ids = CountingIds::default();
    let mut answer = StreamingAnswer::default();
    answer.push_text("half");
    answer.push_block(Block::ToolUse(call("call_0")), &ids);
    answer.push_thinking("hm");
    assert!(!answer.is_empty());
    assert_eq!(answer.content(), "half");
    answer.discard();
    assert!(answer.is_empty());
    assert_eq!((answer.content().as_str(), answer.tool_uses().count()), ("", 0));
    // The repeated answer may use the same ids.
    assert!(answer.push_block(Block::ToolUse(call("call_0")), &ids).is_some());
    assert_eq!(answer.take_blocks().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn core_03_all_text_is_kept_in_order(
        pieces in proptest::collection::vec((0_u8..4, "[a-c \n]{0,3}"), 0..20),
    ) {
        let ids = CountingIds::default();
        let mut answer = StreamingAnswer::default();
        let mut words = String::new();
        for (at, (kind, text)) in pieces.iter().enumerate() {
            match kind {
                0 => answer.push_text(text),
                1 => { answer.push_block(Block::text(text.clone()), &ids); }
                2 => answer.push_thinking(text),
                _ => { answer.push_block(Block::ToolUse(call(&at.to_string())), &ids); }
            }
            if *kind < 2 {
                words.push_str(text);
            }
            prop_assert_eq!(answer.content(), words.clone());
        }
        let message = Message::assistant(&ids, answer.take_blocks(), MessageState::Complete);
        prop_assert_eq!(message.text(), words);
        prop_assert_eq!(message.tool_uses().count(), pieces.iter().filter(|(k, _)| *k > 2).count());
    }
}
