use std::sync::Arc;

use super::CombinedHooks;
use crate::hook::{BatchDecision, HookAnswer, HookInput, HookPoint, HookReply, Hooks};

/// Gives the same reply about every batch of calls.
struct AfterBatch(HookReply);

#[async_trait::async_trait]
impl Hooks for AfterBatch {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PostToolBatch
    }

    async fn run(&self, _input: HookInput) -> HookReply {
        self.0.clone()
    }
}

fn continues(text: &str) -> HookReply {
    let context = Some(text.to_owned());
    HookAnswer::PostToolBatch(BatchDecision::Continue { context }).into()
}

async fn after_batch(replies: Vec<HookReply>) -> HookReply {
    let hooks = replies.into_iter().map(|reply| Arc::new(AfterBatch(reply)) as Arc<dyn Hooks>);
    CombinedHooks::new(hooks.collect()).run(HookInput::PostToolBatch { calls: Vec::new() }).await
}

#[tokio::test]
async fn what_a_reply_says_besides_its_decision_counts_after_a_batch() {
    let stop = HookReply { stop: Some("over the limit".to_owned()), ..continues("first") };
    let note = HookReply { context: Some("note".to_owned()), ..continues("second") };
    let merged = after_batch(vec![stop, note.clone()]).await;
    let reason = "over the limit".to_owned();
    assert_eq!(merged.answer, HookAnswer::PostToolBatch(BatchDecision::Stop { reason }));
    assert_eq!(merged.context.as_deref(), Some("first\nnote\nsecond"));

    let merged = after_batch(vec![note]).await;
    assert_eq!(merged, continues("note\nsecond"));
}
