//! Whole turns of the real driver over real wires, with network failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use robota_core::error::ErrorKind;
use robota_core::event::{Event, TurnEnd, TurnStatus};
use robota_core::permission::Class;
use robota_core::provider::{NativeWeb, Provider, RetryPolicy, StopReason};
use robota_providers::SERVER_TOOL_INDEX;
use robota_testkit::mock::{
    Failure, MockServer, Reply, ResponseEnd, Scenario, Search, Stall, Step, Wire,
};
use robota_testkit::provider_suite::{FrozenTime, MODEL, SuiteBlobs, WireSetup};
use robota_testkit::{FnTool, Run, Script, fn_tool, kinds};
use serde_json::json;
use tokio::sync::Notify;

fn provider(wire: Wire, mock: &MockServer) -> Arc<dyn Provider> {
    common::provider(WireSetup {
        wire,
        origin: mock.origin(),
        base_url: mock.base_url(wire),
        api_key: "sk-test-of-turns".to_owned(),
        model: MODEL.to_owned(),
        blobs: Arc::new(SuiteBlobs::default()),
        text_calls: false,
    })
}

/// Creates a run on that wire that retries without delay.
fn run(wire: Wire, mock: &MockServer) -> Run {
    let at_once = Duration::from_millis(1);
    let retry = RetryPolicy {
        budget: Duration::from_secs(60),
        base: at_once,
        cap: at_once,
        ..RetryPolicy::default()
    };
    Run::new(Script::new()).provider(provider(wire, mock)).configure(|config| {
        config.turn.model = MODEL.to_owned();
        config.turn.retry = retry;
    })
}

fn list() -> FnTool {
    fn_tool("list", Class::Inspect, |_| async { "a.txt" })
}

async fn mock(scenario: impl Into<Scenario>) -> MockServer {
    MockServer::start(scenario).await.unwrap()
}

#[tokio::test]
async fn a_broken_stream_is_retried_and_its_text_is_dropped() {
    for wire in Wire::ALL {
        for end in [Step::Drop, Step::Reset, Step::Truncate] {
            let broken = Reply::new().text("Half an ans").step(end.clone());
            let mock = mock(Scenario::reply(broken).then("The whole answer.")).await;
            let ran = run(wire, &mock).prompt("hello").await;
            assert_eq!(ran.report.end, TurnEnd::Complete, "{wire} {end:?}: {:?}", ran.report);
            assert_eq!(ran.text, "The whole answer.", "{wire} {end:?}");
            let kinds = kinds(&ran.events);
            for kind in ["stream_reset", "model_retry"] {
                assert!(kinds.contains(&kind), "{wire} {end:?}: {kinds:?}");
            }
            let view = &ran.state.view.messages;
            assert_eq!(view.len(), 2, "{wire}: the abandoned text is not in the view");
            assert_eq!(view[1].text(), "The whole answer.");
            let calls = mock.calls();
            assert_eq!(calls.len(), 2, "{wire} {end:?}");
            assert_eq!(calls[0].body, calls[1].body, "{wire} {end:?}: the same request again");
        }
    }
}

#[tokio::test]
async fn a_broken_stream_after_a_tool_started_keeps_the_tool_result() {
    for wire in Wire::ALL {
        // On the Chat wire a call is complete only at the end of the answer, so no tool starts
        // early.
        let starts = wire != Wire::OpenaiChat;
        let broken =
            Reply::new().text("I look.").tool("list", json!({})).gate("started").step(Step::Drop);
        let mut scenario = Scenario::reply(broken);
        if !starts {
            scenario = scenario.then(Reply::new().tool("list", json!({})));
        }
        let mock = mock(scenario.then("There is a.txt.")).await;
        let started = Arc::new(Notify::new());
        let tell = started.clone();
        let tool = fn_tool("list", Class::Inspect, move |_| {
            tell.notify_one();
            async { "a.txt" }
        });
        let running = run(wire, &mock).tool(tool.clone()).prompt("hello");
        let breaking = async {
            mock.reached("started").await;
            if starts {
                started.notified().await;
            }
            mock.release("started");
        };
        let (ran, ()) = tokio::join!(running, breaking);
        assert_eq!(ran.report.end, TurnEnd::Complete, "{wire}: {:?}", ran.report);
        assert_eq!(ran.text, "There is a.txt.", "{wire}");
        assert_eq!(tool.inputs().len(), 1, "{wire}: the tool ran once");
        let last = mock.calls().last().unwrap().clone();
        assert!(last.last_text().contains("a.txt"), "{wire}: its result is sent: {}", last.json);
    }
}

