use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use serde_json::json;

use super::*;
use crate::call::CallContext;
use crate::ids::{CallId, CountingIds, MessageId};
use crate::message::{Block, Message, ToolInput, ToolResult, ToolUse};
use crate::permission::Class;
use crate::provider::{AskLimits, Delta, RetryPolicy, StopReason, ask};
use crate::tool::ToolSpec;
use crate::usage::Usage;

fn request(text: &str) -> ModelRequest {
    let ids = CountingIds::default();
    ModelRequest::new("any", Arc::new(vec![Arc::new(Message::user(&ids, text))]))
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        class: Class::Inspect,
    }
}

fn yaml(text: &str) -> ScriptedProvider {
    ScriptedProvider::new(Script::from_yaml(text).unwrap())
}

async fn call(provider: &ScriptedProvider) -> Result<DeltaStream, ProviderError> {
    provider.stream(request("hi"), CallContext::detached()).await
}

/// Everything one call streams, and the error it ends with, if it does.
async fn play(provider: &ScriptedProvider) -> (Vec<Delta>, Option<ProviderError>) {
    let mut stream = call(provider).await.unwrap();
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(delta) => deltas.push(delta),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last of a stream");
                return (deltas, Some(error));
            }
        }
    }
    (deltas, None)
}

async fn deltas(text: &str) -> Vec<Delta> {
    let (deltas, error) = play(&yaml(text)).await;
    assert_eq!(error, None);
    deltas
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

fn tool(id: &str, name: &str, input: serde_json::Value) -> Delta {
    Delta::Block(Block::ToolUse(ToolUse::new(CallId::from(""), id, name, ToolInput::Json(input))))
}

#[tokio::test]
async fn core_04_text_comes_as_it_is_written() {
    assert_eq!(deltas("- Hello.").await, [text("Hello."), Delta::End(StopReason::EndTurn)]);
    assert_eq!(
        deltas("- text: [Hel, lo]").await,
        [text("Hel"), text("lo"), Delta::End(StopReason::EndTurn)]
    );
    assert_eq!(deltas("- text: ''").await, [Delta::End(StopReason::EndTurn)]);
}

#[tokio::test]
async fn core_04_chat_is_built_on_the_stream() {
    let provider = yaml("- {text: Hello there., chunk: 3}\n- steps: [{text: Hel}, drop]");
    let chat = || provider.chat(request("hi"), CallContext::detached());
    let (message, stop) = chat().await.unwrap();
    assert_eq!((message.text().as_str(), stop), ("Hello there.", StopReason::EndTurn));
    assert_eq!(chat().await.unwrap_err(), ProviderError::truncated());
}

#[tokio::test]
async fn pieces_are_characters_not_bytes() {
    assert_eq!(
        deltas("- {text: 'añ→😀b', chunk: 2}").await,
        [text("añ"), text("→😀"), text("b"), Delta::End(StopReason::EndTurn)]
    );
}

#[tokio::test]
async fn signed_thinking_is_followed_by_its_block() {
    let thinking = |text: &str| Delta::Thinking(text.to_owned());
    assert_eq!(
        deltas("- steps: [{thinking: hmm, signature: s, chunk: 2}, {text: a}]").await,
        [
            thinking("hm"),
            thinking("m"),
            Delta::Block(Block::thinking("hmm", Some("s".to_owned()))),
            text("a"),
            Delta::End(StopReason::EndTurn)
        ]
    );
    assert_eq!(deltas("- thinking: hmm").await, [thinking("hmm"), Delta::End(StopReason::EndTurn)]);
}

#[tokio::test]
async fn tool_calls_are_numbered_in_each_answer_anew() {
    let provider =
        yaml("- tools: [A, {tool: B, input: {x: 1}}, {tool: C, id: mine}, D]\n- tools: [A]");
    assert_eq!(
        play(&provider).await.0,
        [
            tool("call_0", "A", json!({})),
            tool("call_1", "B", json!({"x": 1})),
            tool("mine", "C", json!({})),
            tool("call_3", "D", json!({})),
            Delta::End(StopReason::ToolUse)
        ]
    );
    assert_eq!(play(&provider).await.0[0], tool("call_0", "A", json!({})));
}

#[tokio::test]
async fn arguments_stream_when_a_piece_size_is_given() {
    let piece = |name: Option<&str>, json: &str| Delta::ToolInput {
        index: 0,
        id: name.map(|_| "call_0".to_owned()),
        name: name.map(str::to_owned),
        json: json.to_owned(),
    };
    assert_eq!(
        deltas("- tools: [{tool: A, input: {x: 1}, chunk: 4}]").await,
        [
            piece(Some("A"), "{\"x\""),
            piece(None, ":1}"),
            tool("call_0", "A", json!({"x": 1})),
            Delta::End(StopReason::ToolUse)
        ]
    );
}

#[tokio::test]
async fn invalid_arguments_are_marked_as_unparsed() {
    let deltas = deltas("- tools: [{tool: A, raw: '{\"x'}]").await;
    let Delta::Block(Block::ToolUse(call)) = &deltas[0] else { panic!("a call") };
    assert!(matches!(&call.input, ToolInput::Unparsed(unparsed) if unparsed.raw == "{\"x"));
}

#[tokio::test]
async fn usage_activity_and_stop_reasons_come_through() {
    assert_eq!(
        deltas("- steps: [activity, {usage: {input: 5, output: 2}}, {stop: pause}]").await,
        [Delta::Activity, Delta::Usage(Usage::new(5, 2)), Delta::End(StopReason::Pause)]
    );
}

#[tokio::test]
async fn an_error_that_comes_first_refuses_the_call() {
    let provider = yaml("- error: {kind: rate_limit, message: later, retry_after_ms: 70}\n- now");
    let error = call(&provider).await.err().unwrap();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::RateLimit, "later"));
    assert_eq!(error.retry_after, Some(Duration::from_millis(70)));
    assert_eq!(play(&provider).await.0[0], text("now"), "the next call gets the next answer");
}

