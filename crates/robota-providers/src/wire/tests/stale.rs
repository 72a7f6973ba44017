//! Signed reasoning is sent back only after the conversation that it was written for.

use super::*;
use crate::wire::encode::prefix_text;
use crate::wire::plan::{IdRule, Plan};
use crate::wire::{MODEL_KEY, PREFIX_KEY, WIRE_KEY};

fn signed(wire: Wire, prefix: u64) -> Map<String, Value> {
    let mut extra = Map::new();
    extra.insert(WIRE_KEY.to_owned(), wire.name().into());
    extra.insert(MODEL_KEY.to_owned(), "model-1".into());
    extra.insert(PREFIX_KEY.to_owned(), prefix_text(prefix).into());
    extra
}

/// Returns a conversation whose second message has signed reasoning, written for what is before it.
fn reasoned(wire: Wire, instruction: Option<Message>) -> Vec<Arc<Message>> {
    let ids = CountingIds::default();
    let first = vec![Arc::new(Message::user(&ids, "Why?"))];
    let asked = ModelRequest { instruction, ..request(&first) };
    let prefix = Plan::new(&asked, IdRule::Any).prefix;
    let mut thinking = Block::thinking("Because.", Some("c2ln".to_owned()));
    if let Block::Thinking(block) = &mut thinking {
        block.extra = signed(wire, prefix);
    }
    let answer = vec![thinking, Block::text("So.")];
    let answer = Message::assistant(&ids, answer, MessageState::Complete);
    let next = Message::user(&ids, "And then?");
    first.into_iter().chain([answer, next].map(Arc::new)).collect()
}

async fn is_sent(encoder: &TestEncoder, messages: &[Arc<Message>]) -> bool {
    let body = encoder.body(&request(messages)).await;
    String::from_utf8(body.bytes).unwrap().contains("c2ln")
}

#[tokio::test]
async fn core_04_signed_reasoning_is_dropped_when_what_was_before_it_changed() {
    for wire in [Wire::AnthropicMessages, Wire::GeminiGenerateContent] {
        let encoder = TestEncoder::new(wire);
        let whole = reasoned(wire, None);
        assert!(is_sent(&encoder, &whole).await, "{wire:?}");
        // A compaction replaced the beginning by a summary.
        let mut compacted = whole.clone();
        compacted[0] = Arc::new(Message::user(&CountingIds::default(), "[Context Summary] Why?"));
        Arc::make_mut(&mut compacted[0]).id = "summary".into();
        assert!(!is_sent(&encoder, &compacted).await, "{wire:?}");
        assert!(is_sent(&encoder, &whole).await, "the compaction was undone");
        // The answer was written for an instruction that is not part of the conversation.
        let instruction = Message::user(&CountingIds::default(), "Sum it up.");
        let mut instruction = instruction;
        instruction.id = "instruction".into();
        assert!(!is_sent(&encoder, &reasoned(wire, Some(instruction))).await, "{wire:?}");
    }
}

#[tokio::test]
async fn core_04_a_budget_for_reasoning_keeps_it_and_old_journals_do_too() {
    let wire = Wire::AnthropicMessages;
    let mut compacted = reasoned(wire, None);
    Arc::make_mut(&mut compacted[0]).id = "summary".into();
    let mut encoder = TestEncoder::new(wire);
    encoder
        .options
        .insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": 2_000}));
    assert!(is_sent(&encoder, &compacted).await, "such models require it with calls");
    if let Block::Thinking(block) = &mut Arc::make_mut(&mut compacted[1]).content[0] {
        block.extra.shift_remove(PREFIX_KEY);
    }
    assert!(is_sent(&TestEncoder::new(wire), &compacted).await);
}
