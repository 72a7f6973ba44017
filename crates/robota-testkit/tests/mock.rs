//! Tests the output of the mock model server byte by byte. The snapshots were compared with the
//! vendors' documentation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "mock/raw.rs"]
mod raw;

use raw::{Response, exchange, get, post, request};
use robota_core::provider::StopReason;
use robota_testkit::mock::{
    Failure, FailureFormat, MockServer, Quirk, Reply, ResponseEnd, Scenario, Stall, Step,
    TextCalls, Tokens, When, Wire,
};
use serde_json::{Value, json};
use std::num::NonZeroUsize;

fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "/v1/messages",
        Wire::OpenaiChat => "/v1/chat/completions",
        Wire::OpenaiResponses => "/v1/responses",
        Wire::Gemini => "/v1beta/models/m:streamGenerateContent?alt=sse",
    }
}

fn ask(wire: Wire, text: &str) -> Value {
    match wire {
        Wire::Anthropic | Wire::OpenaiChat => json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": text}],
        }),
        Wire::OpenaiResponses => json!({"model": "m", "stream": true, "input": text}),
        Wire::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
    }
}

async fn call(mock: &MockServer, wire: Wire) -> Response {
    post(mock, path(wire), ask(wire, "hello")).await
}

async fn response_to(wire: Wire, scenario: impl Into<Scenario>) -> Response {
    call(&MockServer::start(scenario).await.unwrap(), wire).await
}

fn size(size: usize) -> NonZeroUsize {
    NonZeroUsize::new(size).unwrap()
}

fn everything() -> Reply {
    Reply::new()
        .thinking("Add them.", Some("c2ln"))
        .pieces(["Let me ", "look."])
        .step(Step::Activity)
        .tool("read", json!({"path": "a.txt"}))
        .tool("list", json!({}))
        .chunked(size(9))
        .usage(Tokens { input: 100, output: 20, cache_read: 60, cache_write: 10, reasoning: 12 })
}

