//! Checks that a wrong provider fails the provider suite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use robota_core::call::CallContext;
use robota_core::provider::{
    Delta, DeltaStream, ModelRequest, Provider, ProviderError, StopReason,
};
use robota_testkit::mock::{MockServer, Wire};
use robota_testkit::provider_suite::{FrozenTime, Suite, WireSetup, cases, table};

/// A provider that calls no service and always returns the same answer.
struct WrongProvider;

#[async_trait::async_trait]
impl Provider for WrongProvider {
    fn name(&self) -> &'static str {
        "wrong"
    }

    async fn stream(&self, _: ModelRequest, _: CallContext) -> Result<DeltaStream, ProviderError> {
        let deltas =
            [Delta::Text("wrong".to_owned()), Delta::End(StopReason::Other("wrong".to_owned()))];
        Ok(futures::stream::iter(deltas).map(Ok).boxed())
    }
}

fn wrong(_: WireSetup) -> Arc<dyn Provider> {
    Arc::new(WrongProvider)
}

/// Returns whether a case checks nothing on a wire that lacks the feature.
fn checks_nothing(case: &str, wire: Wire) -> bool {
    match case {
        "opaque_blocks_are_sent_back" => wire != Wire::Anthropic,
        "calls_written_as_text" | "reasoning_field_names" => wire != Wire::OpenaiChat,
        "web_search" => wire == Wire::OpenaiChat,
        "unreadable_arguments" | "arguments_truncated_by_the_limit" | "request_id" => {
            wire == Wire::Gemini
        }
        _ => false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_provider_fails_every_case() {
    let cases = cases::all();
    assert!(cases.len() > 45, "{}", cases.len());
    std::panic::set_hook(Box::new(|_| {}));
    let mut passed = Vec::new();
    for wire in Wire::ALL {
        for (name, case) in &cases {
            let suite = Suite { wire, build: wrong };
            // Waiting for a call that never arrives is a failure too; paused time advances
            // automatically.
            let case = tokio::time::timeout(Duration::from_secs(3600), case(suite));
            let failed =
                !matches!(std::panic::AssertUnwindSafe(case).catch_unwind().await, Ok(Ok(())));
            if failed == checks_nothing(name, wire) {
                passed.push(format!("{wire} {name}"));
            }
        }
    }
    let _ = std::panic::take_hook();
    assert_eq!(passed, [""; 0]);
}

#[tokio::test]
async fn frozen_time_does_not_stop_sockets() {
    let mock = MockServer::start("hello").await.unwrap();
    let frozen = FrozenTime::start();
    let slept = tokio::spawn(tokio::time::sleep(Duration::from_millis(1)));
    // All tasks wait for a socket, several times.
    for _ in 0..5 {
        let address = mock.origin().strip_prefix("http://").unwrap().to_owned();
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let asked = b"GET /api/version HTTP/1.1\r\nconnection: close\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut socket, asked).await.unwrap();
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut socket, &mut answer).await.unwrap();
        assert!(answer.contains("version"));
    }
    assert!(!slept.is_finished());
    tokio::time::advance(Duration::from_millis(2)).await;
    slept.await.unwrap();
    drop(frozen);
}

#[test]
fn the_table_has_all_wires_and_features() {
    let table = table();
    assert!(table.lines().all(|line| line.matches('|').count() == 6), "{table}");
    assert!(table.contains("no: answers never pause"));
}
