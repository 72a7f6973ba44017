//! Tests the HTTP layer over a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod prepared_server;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use prepared_server::{After, Answer, Server};
use robota_core::call::CallContext;
use robota_core::clock::Clock;
use robota_core::env_ref::Secret;
use robota_core::error::{Diagnose as _, ErrorKind};
use robota_core::ids::CountingIds;
use robota_core::message::Message;
use robota_core::provider::{
    AskLimits, Delta, FailureReason, ModelRequest, PayloadSink, Provider as _, ProviderError,
    RetryPolicy, StopReason, ask as whole,
};
use robota_providers::{
    Auth, Host, HttpClientOptions, HttpProvider, ProviderSettings, Vendors, Wire, build, find_local,
};

const KEY: &str = "sk-very-secret-key";

const ANTHROPIC: &[&str] = &[
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_stop\"}\n\n",
];
const CHAT: &[&str] = &[
    "data: {\"choices\":[{\"delta\":{\"content\":\"H",
    "i\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];
const RESPONSES: &[&str] = &[
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
];
const GEMINI: &[&str] = &[
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n",
];

fn settings(url: &str) -> ProviderSettings {
    ProviderSettings {
        model: Some("m-1".into()),
        api_key: Some(Secret::new(KEY)),
        base_url: Some(url.to_owned()),
        ..ProviderSettings::default()
    }
}

fn provider(vendor: &str, settings: ProviderSettings) -> Arc<HttpProvider> {
    let vendors = Vendors::builtin();
    build(vendors.find(vendor).unwrap(), settings, &Host::default()).unwrap()
}

fn ask() -> ModelRequest {
    let message = Message::user(&CountingIds::default(), "Hello?");
    ModelRequest::new("", Arc::new(vec![Arc::new(message)]))
}

async fn answer(provider: &HttpProvider) -> Result<String, ProviderError> {
    let limits = AskLimits { retry: RetryPolicy::never(), ..AskLimits::default() };
    let (message, stop) =
        whole(provider, ask(), &CallContext::detached(), limits, &CountingIds::default()).await?;
    assert_eq!(stop, StopReason::EndTurn);
    Ok(message.text())
}

/// Returns the error of a call that gets this response.
async fn failure(answer_with: Answer) -> ProviderError {
    let server = Server::start(vec![answer_with]).await;
    answer(&provider("openai", settings(&server.url))).await.unwrap_err()
}

#[tokio::test]
async fn core_04_each_wire_completes_a_call() {
    #[rustfmt::skip]
    let wires = [
        ("anthropic", None, ANTHROPIC, "POST /v1/messages HTTP/1.1", "x-api-key", KEY.to_owned()),
        ("openai", None, CHAT, "POST /v1/chat/completions HTTP/1.1", "authorization", format!("Bearer {KEY}")),
        ("openai", Some(Wire::Responses), RESPONSES, "POST /v1/responses HTTP/1.1", "authorization", format!("Bearer {KEY}")),
        ("gemini", None, GEMINI, "POST /v1beta/models/m-1:streamGenerateContent?alt=sse HTTP/1.1", "x-goog-api-key", KEY.to_owned()),
    ];
    for (vendor, wire, stream, line, header, value) in wires {
        let server = Server::start(vec![Answer::stream(stream)]).await;
        let provider = provider(vendor, ProviderSettings { wire, ..settings(&server.url) });
        assert_eq!(answer(&provider).await.unwrap(), "Hi", "{vendor}");
        let received = server.received();
        assert_eq!(received[0].line, line);
        assert_eq!(received[0].header(header), Some(value.as_str()));
        assert_eq!(received[0].header("content-type"), Some("application/json"));
        assert!(received[0].body.is_object());
    }
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_named_and_given_up_soon() {
    let provider = provider("openai", settings("http://models.mistyped.invalid/v1"));
    let error = answer(&provider).await.unwrap_err();
    assert_eq!(error.reason, Some(FailureReason::UnknownHost));
    assert!(error.to_string().contains("`models.mistyped.invalid` does not exist"), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("baseURL") && hint.contains("OPENAI_BASE_URL"), "{hint}");
    let policy = RetryPolicy::default();
    let retries = (1..)
        .take_while(|failures| policy.delay(&error, *failures, Duration::ZERO, "seed").is_some());
    let delays = retries.map(|failures| policy.delay(&error, failures, Duration::ZERO, "seed"));
    let delays: Vec<_> = delays.flatten().collect();
    assert_eq!(delays.len(), 3);
    assert!(delays.iter().sum::<Duration>() < Duration::from_secs(5), "{delays:?}");
}

#[tokio::test]
async fn one_connection_is_reused_across_rounds() {
    for (vendor, stream) in [("anthropic", ANTHROPIC), ("openai", CHAT), ("gemini", GEMINI)] {
        let server = Server::start(vec![Answer::stream(stream); 5]).await;
        let provider = provider(vendor, settings(&server.url));
        for _ in 0..5 {
            assert_eq!(answer(&provider).await.unwrap(), "Hi");
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), 1, "{vendor}");
    }
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_complete() {
    let server = Server::start(vec![Answer::stream(CHAT).after(After::Close)]).await;
    assert_eq!(answer(&provider("openai", settings(&server.url))).await.unwrap(), "Hi");
}

#[tokio::test]
async fn a_connection_lost_mid_answer_is_retryable() {
    let cut = failure(Answer::stream(&CHAT[..1]).after(After::Drop)).await;
    assert_eq!((cut.kind(), cut.reason), (ErrorKind::Network, Some(FailureReason::Truncated)));
    assert!(cut.retryable());
    assert!(cut.hint().unwrap().contains("while the model was answering"), "{cut:?}");
    let short = failure(Answer::stream(&CHAT[..1])).await;
    assert_eq!(short.reason, Some(FailureReason::Truncated));
    assert!(short.retryable());
}

#[tokio::test]
async fn an_unreachable_server_has_a_hint() {
    let error = answer(&provider("ollama", settings("http://127.0.0.1:1/v1"))).await.unwrap_err();
    assert_eq!((error.kind(), error.reason), (ErrorKind::Network, Some(FailureReason::Connection)));
    assert!(error.retryable());
    assert!(error.hint().unwrap().contains("check that the server runs at http://127.0.0.1:1/v1"));
}

#[tokio::test]
async fn error_responses_are_classified() {
    let bad_key = r#"{"error":{"message":"Incorrect API key provided: sk-very-secret-key","code":"invalid_api_key"}}"#;
    let error = failure(Answer::body(401, bad_key).header("x-request-id", "req_5")).await;
    assert_eq!(
        (error.kind(), error.reason),
        (ErrorKind::Authentication, Some(FailureReason::BadKey))
    );
    assert_eq!(error.request_id.as_deref(), Some("req_5"));
    assert!(error.hint().unwrap().contains("OPENAI_API_KEY"));
    assert!(!format!("{error} {error:?}").contains(KEY));

    let page = failure(Answer::body(502, "<html><title>502 Bad Gateway</title></html>")).await;
    assert_eq!((page.reason, page.retryable()), (Some(FailureReason::Server), true));
    assert!(page.to_string().contains("502 Bad Gateway"), "{page}");

    let quota_error = failure(Answer::body(
        200,
        r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#,
    ))
    .await;
    assert_eq!((quota_error.reason, quota_error.retryable()), (Some(FailureReason::Quota), false));

    let silent = failure(Answer::body(500, "")).await;
    assert_eq!((silent.reason, silent.retryable()), (Some(FailureReason::Server), true));

    let stubborn = failure(Answer::body(503, "{}").header("x-should-retry", "false")).await;
    assert!(!stubborn.retryable());
}

#[tokio::test]
async fn a_429_without_a_delay_is_final_on_the_messages_wire_only() {
    for (vendor, body, retryable) in [
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"too many"}}"#,
            false,
        ),
        ("openai", r#"{"error":{"message":"too many","code":"rate_limit_exceeded"}}"#, true),
    ] {
        let server = Server::start(vec![Answer::body(429, body)]).await;
        let service = provider(vendor, settings(&server.url));
        let error = answer(&service).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.retryable()),
            (ErrorKind::RateLimit, retryable),
            "{vendor}"
        );
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }
}