#[tokio::test]
async fn transient_failures_are_retried() {
    for wire in Wire::ALL {
        let slow = Failure { retry_after_ms: Some(5), ..Failure::status(429, "Slow down.") };
        let scenario = Scenario::reply(Failure::status(529, "Overloaded"))
            .then(slow)
            .then(Failure::status(503, "Loading"))
            .then(Reply::new().step(Step::Close))
            .then(Reply::new().text("Half").error(Failure::status(529, "Overloaded")))
            .then("Here I am.");
        let mock = mock(scenario).await;
        let ran = run(wire, &mock).prompt("hello").await;
        assert_eq!(ran.text, "Here I am.", "{wire}: {:?}", ran.report);
        assert_eq!(mock.calls().len(), 6, "{wire}");
        let retries = kinds(&ran.events).into_iter().filter(|kind| *kind == "model_retry").count();
        assert_eq!(retries, 5, "{wire}: each retry is reported");
    }
}

#[tokio::test]
async fn permanent_failures_end_the_turn_immediately() {
    for wire in Wire::ALL {
        let mock = mock(Failure::status(401, "The key is wrong.")).await;
        let ran = run(wire, &mock).prompt("hello").await;
        assert_eq!(ran.report.end, TurnEnd::ProviderFailed, "{wire}");
        let error = ran.report.error.clone().unwrap();
        assert_eq!(error.kind, ErrorKind::Authentication, "{wire}");
        assert!(error.message.contains("The key is wrong."), "{wire}: {error}");
        assert!(error.hint.is_some(), "{wire}");
        assert_eq!(mock.calls().len(), 1, "{wire}");
    }
}

#[tokio::test]
async fn core_13_an_abort_during_silence_ends_the_turn_and_the_call_immediately() {
    for wire in Wire::ALL {
        let mock = mock(Reply::new().text("Well").gate("silence")).await;
        let run = run(wire, &mock);
        let cancel = run.cancel();
        let running = run.prompt("hello");
        let aborting = async {
            mock.reached("silence").await;
            let frozen = FrozenTime::start();
            cancel.cancel();
            frozen
        };
        let (ran, frozen) = tokio::join!(running, aborting);
        assert!(ran.report.interrupted(), "{wire}: {:?}", ran.report);
        assert_eq!(mock.calls()[0].ended().await, ResponseEnd::Disconnected, "{wire}");
        drop(frozen);
    }
}

#[tokio::test]
async fn core_14_a_silent_service_times_out() {
    let silent = || Reply { hold: Some(Stall::Gate("silence".to_owned())), ..Reply::new() };
    for wire in Wire::ALL {
        for reply in [silent(), Reply::new().text("Well").gate("silence")] {
            let mock = mock(reply).await;
            let run = run(wire, &mock).configure(|config| {
                config.idle_timeout = Duration::from_secs(30);
                config.turn.retry = RetryPolicy::never();
            });
            let running = run.prompt("hello");
            tokio::pin!(running);
            tokio::select! {
                () = mock.reached("silence") => {}
                ran = &mut running => panic!("{wire}: it ended before the idle timeout: {ran:?}"),
            }
            let _frozen = FrozenTime::start();
            // Bytes sent before the silence may still arrive and restart the idle timer.
            let ran = loop {
                tokio::select! {
                    biased;
                    ran = &mut running => break ran,
                    () = tokio::time::advance(Duration::from_secs(31)) => {}
                }
            };
            assert_eq!(ran.report.end, TurnEnd::ProviderFailed, "{wire}");
            let error = ran.report.error.clone().unwrap();
            assert!(error.message.contains("30 s"), "{wire}: {error}");
            assert_eq!(mock.calls()[0].ended().await, ResponseEnd::Disconnected, "{wire}");
        }
    }
}

#[tokio::test]
async fn one_connection_serves_a_whole_turn() {
    for wire in Wire::ALL {
        let mut scenario = Scenario::default();
        for _ in 0..5 {
            scenario = scenario.then(Reply::new().tool("list", json!({})));
        }
        let mock = mock(scenario.then("Done.")).await;
        let ran = run(wire, &mock).tool(list()).prompt("hello").await;
        assert_eq!(ran.text, "Done.", "{wire}: {:?}", ran.report);
        assert_eq!(mock.calls().len(), 6, "{wire}");
        assert_eq!(mock.connections(), 1, "{wire}");
    }
}

#[tokio::test]
async fn a_conversation_continues_on_any_other_wire() {
    for first in Wire::ALL {
        for second in Wire::ALL {
            let scenario = Scenario::reply(
                Reply::new()
                    .thinking("Look.", Some("c2ln"))
                    .text("I look.")
                    .tool("list", json!({})),
            )
            .then("There is a.txt.")
            .then(Reply::new().tool("list", json!({})))
            .then("Still there.");
            let mock = mock(scenario).await;
            let ran = run(first, &mock).tool(list()).prompt("hello").await;
            assert_eq!(ran.text, "There is a.txt.", "{first}: {:?}", ran.report);
            let ran = ran.provider(provider(second, &mock)).then("and now?").await;
            assert_eq!(ran.text, "Still there.", "{first} to {second}: {:?}", ran.report);
            let last = mock.calls().last().unwrap().clone();
            assert_eq!(last.wire(), Some(second));
            let body = last.json.to_string();
            assert!(body.matches("\"list\"").count() >= 2, "{first} to {second}: {body}");
            let signed = body.contains("c2ln");
            assert!(
                !signed || first == second,
                "{first} to {second}: a signature of another service"
            );
            let left_out = ran.events.iter().filter_map(|line| match &line.event {
                Event::ContentLeftOut(data) => Some(data),
                _ => None,
            });
            let left_out: Vec<_> = left_out.collect();
            if first == Wire::OpenaiChat {
                // Its reasoning has no signature, and a wire that never accepts reasoning reports
                // nothing.
                assert!(left_out.len() <= 1, "{first} to {second}: {left_out:?}");
            } else if first == second {
                assert_eq!(
                    left_out.len(),
                    0,
                    "{first}: its own reasoning is sent back: {left_out:?}"
                );
            } else {
                assert_eq!(left_out.len(), 1, "{first} to {second}: once, not with every request");
                assert!(!left_out[0].parts.is_empty(), "{first} to {second}: {left_out:?}");
            }
        }
    }
}