#[tokio::test]
async fn each_wire_streams_like_its_vendor() {
    for wire in Wire::ALL {
        let response = response_to(wire, everything()).await;
        assert!(response.whole);
        assert_eq!(response.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let body = response.body().replace("\r\n", "\n");
        insta::assert_snapshot!(format!("stream_{wire}"), body);
    }
}

#[tokio::test]
async fn each_wire_answers_without_streaming() {
    for wire in Wire::ALL {
        let mock = MockServer::start(everything()).await.unwrap();
        let mut body = ask(wire, "hello");
        let path = match wire {
            Wire::Gemini => "/v1beta/models/m:generateContent",
            _ => path(wire),
        };
        if let Some(fields) = body.as_object_mut() {
            fields.remove("stream");
        }
        let response = post(&mock, path, body).await;
        assert_eq!(response.header("content-type"), Some("application/json"));
        let body = serde_json::to_string_pretty(&response.json()).unwrap();
        insta::assert_snapshot!(format!("whole_{wire}"), body);
    }
}

#[tokio::test]
async fn each_wire_has_its_own_errors() {
    for wire in Wire::ALL {
        let mut shown = String::new();
        for status in [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529] {
            let failure = Failure { retry_after_ms: Some(1500), ..Failure::status(status, "No.") };
            let response = response_to(wire, failure).await;
            assert_eq!(response.status(), status);
            shown.push_str(&format!("{status} {}\n", response.body()));
        }
        let failed = Reply::new().text("Half").error(Failure::status(529, "Overloaded"));
        shown.push_str("\nin the stream:\n");
        let body = response_to(wire, failed).await.body().replace("\r\n", "\n");
        shown.push_str(body.trim_end().rsplit("\n\n").next().unwrap());
        insta::assert_snapshot!(format!("errors_{wire}"), shown);
    }
}

#[tokio::test]
async fn each_wire_has_its_own_stop_reasons() {
    let reasons = [
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::Filtered,
        StopReason::WindowFull,
        StopReason::Pause,
        StopReason::Other("odd".to_owned()),
    ];
    for wire in Wire::ALL {
        for reason in &reasons {
            let body = response_to(wire, Reply::new().text("x").stop(reason.clone())).await.body();
            let word = match (wire, reason) {
                (Wire::Anthropic, StopReason::Pause) => "\"stop_reason\":\"pause_turn\"",
                (Wire::Anthropic, StopReason::Refusal | StopReason::Filtered) => {
                    "\"stop_reason\":\"refusal\""
                }
                (Wire::Anthropic, StopReason::WindowFull) => "model_context_window_exceeded",
                (Wire::Anthropic, StopReason::MaxTokens) => "\"stop_reason\":\"max_tokens\"",
                (Wire::Anthropic, StopReason::StopSequence) => "\"stop_sequence\":\"END\"",
                (Wire::Anthropic, StopReason::EndTurn) => "\"stop_reason\":\"end_turn\"",
                (Wire::Anthropic, StopReason::ToolUse) => "\"stop_reason\":\"tool_use\"",
                (Wire::Anthropic, StopReason::Other(_)) => "\"stop_reason\":\"odd\"",
                (Wire::OpenaiChat, StopReason::ToolUse) => "\"finish_reason\":\"tool_calls\"",
                (Wire::OpenaiChat, StopReason::MaxTokens | StopReason::WindowFull) => {
                    "\"finish_reason\":\"length\""
                }
                (Wire::OpenaiChat, StopReason::Refusal | StopReason::Filtered) => {
                    "\"finish_reason\":\"content_filter\""
                }
                (Wire::OpenaiChat, StopReason::Other(_)) => "\"finish_reason\":\"odd\"",
                (Wire::OpenaiChat, _) => "\"finish_reason\":\"stop\"",
                (Wire::OpenaiResponses, StopReason::MaxTokens | StopReason::WindowFull) => {
                    "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"
                }
                (Wire::OpenaiResponses, StopReason::Refusal | StopReason::Filtered) => {
                    "\"incomplete_details\":{\"reason\":\"content_filter\"}"
                }
                (Wire::OpenaiResponses, StopReason::Other(_)) => {
                    "\"incomplete_details\":{\"reason\":\"odd\"}"
                }
                (Wire::OpenaiResponses, _) => "event: response.completed\n",
                (Wire::Gemini, StopReason::MaxTokens | StopReason::WindowFull) => {
                    "\"finishReason\":\"MAX_TOKENS\""
                }
                (Wire::Gemini, StopReason::Refusal | StopReason::Filtered) => {
                    "\"finishReason\":\"SAFETY\""
                }
                (Wire::Gemini, StopReason::Other(_)) => "\"finishReason\":\"odd\"",
                (Wire::Gemini, _) => "\"finishReason\":\"STOP\"",
            };
            assert!(body.contains(word), "{wire} {reason:?}: {body}");
        }
    }
}

#[tokio::test]
async fn tool_calls_in_all_unusual_forms() {
    let calls = || {
        Reply::new()
            .tool("read", json!({"path": "a.txt", "n": 3}))
            .tool("list", json!({}))
            .chunked(size(12))
    };
    let mut shown = String::new();
    let unusual = [
        (Wire::OpenaiChat, Quirk::NoIds),
        (Wire::OpenaiChat, Quirk::DuplicateIds),
        (Wire::OpenaiChat, Quirk::NoIndex),
        (Wire::OpenaiChat, Quirk::RepeatHead),
        (Wire::OpenaiChat, Quirk::ObjectArguments),
        (Wire::OpenaiChat, Quirk::OneDelta),
        (Wire::OpenaiChat, Quirk::NullContent),
        (Wire::OpenaiChat, Quirk::FinishTwice),
        (Wire::OpenaiChat, Quirk::UsageOnFinish),
        (Wire::OpenaiChat, Quirk::NoUsage),
        (Wire::OpenaiChat, Quirk::NoDone),
        (Wire::OpenaiChat, Quirk::StopWithCalls),
        (Wire::Anthropic, Quirk::NoIds),
        (Wire::Anthropic, Quirk::NoIndex),
        (Wire::Anthropic, Quirk::NoInput),
        (Wire::Anthropic, Quirk::Overlap),
        (Wire::Anthropic, Quirk::ObjectArguments),
        (Wire::Gemini, Quirk::NoIds),
        (Wire::Gemini, Quirk::CallPerEvent),
        (Wire::Gemini, Quirk::NullContent),
    ];
    for (wire, quirk) in unusual {
        shown.push_str(&format!("== {wire} {quirk:?}\n"));
        let body = response_to(wire, calls().quirks([quirk])).await.body();
        for line in body.lines().filter_map(|line| line.trim().strip_prefix("data: ")) {
            let brief = match serde_json::from_str::<Value>(line) {
                Ok(event) => match wire {
                    Wire::OpenaiChat => {
                        let usage = event.get("usage").map_or("", |_| " +usage");
                        format!("{}{usage}", event["choices"])
                    }
                    Wire::Gemini => event["candidates"].to_string(),
                    Wire::Anthropic | Wire::OpenaiResponses => event.to_string(),
                },
                Err(_) => line.to_owned(),
            };
            shown.push_str(&format!("{brief}\n"));
        }
    }
    for form in TextCalls::ALL {
        shown.push_str(&format!("== {form:?}\n"));
        let reply = calls().quirks([Quirk::TextCalls(form)]);
        let body = response_to(Wire::OpenaiChat, reply).await.body();
        let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let text: String = events
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|event| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect();
        shown.push_str(&format!("{text}\n"));
    }
    insta::assert_snapshot!("unusual_calls", shown);
}

#[tokio::test]
async fn unusual_framing_has_the_same_content() {
    let text = "Grüße 🦀";
    let plain = response_to(Wire::OpenaiChat, text).await;
    let lines = |response: &Response| -> Vec<String> {
        let body = response.body().replace("\r\n", "\n");
        let body = body.trim_start_matches('\u{feff}');
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|line| line.trim().replace("  ", "")).collect()
    };
    for quirk in [
        Quirk::Bytes(size(1)),
        Quirk::WriteEach,
        Quirk::Crlf,
        Quirk::Bom,
        Quirk::Comments,
        Quirk::NoSpace,
        Quirk::Padding(100_000),
        Quirk::UnknownEvents,
    ] {
        let unusual = response_to(Wire::OpenaiChat, Reply::from(text).quirks([quirk])).await;
        assert!(unusual.whole);
        // Separate writes are not visible here, only their content.
        assert_eq!(unusual.chunks == plain.chunks, quirk == Quirk::WriteEach, "{quirk:?}");
        assert_eq!(lines(&unusual), lines(&plain), "{quirk:?}");
    }
    let bytes =
        response_to(Wire::OpenaiChat, Reply::from(text).quirks([Quirk::Bytes(size(1))])).await;
    assert!(bytes.chunks.iter().all(|chunk| chunk.len() == 1), "characters are split");
    let escaped =
        response_to(Wire::OpenaiChat, Reply::from(text).quirks([Quirk::Ascii])).await.body();
    assert!(escaped.contains("Gr\\u00fc\\u00dfe \\ud83e\\udd80"), "{escaped}");
    let half = Reply::from("a\u{e000}b").quirks([Quirk::LoneSurrogate]);
    let half = response_to(Wire::OpenaiChat, half).await.body();
    assert!(half.contains("\"a\\ud83db\""), "{half}");
}