#[tokio::test]
async fn retry_after_in_seconds_and_as_a_date() {
    for (header, seconds) in [("7", 7), ("Sun, 15 Nov 2026 12:00:30 GMT", 30)] {
        let server =
            Server::start(vec![Answer::body(429, "{}").header("retry-after", header)]).await;
        let host = Host::default().with_clock(Arc::new(Noon));
        let vendors = Vendors::builtin();
        let provider =
            build(vendors.find("openai").unwrap(), settings(&server.url), &host).unwrap();
        let error = answer(&provider).await.unwrap_err();
        assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)), "{header}");
        assert_eq!(error.kind(), ErrorKind::RateLimit);
        assert!(error.retryable());
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::start(vec![Answer::stream(CHAT)]).await;
    let answer =
        Answer::body(307, "").header("location", &format!("{}/v1?key={KEY}", elsewhere.url));
    let error = failure(answer).await;
    assert!(error.to_string().contains(&elsewhere.url), "{error}");
    assert!(!error.retryable() && !error.to_string().contains(KEY));
    assert_eq!(elsewhere.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn core_12_dropping_the_stream_ends_the_call() {
    let server = Server::start(vec![Answer::stream(&CHAT[..1]).after(After::Hang)]).await;
    let provider = provider("openai", settings(&server.url));
    let mut stream = provider.stream(ask(), CallContext::detached()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(Delta::Activity)));
    drop(stream);
    server.disconnected.notified().await;
}

