//! What a service is sent.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::ids::CallId;
use robota_core::message::{Block, Message, MessageState, ToolInput, ToolResult, ToolUse};
use robota_core::provider::{PayloadKind, PayloadSink};
use serde_json::{Value, json};

use super::super::Suite;
use super::super::sent;
use crate::mock::{Reply, Scenario, Wire};

/// The longest answer is limited.
pub async fn limits_are_sent(suite: Suite) {
    let bench = suite.bench("x").await;
    bench.hello().await.unwrap();
    let body = bench.sent(1).json.clone();
    let limit = match suite.wire {
        Wire::Anthropic => body["max_tokens"].clone(),
        Wire::OpenaiChat => match &body["max_completion_tokens"] {
            Value::Null => body["max_tokens"].clone(),
            limit => limit.clone(),
        },
        Wire::OpenaiResponses => body["max_output_tokens"].clone(),
        Wire::Gemini => body["generationConfig"]["maxOutputTokens"].clone(),
    };
    assert_eq!(limit, 1000, "{body}");
}

/// A request without tools offers none.
pub async fn no_tools(suite: Suite) {
    let mut bench = suite.bench("x").await;
    bench.tools = Arc::from([]);
    bench.hello().await.unwrap();
    let sent = bench.sent(1);
    assert!(sent.tools().is_empty());
    assert!(sent.json.get("tools").is_none(), "services refuse empty lists: {}", sent.json);
    assert!(sent.json.get("tool_choice").is_none(), "{}", sent.json);
}

/// A message for this call alone is the last one.
pub async fn an_instruction_comes_last(suite: Suite) {
    let bench = suite.bench("x").await;
    let mut request = bench.request(vec![bench.user("hello")]);
    request.instruction = Some(Message::user(&bench.ids, "Sum it up."));
    bench.send(request).await.unwrap();
    let sent = bench.sent(1);
    assert!(sent.last_text().ends_with("Sum it up."), "{}", sent.json);
    assert!(sent::contains(&sent.json, "hello"));
}

/// Services refuse texts that are empty, so none is sent.
pub async fn nothing_empty_is_sent(suite: Suite) {
    let bench = suite.bench("x").await;
    let call = ToolUse::new(CallId::from("c-1"), "call_1", "list", ToolInput::Json(json!({})));
    let result = ToolResult::text(&call, "", false);
    let blocks = vec![Block::text(""), Block::ToolUse(call)];
    let answer = Message::assistant(&bench.ids, blocks, MessageState::Complete);
    let silent = Message::assistant(&bench.ids, Vec::new(), MessageState::Complete);
    let view = vec![
        bench.user("hello"),
        Arc::new(silent),
        bench.user("still there?"),
        Arc::new(answer),
        bench.results(vec![result]),
    ];
    bench.ask(view).await.unwrap();
    let sent = bench.sent(1);
    for message in sent::messages(&sent) {
        let parts = match suite.wire {
            Wire::Anthropic | Wire::OpenaiChat | Wire::OpenaiResponses => &message["content"],
            Wire::Gemini => &message["parts"],
        };
        for part in parts.as_array().into_iter().flatten() {
            assert_ne!(part["text"], "", "{message}");
        }
        assert_ne!(parts, &json!([]), "{message}");
    }
    assert_eq!(sent::results(&sent).len(), 1, "a result without words is still a result");
}

/// A conversation from elsewhere goes on: ids are made to fit, and calls keep their results.
pub async fn foreign_ids_are_made_to_fit(suite: Suite) {
    let bench = suite.bench("x").await;
    let ids = ["call/1 ü#", "call_1", "", &"very-long-".repeat(20)];
    let calls: Vec<ToolUse> = ids
        .iter()
        .enumerate()
        .map(|(nth, id)| {
            let input = ToolInput::Json(json!({"path": nth.to_string()}));
            ToolUse::new(CallId::from(format!("c-{nth}").as_str()), *id, "read", input)
        })
        .collect();
    let mut blocks = vec![Block::thinking("From elsewhere.", Some("Zm9yZWlnbg==".to_owned()))];
    blocks.extend(calls.iter().cloned().map(Block::ToolUse));
    let answer = Message::assistant(&bench.ids, blocks, MessageState::Complete);
    let results = calls
        .iter()
        .enumerate()
        .map(|(nth, call)| ToolResult::text(call, format!("result {nth}"), false))
        .collect();
    let view = vec![bench.user("hello"), Arc::new(answer), bench.results(results)];
    bench.ask(view).await.unwrap();
    let sent = bench.sent(1);
    let (calls, results) = (sent::calls(&sent), sent::results(&sent));
    assert_eq!(calls.len(), 4, "{}", sent.json);
    assert_eq!(results.len(), 4, "{}", sent.json);
    for (nth, (call, result)) in calls.iter().zip(&results).enumerate() {
        assert_eq!(call.id, result.id, "{}", sent.json);
        assert_eq!(call.arguments, json!({"path": nth.to_string()}));
        assert!(result.text.contains(&format!("result {nth}")), "{result:?}");
        if suite.wire != Wire::Gemini {
            assert!(!call.id.is_empty(), "{}", sent.json);
        }
        if suite.wire == Wire::Anthropic {
            let fits = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
            assert!(call.id.chars().all(fits), "{}", call.id);
        }
    }
    let mut distinct: Vec<_> = calls.iter().map(|call| call.id.clone()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(suite.wire == Wire::Gemini || distinct.len() == 4, "{distinct:?}");
}

/// Whoever wants to see what went over the wire does: the request, then what came back.
pub async fn payloads_are_reported(suite: Suite) {
    let bench = suite.bench(Reply::new().pieces(["a", "b"])).await;
    let seen: Arc<Mutex<Vec<(PayloadKind, u64, Value)>>> = Arc::default();
    let sink = seen.clone();
    let tap = PayloadSink::new(move |payload, number| {
        crate::lock(&sink).push((payload.kind, number, payload.payload));
    });
    let request = bench.request(vec![bench.user("hello")]);
    let stream =
        bench.provider.stream(request, CallContext::detached().with_payloads(tap)).await.unwrap();
    drop(stream.collect::<Vec<_>>().await);
    let seen = crate::lock(&seen).clone();
    let (kind, _, payload) = seen.first().expect("something is reported");
    assert_eq!(*kind, PayloadKind::Request);
    assert!(sent::contains(payload, "hello"), "{payload}");
    let back: Vec<_> = seen.iter().filter(|(kind, ..)| *kind != PayloadKind::Request).collect();
    assert!(!back.is_empty(), "what came back is reported too");
    let numbers: Vec<_> = seen.iter().map(|(_, number, _)| *number).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

/// The same request is the same bytes.
pub async fn requests_are_stable(suite: Suite) {
    let bench = suite.bench(Scenario::reply("a").then("b")).await;
    let view = vec![bench.user("hello")];
    bench.ask(view.clone()).await.unwrap();
    bench.ask(view).await.unwrap();
    assert_eq!(bench.sent(1).body, bench.sent(2).body);
}