#[tokio::test]
async fn an_answer_can_break_at_any_step() {
    for wire in Wire::ALL {
        let dropped = response_to(wire, Reply::new().text("Half an ans").step(Step::Drop)).await;
        assert!(!dropped.whole && dropped.body().contains("Half an ans"), "{wire}");
        let cut = response_to(wire, Reply::new().text("Half an ans").step(Step::Truncate)).await;
        assert!(cut.whole && cut.body().contains("Half an ans"), "{wire}");
        let end = match wire {
            Wire::Anthropic => "message_stop",
            Wire::OpenaiChat => "[DONE]",
            Wire::OpenaiResponses => "response.completed",
            Wire::Gemini => "finishReason",
        };
        assert!(!cut.body().contains(end), "{wire}");
        let closed = response_to(wire, Reply::new().step(Step::Close)).await;
        assert_eq!(closed.head, "", "{wire}");
        let mock = MockServer::start(Reply::new().step(Step::Reset)).await.unwrap();
        let closed = call(&mock, wire).await;
        assert_eq!(closed.head, "", "{wire}");
        assert_eq!(mock.calls()[0].ended().await, ResponseEnd::Aborted);
    }
    let origin = MockServer::refusing_origin().await.unwrap();
    let refused = tokio::net::TcpStream::connect(origin.strip_prefix("http://").unwrap()).await;
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn an_answer_can_break_after_any_piece() {
    for wire in Wire::ALL {
        let whole = response_to(wire, everything()).await;
        for pieces in 0..whole.chunks.len() {
            let cut = response_to(wire, everything().quirks([Quirk::DropAt(pieces)])).await;
            assert!(!cut.whole, "{wire} {pieces}");
            assert_eq!(cut.status(), 200);
            assert_eq!(cut.chunks, whole.chunks[..pieces], "{wire} {pieces}");
        }
        let all = response_to(wire, everything().quirks([Quirk::DropAt(whole.chunks.len())])).await;
        assert!(all.whole, "{wire}: the response is complete");
    }
}

#[tokio::test]
async fn failures_in_all_formats() {
    let shown =
        |format| response_to(Wire::Anthropic, Failure::status(502, "Bad gateway").format(format));
    let html = shown(FailureFormat::Html).await;
    assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(html.body().contains("<h1>502 Bad gateway</h1>"));
    let ok = shown(FailureFormat::Ok).await;
    assert_eq!(ok.status(), 200);
    assert_eq!(ok.json()["error"]["type"], "api_error");
    let openai = shown(FailureFormat::Openai).await.json();
    assert_eq!(openai["error"]["code"], "server_error");
    assert!(openai.get("type").is_none());
    assert_eq!(shown(FailureFormat::Plain).await.body(), "Bad gateway");
    assert_eq!(shown(FailureFormat::Empty).await.body(), "");
    assert!(shown(FailureFormat::List).await.json().is_array());
    let limited = Failure { retryable: Some(false), ..Failure::status(429, "Slow down") };
    let limited = response_to(Wire::OpenaiChat, limited.retry_after("7")).await;
    assert_eq!(limited.header("retry-after"), Some("7"));
    assert_eq!(limited.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn a_gate_delays_only_what_follows_it() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let reply = Reply::new().text("before").gate("middle").text("after");
    let mock = MockServer::start(reply).await.unwrap();
    let mut socket = tokio::net::TcpStream::connect(raw::address(&mock)).await.unwrap();
    let body = ask(Wire::OpenaiChat, "hello").to_string();
    let sent = request("POST", path(Wire::OpenaiChat), "connection: close\r\n", &body);
    socket.write_all(sent.as_bytes()).await.unwrap();
    mock.reached("middle").await;
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("before") {
        assert_ne!(socket.read_buf(&mut seen).await.unwrap(), 0);
    }
    assert!(!String::from_utf8_lossy(&seen).contains("after"));
    mock.release("middle");
    socket.read_to_end(&mut seen).await.unwrap();
    assert!(String::from_utf8_lossy(&seen).contains("after"));
    assert_eq!(mock.call(1).await.ended().await, ResponseEnd::Complete);
}

#[tokio::test]
async fn the_mock_notices_that_its_client_disconnects() {
    use tokio::io::AsyncWriteExt as _;

    let silent = Reply { hold: Some(Stall::Forever), ..Reply::new() };
    for reply in [silent, Reply::new().text("Well").step(Step::Stall(Stall::Forever))] {
        let mock = MockServer::start(reply).await.unwrap();
        let mut socket = tokio::net::TcpStream::connect(raw::address(&mock)).await.unwrap();
        let body = ask(Wire::Gemini, "hello").to_string();
        let sent = request("POST", path(Wire::Gemini), "", &body);
        socket.write_all(sent.as_bytes()).await.unwrap();
        let received = mock.call(1).await;
        drop(socket);
        assert_eq!(received.ended().await, ResponseEnd::Disconnected);
    }
}

#[tokio::test]
async fn answers_are_chosen_by_condition_or_in_order() {
    let scenario = Scenario::reply("first")
        .then("second")
        .then(Reply::from("weather").when(When { last: Some("rain".into()), ..When::default() }))
        .then(Reply::from("third call").when(When { nth: Some(3), ..When::default() }));
    let mock = MockServer::start(scenario).await.unwrap();
    let ask = async |text: &str| {
        post(&mock, path(Wire::Anthropic), ask(Wire::Anthropic, text)).await.body()
    };
    assert!(ask("will it rain?").await.contains("weather"));
    assert!(ask("hello").await.contains("first"));
    assert!(ask("hello").await.contains("third call"));
    assert!(ask("hello").await.contains("second"));
    assert_eq!(mock.unplayed(), 0);
    let over = ask("hello").await;
    assert!(over.contains("the scenario has no more answers"), "{over}");
    mock.push("one more");
    assert!(ask("hello").await.contains("one more"));
    let looped = MockServer::start(Scenario::reply("a").then("b").looped()).await.unwrap();
    for expected in ["\"a\"", "\"b\"", "\"a\""] {
        assert!(call(&looped, Wire::OpenaiChat).await.body().contains(expected));
    }
}

#[tokio::test]
async fn an_unexpected_request_is_rejected_with_the_reason() {
    let scenario = "
- {text: fine, expect: {last: hello, no_tools: true}}
- {text: fine, expect: {system: You are}}
- {text: fine, expect: {tools: [Read]}}
- {text: fine, expect: {messages: 1}}
- {text: fine, expect: {messages: 2}}
";
    for wire in Wire::ALL {
        let mock = MockServer::start(Scenario::from_yaml(scenario).unwrap()).await.unwrap();
        assert_eq!(call(&mock, wire).await.status(), 200, "{wire}");
        let refused = call(&mock, wire).await;
        assert_eq!(refused.status(), 400);
        assert!(refused.body().contains("the system prompt should contain"), "{wire}");
        assert!(call(&mock, wire).await.body().contains("`Read` should be offered"), "{wire}");
        assert_eq!(call(&mock, wire).await.status(), 200, "{wire}");
        assert!(call(&mock, wire).await.body().contains("should be 2 messages"), "{wire}");
    }
}

#[tokio::test]
async fn all_requests_are_recorded_in_order() {
    let mock = MockServer::start(Scenario::reply("a").then("b").looped()).await.unwrap();
    let body = ask(Wire::Anthropic, "hello").to_string();
    // Two requests on one connection, the first of them chunked.
    let chunked = format!(
        "POST /v1/messages HTTP/1.1\r\nX-Api-Key: k-1\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let second = request("POST", "/v1/messages", "connection: close\r\n", &body);
    let both = String::from_utf8(exchange(&mock, &format!("{chunked}{second}")).await).unwrap();
    assert_eq!(both.matches("HTTP/1.1 200 OK").count(), 2);
    get(&mock, "/v1/models").await;
    call(&mock, Wire::Gemini).await;
    let received = mock.received();
    let facts: Vec<_> =
        received.iter().map(|one| (one.number, one.nth_call, one.connection)).collect();
    assert_eq!(facts, [(0, Some(1), 0), (1, Some(2), 0), (2, None, 1), (3, Some(3), 2)]);
    assert_eq!(received[0].header("x-api-key"), Some("k-1"));
    assert_eq!(received[0].json["messages"][0]["content"], "hello");
    assert_eq!(received[3].model(), "m");
    assert_eq!(received[3].query, "alt=sse");
    assert_eq!(mock.connections(), 3);
    assert_eq!(mock.calls().len(), 3);
}

#[tokio::test]
async fn model_lists_and_token_counts() {
    let scenario = Scenario {
        models: vec!["a".to_owned(), "b".to_owned()],
        key: Some("k-1".to_owned()),
        ..Scenario::default()
    };
    let mock = MockServer::start(scenario).await.unwrap();
    let ask = async |method: &str, path: &str, headers: &str| {
        let request = request(method, path, &format!("connection: close\r\n{headers}"), "");
        Response::parse(&exchange(&mock, &request).await)
    };
    assert_eq!(ask("GET", "/v1/models", "").await.status(), 401);
    let openai = ask("GET", "/v1/models", "authorization: Bearer k-1\r\n").await.json();
    assert_eq!(openai["data"][1]["id"], "b");
    assert_eq!(openai["object"], "list");
    let headers = "x-api-key: k-1\r\nanthropic-version: 2023-06-01\r\n";
    let anthropic = ask("GET", "/v1/models", headers).await.json();
    assert_eq!(anthropic["data"][0]["max_input_tokens"], 200_000);
    assert_eq!(anthropic["has_more"], false);
    let gemini = ask("GET", "/v1beta/models?key=k-1", "").await.json();
    assert_eq!(gemini["models"][0]["name"], "models/a");
    let one = ask("GET", "/v1beta/models/b", "x-goog-api-key: k-1\r\n").await.json();
    assert_eq!(one["name"], "models/b");
    assert_eq!(ask("GET", "/v1beta/models/c?key=k-1", "").await.status(), 404);
    assert_eq!(ask("GET", "/api/tags?key=k-1", "").await.json()["models"][0]["name"], "a");
    assert!(ask("GET", "/api/version?key=k-1", "").await.json()["version"].is_string());
    for (path, field) in [
        ("/v1/messages/count_tokens", "input_tokens"),
        ("/v1/responses/input_tokens", "input_tokens"),
        ("/v1beta/models/a:countTokens", "totalTokens"),
    ] {
        let counted = ask("POST", path, "api-key: k-1\r\n").await.json();
        assert_eq!(counted[field], 42, "{path}");
    }
    assert_eq!(ask("GET", "/elsewhere?key=k-1", "").await.status(), 404);
}

#[tokio::test]
async fn twenty_thousand_deltas_need_few_writes() {
    let reply = Reply::new().step(Step::Text {
        pieces: vec!["word ".to_owned()],
        chunk: None,
        times: 20_000,
    });
    for wire in Wire::ALL {
        let response = response_to(wire, reply.clone()).await;
        assert!(response.whole);
        let deltas = response.chunks.iter().filter(|chunk| {
            let text = String::from_utf8_lossy(chunk);
            text.contains("word ") && !text.contains("word word")
        });
        assert_eq!(deltas.count(), 20_000, "{wire}: each in a separate chunk");
    }
}