#[tokio::test]
async fn core_06_no_key_is_in_any_payload_error_or_debug_output() {
    let echo = format!("data: {{\"choices\":[],\"you_sent\":\"{KEY}\"}}\n\n");
    let mut chunks = vec![echo.as_str()];
    chunks.extend_from_slice(CHAT);
    let refusal = format!("{{\"error\":{{\"message\":\"{KEY} is wrong\"}}}}");
    for (auth, url_key) in [(None, false), (Some(Auth::QueryKey), false), (None, true)] {
        let server =
            Server::start(vec![Answer::stream(&chunks), Answer::body(400, &refusal)]).await;
        let url = if url_key { format!("{}/v1?key={KEY}", server.url) } else { server.url.clone() };
        let given = ProviderSettings { auth, ..settings(&url) };
        let provider = provider("openai", given);
        let seen = Arc::new(Mutex::new(String::new()));
        let sink = seen.clone();
        let tap = || {
            let sink = sink.clone();
            let tap = PayloadSink::new(move |payload, _| {
                sink.lock().unwrap().push_str(&format!("{payload:?}"));
            });
            CallContext::detached().with_payloads(tap)
        };
        let deltas: Vec<_> = provider.stream(ask(), tap()).await.unwrap().collect().await;
        assert!(deltas.iter().all(Result::is_ok), "{deltas:?}");
        let error = provider.stream(ask(), tap()).await.err().unwrap();
        let shown = format!(
            "{} {error} {error:?} {:?} {provider:?}",
            seen.lock().unwrap(),
            error.to_data()
        );
        assert!(!shown.contains(KEY), "{shown}");
        assert!(shown.contains("[REDACTED]"));
        if auth.is_some() || url_key {
            assert!(server.received()[0].line.contains(KEY), "the key was sent");
        }
    }
}

