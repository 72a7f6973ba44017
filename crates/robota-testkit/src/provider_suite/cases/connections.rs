//! Reusing, ending and sharing connections.

use std::time::Duration;

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::message::ToolResult;
use robota_core::provider::{Delta, StopReason};
use serde_json::json;

use super::super::{FrozenTime, Suite};
use crate::mock::{Failure, Quirk, Reply, ResponseEnd, Scenario, Stall, Step};

/// One connection serves all rounds, also after a failure.
pub async fn the_connection_is_reused(suite: Suite) {
    let scenario = Scenario::reply(Reply::new().tool("list", json!({})))
        .then(Failure::status(529, "Overloaded"))
        .then(Reply::new().tool("list", json!({})))
        .then("Done.");
    let fixture = suite.fixture(scenario).await;
    let mut view = vec![fixture.user("hello")];
    loop {
        match fixture.ask(view.clone()).await {
            Err(error) => assert!(error.to_string().contains("Overloaded"), "{error}"),
            Ok(answered) => {
                let results: Vec<_> = answered
                    .calls()
                    .iter()
                    .map(|call| ToolResult::text(call, "a.txt", false))
                    .collect();
                if results.is_empty() {
                    break;
                }
                view.push(answered.message.clone());
                view.push(fixture.results(results));
            }
        }
    }
    assert_eq!(fixture.mock.calls().len(), 4);
    assert_eq!(fixture.mock.connections(), 1, "{:?}", fixture.mock.calls());
}

/// Dropping a silent stream ends the call immediately, without waiting for a timer.
pub async fn abort_while_silent(suite: Suite) {
    let reply = Reply::new().text("Well").gate("silence").text("never");
    let fixture = suite.fixture(reply).await;
    let request = fixture.request(vec![fixture.user("hello")]);
    let mut stream = fixture.provider.stream(request, CallContext::detached()).await.unwrap();
    loop {
        if stream.next().await.unwrap().unwrap() == Delta::Text("Well".to_owned()) {
            break;
        }
    }
    fixture.mock.reached("silence").await;
    let received = fixture.sent(1);
    // With frozen time no timeout can end the call, so only the drop can.
    let _frozen = FrozenTime::start();
    drop(stream);
    assert_eq!(received.ended().await, ResponseEnd::Disconnected);
}

/// Dropping the call ends it immediately also before the service has started to answer.
pub async fn abort_before_headers(suite: Suite) {
    let silent = Reply { hold: Some(Stall::Forever), ..Reply::new() };
    let fixture = suite.fixture(silent).await;
    let request = fixture.request(vec![fixture.user("hello")]);
    let provider = fixture.provider.clone();
    let calling =
        tokio::spawn(
            async move { provider.stream(request, CallContext::detached()).await.is_ok() },
        );
    let received = fixture.mock.call(1).await;
    // With frozen time no timeout can end the call, so only the drop can.
    let _frozen = FrozenTime::start();
    calling.abort();
    assert!(calling.await.unwrap_err().is_cancelled());
    assert_eq!(received.ended().await, ResponseEnd::Disconnected);
}

/// Concurrent calls do not disturb each other.
pub async fn concurrent_calls(suite: Suite) {
    let scenario = Scenario::reply(Reply::new().text("a1 ").gate("first").text("a2"))
        .then(Reply::new().text("b1 ").gate("second").text("b2"));
    let fixture = suite.fixture(scenario).await;
    let one = fixture.ask(vec![fixture.user("one")]);
    let two = async {
        // The first call holds its answer open while the second one runs.
        fixture.mock.reached("first").await;
        let asked = fixture.ask(vec![fixture.user("two")]);
        let opened = async {
            fixture.mock.reached("second").await;
            fixture.mock.release("second");
        };
        let (answered, ()) = tokio::join!(asked, opened);
        fixture.mock.release("first");
        answered
    };
    let (one, two) = tokio::join!(one, two);
    assert_eq!(
        (one.unwrap().text(), two.unwrap().text()),
        ("a1 a2".to_owned(), "b1 b2".to_owned())
    );
}

/// Deltas are emitted when they arrive, not at the end of the stream.
pub async fn deltas_are_not_delayed(suite: Suite) {
    let reply = Reply::new()
        .text("first")
        .gate("one")
        .tool("list", json!({}))
        .gate("two")
        .step(Step::Activity);
    let fixture = suite.fixture(reply).await;
    let request = fixture.request(vec![fixture.user("hello")]);
    let mut stream = fixture.provider.stream(request, CallContext::detached()).await.unwrap();
    loop {
        if stream.next().await.unwrap().unwrap() == Delta::Text("first".to_owned()) {
            break;
        }
    }
    fixture.mock.release("one");
    loop {
        if let Delta::Block(_) | Delta::ToolInput { .. } = stream.next().await.unwrap().unwrap() {
            break;
        }
    }
    fixture.mock.release("two");
    let mut last = None;
    while let Some(delta) = stream.next().await {
        last = Some(delta.unwrap());
    }
    assert!(matches!(last, Some(Delta::End(_))), "{last:?}");
}

/// An answer ends with its terminal event, even if the service keeps the connection open. On wires
/// where more may follow until the body ends, the provider waits only briefly.
pub async fn a_body_without_an_end(suite: Suite) {
    for quirks in [&[Quirk::NeverEnds][..], &[Quirk::NeverEnds, Quirk::NoDone]] {
        let reply = Reply::from("All said.").quirks(quirks.iter().copied());
        let fixture = suite.fixture(reply).await;
        let request = fixture.request(vec![fixture.user("hello")]);
        let mut stream = fixture.provider.stream(request, CallContext::detached()).await.unwrap();
        // Advances time for timers, but only after the bytes of the socket were read.
        let frozen = FrozenTime::start();
        let mut deltas = Vec::new();
        loop {
            tokio::select! {
                biased;
                item = stream.next() => match item {
                    Some(item) => deltas.push(item.unwrap()),
                    None => break,
                },
                () = tokio::time::advance(Duration::from_millis(50)) => {}
            }
        }
        drop(frozen);
        let text: String = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(text, "All said.");
        assert_eq!(deltas.last(), Some(&Delta::End(StopReason::EndTurn)), "{deltas:?}");
        drop(stream);
        assert_eq!(
            fixture.sent(1).ended().await,
            ResponseEnd::Disconnected,
            "the end of the body is not awaited"
        );
    }
}