#[tokio::test]
async fn an_error_that_comes_later_breaks_the_stream() {
    let (deltas, error) = play(&yaml("- {text: Hel, error: gone}")).await;
    assert_eq!(deltas, [text("Hel")]);
    assert_eq!(error.unwrap().to_string(), "gone");
}

#[tokio::test]
async fn a_drop_is_a_truncated_answer() {
    let script = Script::new().answer(ScriptedAnswer::new().text("Hel").cut_off());
    assert_eq!(play(&ScriptedProvider::new(script.clone())).await, (vec![text("Hel")], None));
    let provider = ScriptedProvider::new(script);
    let limits = AskLimits { retry: RetryPolicy::never(), ..AskLimits::default() };
    let error =
        ask(&provider, request("hi"), &CallContext::detached(), limits, &CountingIds::default())
            .await
            .unwrap_err();
    assert_eq!(error, ProviderError::truncated());
}

#[tokio::test(start_paused = true)]
async fn a_stall_lasts_its_time() {
    let provider = yaml("- steps: [{text: a}, {stall: {ms: 90000}}, {text: b}]");
    let start = tokio::time::Instant::now();
    assert_eq!(play(&provider).await.0.len(), 3);
    assert_eq!(start.elapsed(), Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn a_stall_forever_never_ends() {
    let mut stream = call(&yaml("- steps: [{text: a}, {stall: forever}]")).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), text("a"));
    let day = Duration::from_secs(24 * 60 * 60);
    assert!(tokio::time::timeout(day, stream.next()).await.is_err());
}

#[tokio::test]
async fn a_gate_holds_until_it_is_released() {
    let script = Script::new()
        .answer(ScriptedAnswer::new().text("a").gate("go").text("b"))
        .answer(ScriptedAnswer::new().gate("go").text("c"));
    let provider = ScriptedProvider::new(script);
    assert!(provider.reached("go").now_or_never().is_none());
    let mut stream = call(&provider).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), text("a"));
    assert!(stream.next().now_or_never().is_none(), "the gate is closed");
    provider.reached("go").await;
    provider.release("other");
    assert!(stream.next().now_or_never().is_none(), "another gate does not matter");
    provider.release("go");
    assert_eq!(stream.next().await.unwrap().unwrap(), text("b"));
    assert_eq!(play(&provider).await.0[0], text("c"), "a gate that was released stays open");
}

