use futures::FutureExt as _;
use jiff::Timestamp;
use robota_core::event::{AssistantMessage, ModelRequested, Purpose, ToolCalled};
use robota_core::ids::RandomIds;
use robota_core::message::{MessageState, ToolInput};
use tokio::time::Instant;

use super::*;

fn envelope(event: impl Into<Event>) -> Envelope {
    let (event, ts) = (event.into(), Timestamp::UNIX_EPOCH);
    Envelope { seq: 1, epoch: 1, ts, turn: None, event, min_reader: None }
}

fn requested() -> Envelope {
    envelope(ModelRequested {
        round: 1,
        attempt: 1,
        purpose: Purpose::Answer,
        messages: 1,
        prompt: None,
        tools: None,
        instruction: None,
        continues: false,
    })
}

#[tokio::test(start_paused = true)]
async fn sdk_08_a_request_about_a_call_waits_for_the_line_of_the_call() {
    let calls = CallIds::default();
    let tool_use = ToolUse::new("c1".into(), "toolu_1", "Read", ToolInput::Json(json!({})));
    let content = vec![Block::ToolUse(tool_use.clone())];
    let answer = Message::assistant(&RandomIds, content, MessageState::Complete);
    let called = envelope(ToolCalled { round: 1, index: 0, tool_use });
    let complete = envelope(AssistantMessage { round: 1, message: answer.clone().into() });

    calls.observe(&requested());
    // A call for the host has no line.
    calls.wait_until_printed("toolu_1").now_or_never().unwrap();
    calls.observe(&called);
    let mut waiting = Box::pin(calls.wait_until_printed("toolu_1"));
    assert!((&mut waiting).now_or_never().is_none(), "the answer is not complete");
    calls.observe(&complete);
    assert!((&mut waiting).now_or_never().is_none(), "the line was not printed");
    calls.printed(&answer);
    assert!((&mut waiting).now_or_never().is_some());
    // The line may be printed before the session's task has seen the event.
    calls.observe(&complete);
    calls.wait_until_printed("toolu_1").now_or_never().unwrap();

    calls.observe(&requested());
    calls.observe(&called);
    let mut waiting = Box::pin(calls.wait_until_printed("toolu_1"));
    assert!((&mut waiting).now_or_never().is_none());
    calls.observe(&requested());
    assert!((&mut waiting).now_or_never().is_some(), "another attempt replaces the answer");

    calls.observe(&called);
    let start = Instant::now();
    calls.wait_until_printed("toolu_1").await;
    assert_eq!(start.elapsed(), LINE_LIMIT, "this run does not print the turn");
}