#[tokio::test]
async fn sdk_26_the_service_searches_the_web_when_the_session_asks_for_it() {
    for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::Gemini] {
        let search = Search {
            query: "ducks".to_owned(),
            url: "https://ducks.test".to_owned(),
            title: "Ducks".to_owned(),
        };
        let reply = Reply::new().step(Step::Search(search)).text("They walk.");
        let mock = mock(reply).await;
        let ran = run(wire, &mock)
            .configure(|config| config.native_web = NativeWeb { search: true, fetch: false })
            .prompt("What do ducks do?")
            .await;
        assert_eq!(ran.text, "They walk.", "{wire}");
        let sent = mock.calls()[0].json["tools"].to_string().to_lowercase();
        assert!(sent.contains("search"), "{wire}: {sent}");
        let reported = ran.events.iter().any(|event| {
            matches!(&event.event, Event::ToolInputChunk(data)
                if data.index >= SERVER_TOOL_INDEX && data.name.as_deref() == Some("web_search"))
        });
        assert!(reported, "{wire}: {:?}", kinds(&ran.events));
    }
    // A service without a search of its own is not called.
    let mock = mock("x").await;
    let ran = run(Wire::OpenaiChat, &mock)
        .configure(|config| config.native_web = NativeWeb { search: true, fetch: false })
        .prompt("hello")
        .await;
    assert_eq!(ran.report.end, TurnEnd::ProviderFailed);
    assert!(mock.calls().is_empty());
}

#[tokio::test]
async fn core_09_a_forced_summary_keeps_the_tools_and_forbids_calls() {
    for wire in Wire::ALL {
        let mock =
            mock(Scenario::reply(Reply::new().tool("list", json!({}))).then("So far.")).await;
        let ran = run(wire, &mock)
            .tool(list())
            .configure(|config| config.turn.max_rounds = 1)
            .prompt("hello")
            .await;
        assert_eq!((ran.report.end, ran.text.as_str()), (TurnEnd::RoundLimit, "So far."), "{wire}");
        let calls = mock.calls();
        assert_eq!(
            calls[0].json["tools"], calls[1].json["tools"],
            "{wire}: the cached prefix stays"
        );
        assert!(!calls[0].forbids_calls() && calls[1].forbids_calls(), "{wire}");
    }
}

/// A forced summary is written for an instruction that is not part of the conversation, so its
/// reasoning does not fit what later requests have before it.
#[tokio::test]
async fn core_04_the_signed_reasoning_of_a_forced_summary_is_not_sent_back() {
    let calls = Reply::new().thinking("Look.", Some("Zmlyc3Q=")).tool("list", json!({}));
    let summary = Reply::new().thinking("Sum it up.", Some("c2Vjb25k")).text("So far.");
    let mock = mock(Scenario::reply(calls).then(summary).then("Yes.")).await;
    let ran = run(Wire::Anthropic, &mock).tool(list()).max_rounds(1).prompt("hello").await;
    assert_eq!(ran.text, "So far.", "{:?}", ran.report);
    let ran = ran.then("and now?").await;
    assert_eq!(ran.text, "Yes.", "{:?}", ran.report);
    let body = mock.calls()[2].json.to_string();
    assert!(body.contains("Zmlyc3Q="), "what was before the first did not change: {body}");
    assert!(!body.contains("c2Vjb25k"), "{body}");
}

#[tokio::test]
async fn core_08_cut_refused_and_filtered_answers_are_distinguished_on_every_wire() {
    for wire in Wire::ALL {
        let refused = Reply::new().text("No").stop(StopReason::Refusal);
        let ran = run(wire, &mock(refused).await).prompt("hello").await;
        assert_eq!(ran.report.status(), TurnStatus::Refused, "{wire}");
        let cut = || Reply::new().text("on ").stop(StopReason::MaxTokens);
        let mock = mock(Scenario::reply(cut()).then(cut()).then("and done.")).await;
        let ran = run(wire, &mock).prompt("hello").await;
        assert_eq!(ran.report.status(), TurnStatus::Done, "{wire}");
        assert_eq!(ran.report.text, "on on and done.", "{wire}");
    }
}
