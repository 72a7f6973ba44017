use futures::FutureExt as _;

use super::MessageOrder;

#[tokio::test]
async fn a_cancellation_concerns_the_prompts_before_it() {
    let order = MessageOrder::default();
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
    let order = MessageOrder::default();
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

#[tokio::test]
async fn messages_are_applied_in_the_order_in_which_they_were_read() {
    let order = MessageOrder::default();
    let (first, second, third) = (order.turn(), order.turn(), order.turn());
    assert!(first.wait().now_or_never().is_some());
    assert!(second.wait().now_or_never().is_none(), "the first is not applied");
    // A message that fails before its turn does not let a later one pass.
    drop(second);
    assert!(third.wait().now_or_never().is_none());
    drop(first);
    assert!(third.wait().now_or_never().is_some());
    let fourth = order.turn();
    assert!(fourth.wait().now_or_never().is_none());
    drop(third);
    assert!(fourth.wait().now_or_never().is_some());
}