#[tokio::test]
async fn models_counting_and_probing() {
    let list =
        r#"{"data":[{"id":"m-1","display_name":"M","max_input_tokens":5000}],"has_more":false}"#;
    let called = [
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"ping\",\"input\":{}}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    ];
    let answers = vec![
        Answer::body(200, r#"{"input_tokens":42}"#),
        Answer::body(200, list),
        Answer::body(200, list),
        Answer::stream(&called),
    ];
    let server = Server::start(answers).await;
    let provider = provider("anthropic", settings(&server.url));
    assert_eq!(provider.count_tokens(&ask()).await.unwrap(), Some(42));
    let models = provider.models().await.unwrap().unwrap();
    assert_eq!(models.entries[0].context_window, Some(5_000));
    let probe = provider.probe("m-1").await.unwrap();
    assert!(probe.calls_tools && probe.listed == Some(true));
    assert_eq!(probe.context_window, Some(5_000));
    let lines: Vec<_> = server.received().into_iter().map(|request| request.line).collect();
    assert_eq!(lines[0], "POST /v1/messages/count_tokens HTTP/1.1");
    assert_eq!(lines[1], "GET /v1/models?limit=1000 HTTP/1.1");
    assert!(server.received()[0].body.get("max_tokens").is_none());
}

#[tokio::test]
async fn local_servers_are_found() {
    let server = Server::start(vec![Answer::body(200, r#"{"data":[{"id":"local-1"}]}"#)]).await;
    let here = serde_json::json!({"type": "here", "extends": "ollama", "base_url": server.url});
    let there =
        serde_json::json!({"type": "there", "extends": "ollama", "base_url": "http://127.0.0.1:1"});
    let vendors = Vendors::builtin().with_user(&here).unwrap().with_user(&there).unwrap();
    let found = find_local(&vendors, &Host::default(), Duration::from_secs(20)).await;
    let found = found.iter().find(|one| one.profile.vendor == "here").unwrap();
    assert_eq!(found.models.entries[0].id, "local-1");
}

#[tokio::test]
async fn a_configured_proxy_is_used() {
    let proxy = Server::start(vec![Answer::stream(CHAT)]).await;
    let host = Host::new(HttpClientOptions {
        proxy: Some(proxy.url.clone()),
        ..HttpClientOptions::default()
    });
    let vendors = Vendors::builtin();
    let given = settings("http://service.invalid/v1");
    let provider = build(vendors.find("openai").unwrap(), given, &host).unwrap();
    assert_eq!(answer(&provider).await.unwrap(), "Hi");
    assert_eq!(
        proxy.received()[0].line,
        "POST http://service.invalid/v1/chat/completions HTTP/1.1"
    );
}

#[tokio::test]
async fn core_04_the_limits_of_a_model_are_asked_once() {
    let list = r#"{"data":[{"id":"m-1","max_input_tokens":5000,"max_tokens":700}]}"#;
    let server = Server::start(vec![Answer::body(200, list)]).await;
    let claude = provider("anthropic", settings(&server.url));
    let limits = claude.limits("m-1").await.unwrap();
    assert_eq!((limits.context_window, limits.max_output), (Some(5_000), Some(700)));
    assert_eq!(claude.limits("m-1").await, Some(limits));
    assert_eq!(server.received().len(), 1);

    // What a local server really uses, not what the model was trained for.
    let props = r#"{"default_generation_settings":{"n_ctx":4096}}"#;
    let list = r#"{"data":[{"id":"m-1","max_model_len":131072}]}"#;
    let server = Server::start(vec![Answer::body(200, props), Answer::body(200, list)]).await;
    let local = provider("llamacpp", settings(&format!("{}/v1", server.url)));
    assert_eq!(local.limits("m-1").await.unwrap().context_window, Some(4_096));
    let lines: Vec<_> = server.received().into_iter().map(|request| request.line).collect();
    assert_eq!(lines, ["GET /props HTTP/1.1", "GET /v1/models HTTP/1.1"]);

    // A service that reports no limits is not an error.
    let server = Server::start(vec![Answer::body(404, "no")]).await;
    assert_eq!(provider("anthropic", settings(&server.url)).limits("m-1").await, None);
}

#[tokio::test]
async fn core_04_rate_limits_are_shown_and_waited_for() {
    let limited =
        Answer::body(429, r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#)
            .header("x-ratelimit-remaining-tokens", "0")
            .header("x-ratelimit-reset-tokens", "1m30s")
            .header("x-ratelimit-limit-tokens", "9000");
    let server = Server::start(vec![limited]).await;
    let openai = provider("openai", settings(&server.url));
    assert_eq!(openai.rate_limits(), None);
    let error = answer(&openai).await.unwrap_err();
    assert!(error.retryable());
    assert_eq!(error.retry_after, Some(Duration::from_secs(90)));
    let limits = openai.rate_limits().unwrap();
    assert_eq!((limits.0[0].name.as_str(), limits.0[0].limit), ("tokens", Some(9_000)));
}
