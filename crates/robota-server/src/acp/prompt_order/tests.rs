use futures::FutureExt as _;

use super::PromptOrder;

#[tokio::test]
async fn a_cancellation_concerns_the_prompts_before_it() {
    let order = PromptOrder::default();
    let (first, second) = (order.accept(), order.accept());
    assert!(first.wait_for_earlier().now_or_never().is_some(), "nothing was cancelled yet");
    let stopping = order.cancel();
    let third = order.accept();
    assert!(first.is_cancelled() && second.is_cancelled());
    assert!(!third.is_cancelled());
    // The third waits for both prompts, and for the cancellation.
    assert!(third.wait_for_earlier().now_or_never().is_none());
    drop((first, stopping));
    assert!(third.wait_for_earlier().now_or_never().is_none());
    drop(second);
    assert!(third.wait_for_earlier().now_or_never().is_some());
}

#[tokio::test]
async fn cancellations_follow_each_other() {
    let order = PromptOrder::default();
    let first = order.accept();
    let stopping = (order.cancel(), order.cancel());
    let second = order.accept();
    assert!(first.is_cancelled() && !second.is_cancelled());
    drop(order.cancel());
    assert!(second.is_cancelled());
    drop((stopping, second));
    let third = order.accept();
    assert!(third.wait_for_earlier().now_or_never().is_none(), "the first has not ended");
    drop(first);
    assert!(third.wait_for_earlier().now_or_never().is_some());
}
