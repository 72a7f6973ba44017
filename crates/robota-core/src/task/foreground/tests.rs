use super::*;

#[tokio::test]
async fn a_call_that_does_not_wait_cannot_be_moved() {
    let calls = ForegroundCalls::default();
    let call = CallId::from("c1");
    let not_waiting = NotMoved::NotWaiting(call.clone());
    assert_eq!(calls.move_to_background(&call).await, Err(not_waiting.clone()));
    drop(calls.enter(&call));
    assert_eq!(calls.move_to_background(&call).await, Err(not_waiting));
}

#[tokio::test]
async fn a_call_that_ends_first_was_not_moved() {
    let calls = ForegroundCalls::default();
    let call = CallId::from("c1");
    let waiting = calls.enter(&call);
    let moved = calls.move_to_background(&call);
    tokio::pin!(moved);
    assert!(futures::poll!(&mut moved).is_pending());
    drop(waiting);
    assert_eq!(moved.await, Err(NotMoved::NotWaiting(call.clone())));
}

#[tokio::test]
async fn a_call_whose_move_failed_can_be_moved_again() {
    let calls = ForegroundCalls::default();
    let call = CallId::from("c1");
    let mut waiting = calls.enter(&call);
    for answer in [Err("too many tasks".to_owned()), Ok(vec![TaskId::from("bash_1")])] {
        let moved = calls.move_to_background(&call);
        tokio::pin!(moved);
        assert!(futures::poll!(&mut moved).is_pending());
        waiting.asked().await.answer(answer.clone());
        assert_eq!(moved.await, answer.map_err(NotMoved::Failed));
    }
}