#[tokio::test]
async fn a_gate_wakes_a_waiting_task() {
    let provider =
        ScriptedProvider::new(Script::new().answer(ScriptedAnswer::new().gate("go").text("a")));
    let player = provider.clone();
    let waiting = tokio::spawn(async move { play(&player).await.0 });
    provider.reached("go").await;
    provider.release("go");
    assert_eq!(waiting.await.unwrap()[0], text("a"));
}

#[tokio::test]
async fn after_the_last_answer_it_says_so() {
    let provider = yaml("- one");
    assert_eq!(provider.unplayed(), 1);
    play(&provider).await;
    assert_eq!(provider.unplayed(), 0);
    let error = call(&provider).await.err().unwrap();
    assert_eq!(error.to_string(), "the script is over: it has 1 answer, and this is model call 2");
    assert_eq!((error.kind(), error.retryable()), (ErrorKind::Validation, false));
    assert!(error.hint().unwrap().contains("loop: true"));
    assert_eq!(provider.requests().len(), 2, "a refused call is noted too");
    let error = call(&ScriptedProvider::new(Script::new())).await.err().unwrap();
    assert!(error.to_string().contains("no answers"));
    assert!(call(&ScriptedProvider::new(Script::new().looped())).await.is_err());
}

#[tokio::test]
async fn a_looped_script_begins_again() {
    let provider = yaml("loop: true\nanswers: [a, b]");
    for expected in ["a", "b", "a", "b", "a"] {
        assert_eq!(play(&provider).await.0[0], text(expected));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_each_get_an_answer_of_their_own() {
    let mut script = Script::new();
    for n in 0..64 {
        script = script.text(n.to_string());
    }
    let provider = ScriptedProvider::new(script);
    let calls = (0..64).map(|_| {
        let provider = provider.clone();
        tokio::spawn(async move { play(&provider).await.0 })
    });
    let mut seen: Vec<u32> = Vec::new();
    for deltas in futures::future::join_all(calls).await {
        let Delta::Text(text) = &deltas.unwrap()[0] else { panic!("text") };
        seen.push(text.parse().unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..64).collect::<Vec<u32>>());
    assert_eq!(provider.unplayed(), 0);
}

async fn refused(expect: &str, request: ModelRequest) -> String {
    let provider = yaml(&format!("- fine\n- {{text: fine, expect: {expect}}}"));
    play(&provider).await;
    match provider.stream(request, CallContext::detached()).await {
        Ok(_) => panic!("should not be answered"),
        Err(error) => {
            assert_eq!((error.kind(), error.retryable()), (ErrorKind::Validation, false));
            let message = error.to_string();
            assert!(message.starts_with("answer 2 of the script"), "{message}");
            message
        }
    }
}

async fn answered(expect: &str, request: ModelRequest) {
    let provider = yaml(&format!("- {{text: fine, expect: {expect}}}"));
    if let Err(error) = provider.stream(request, CallContext::detached()).await {
        panic!("{error}");
    }
}

#[tokio::test]
async fn an_answer_can_expect_the_last_text() {
    answered("{last: lo w}", request("hello world")).await;
    let message = refused("{last: bye}", request("hello world")).await;
    assert!(message.contains("\"bye\"") && message.contains("\"hello world\""), "{message}");
    let message = refused("{last: bye}", ModelRequest::new("any", Arc::default())).await;
    assert!(message.contains("there is none"), "{message}");
    let message = refused("{last: bye}", request(&"long ".repeat(10_000))).await;
    assert!(message.len() < 500 && message.contains("50000 characters"), "{message}");

    let ids = CountingIds::default();
    let used = ToolUse::new(CallId::from("1"), "call_0", "Read", ToolInput::parse(""));
    let result = ToolResult::text(&used, "the file", false);
    let results = Message::tool(MessageId::from("m"), vec![result]);
    let view = vec![
        Arc::new(Message::user(&ids, "read it")),
        Arc::new(results),
        Arc::new(Message::assistant(&ids, "it says", crate::message::MessageState::Complete)),
    ];
    let mut request = ModelRequest::new("any", Arc::new(view));
    answered("{last: the file}", request.clone()).await;
    request.instruction = Some(Message::user(&ids, "sum up"));
    answered("{last: sum up}", request).await;
}

#[tokio::test]
async fn an_answer_can_expect_tools_and_a_system_prompt() {
    let mut offered = request("hi");
    offered.tools = Arc::from([spec("Edit"), spec("Read")]);
    offered.system = Some(Arc::from("You are terse."));
    answered("{tools: [Read], system: terse}", offered.clone()).await;
    answered("{no_tools: true}", request("hi")).await;
    answered("{messages: 1}", request("hi")).await;
    let message = refused("{messages: 2}", request("hi")).await;
    assert!(message.contains("2 messages") && message.contains("there are 1"), "{message}");
    let message = refused("{no_tools: true}", offered.clone()).await;
    assert!(message.contains("Edit, Read"), "{message}");
    let message = refused("{tools: [Bash, Read]}", offered.clone()).await;
    assert!(message.contains("offered: Bash; offered are: Edit, Read"), "{message}");
    let message = refused("{tools: [Bash]}", request("hi")).await;
    assert!(message.contains("offered are: none"), "{message}");
    let message = refused("{system: verbose}", offered).await;
    assert!(message.contains("\"You are terse.\""), "{message}");
}

#[tokio::test]
async fn it_keeps_what_it_received() {
    let provider = yaml("loop: true\nanswers: [a]");
    for text in ["one", "two"] {
        drop(provider.stream(request(text), CallContext::detached()).await.unwrap());
    }
    let texts: Vec<String> =
        provider.requests().iter().map(|request| request.messages[0].text()).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[tokio::test]
async fn core_06_payloads_of_both_phases_are_reported() {
    async fn payloads(script: &str) -> Vec<(PayloadKind, serde_json::Value)> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let tap = PayloadSink::new(move |payload, _| {
            assert_eq!(payload.api_surface.as_deref(), Some("scripted"));
            sink.lock().unwrap().push((payload.kind, payload.payload));
        });
        if let Ok(stream) = yaml(script)
            .stream(request("hi"), CallContext { payloads: tap, ..CallContext::detached() })
            .await
        {
            stream.collect::<Vec<_>>().await;
        }
        let seen = seen.lock().unwrap();
        seen.clone()
    }

    let seen = payloads("- {text: [a, b], tools: [T], usage: {input: 1}}").await;
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].0, PayloadKind::Request);
    assert_eq!(seen[0].1["model"], "any");
    assert_eq!(seen[1].0, PayloadKind::Response);
    assert_eq!(seen[1].1["answer"], 1);
    assert_eq!(seen[1].1["steps"][0], json!({"text": "ab"}));
    assert_eq!(seen[1].1["steps"][1]["tool"], "T");

    let refused = payloads("- error: gone").await;
    assert_eq!(refused[1].1["error"]["message"], "gone");
    let broken = payloads("- {text: a, error: gone}").await;
    assert_eq!(broken[1].1["steps"][1]["error"]["message"], "gone");
    assert_eq!(payloads("- steps: [drop]").await.len(), 1, "nothing came back");
}

#[tokio::test]
async fn a_script_in_code_can_say_all_of_it() {
    let script = Script::new()
        .error(ProviderError::new(ErrorKind::Network, "gone"))
        .answer(
            ScriptedAnswer::new()
                .thinking("hmm", Some("s"))
                .chunks(["a", "b"])
                .tool("T", json!({"x": 1}))
                .usage(Usage::new(1, 2))
                .stop(StopReason::MaxTokens)
                .chunked(NonZeroUsize::new(100).unwrap()),
        )
        .answer(ScriptedAnswer::new().pause(Duration::from_millis(3)).stall());
    assert_eq!(
        script,
        Script::from_yaml(
            "- error: {kind: network, message: gone}
- chunk: 100
  steps:
    - {thinking: hmm, signature: s}
    - text: [a, b]
    - {tool: T, input: {x: 1}}
    - usage: {input: 1, output: 2}
    - stop: max_tokens
- steps: [{stall: {ms: 3}}, {stall: forever}]
"
        )
        .unwrap()
    );
}
