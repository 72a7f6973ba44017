//! The content of requests.

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

/// The limit of output tokens is sent.
pub async fn limits_are_sent(suite: Suite) {
    let fixture = suite.fixture("x").await;
    fixture.hello().await.unwrap();
    let body = fixture.sent(1).json.clone();
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
    let mut fixture = suite.fixture("x").await;
    fixture.tools = Arc::from([]);
    fixture.hello().await.unwrap();
    let sent = fixture.sent(1);
    assert!(sent.tools().is_empty());
    assert!(sent.json.get("tools").is_none(), "services reject empty lists: {}", sent.json);
    assert!(sent.json.get("tool_choice").is_none(), "{}", sent.json);
}

/// An instruction for this call only is the last message.
pub async fn an_instruction_comes_last(suite: Suite) {
    let fixture = suite.fixture("x").await;
    let mut request = fixture.request(vec![fixture.user("hello")]);
    request.instruction = Some(Message::user(&fixture.ids, "Sum it up."));
    fixture.send(request).await.unwrap();
    let sent = fixture.sent(1);
    assert!(sent.last_text().ends_with("Sum it up."), "{}", sent.json);
    assert!(sent::contains(&sent.json, "hello"));
}

/// No empty text is sent, because services reject it.
pub async fn no_empty_text_is_sent(suite: Suite) {
    let fixture = suite.fixture("x").await;
    let call = ToolUse::new(CallId::from("c-1"), "call_1", "list", ToolInput::Json(json!({})));
    let result = ToolResult::text(&call, "", false);
    let blocks = vec![Block::text(""), Block::ToolUse(call)];
    let answer = Message::assistant(&fixture.ids, blocks, MessageState::Complete);
    // A model can answer with nothing, and the conversation must continue.
    let silent = Message::assistant(&fixture.ids, Vec::new(), MessageState::Complete);
    let view = vec![
        fixture.user("hello"),
        Arc::new(silent),
        fixture.user("still there?"),
        Arc::new(answer),
        fixture.results(vec![result]),
    ];
    fixture.ask(view).await.unwrap();
    let sent = fixture.sent(1);
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
    assert_eq!(sent::results(&sent).len(), 1, "an empty result is still a result");
}

/// A conversation from another wire continues: ids are converted, and calls keep their results.
pub async fn foreign_ids_are_converted(suite: Suite) {
    let fixture = suite.fixture("x").await;
    // What services refuse: other characters, an empty id, a long one.
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
    let answer = Message::assistant(&fixture.ids, blocks, MessageState::Complete);
    let results = calls
        .iter()
        .enumerate()
        .map(|(nth, call)| ToolResult::text(call, format!("result {nth}"), false))
        .collect();
    let view = vec![fixture.user("hello"), Arc::new(answer), fixture.results(results)];
    fixture.ask(view).await.unwrap();
    let sent = fixture.sent(1);
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

/// The payload tap receives the request, then the response.
pub async fn payloads_are_reported(suite: Suite) {
    let fixture = suite.fixture(Reply::new().pieces(["a", "b"])).await;
    let payloads: Arc<Mutex<Vec<(PayloadKind, u64, Value)>>> = Arc::default();
    let sink = payloads.clone();
    let tap = PayloadSink::new(move |payload, number| {
        crate::lock(&sink).push((payload.kind, number, payload.payload));
    });
    let request = fixture.request(vec![fixture.user("hello")]);
    let stream =
        fixture.provider.stream(request, CallContext::detached().with_payloads(tap)).await.unwrap();
    drop(stream.collect::<Vec<_>>().await);
    let payloads = crate::lock(&payloads).clone();
    let (kind, _, payload) = payloads.first().expect("something is reported");
    assert_eq!(*kind, PayloadKind::Request);
    assert!(sent::contains(payload, "hello"), "{payload}");
    let back: Vec<_> = payloads.iter().filter(|(kind, ..)| *kind != PayloadKind::Request).collect();
    assert!(!back.is_empty(), "the response is reported too");
    let numbers: Vec<_> = payloads.iter().map(|(_, number, _)| *number).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

/// The same request is encoded to the same bytes.
pub async fn requests_are_stable(suite: Suite) {
    let fixture = suite.fixture(Scenario::reply("a").then("b")).await;
    let view = vec![fixture.user("hello")];
    fixture.ask(view.clone()).await.unwrap();
    fixture.ask(view).await.unwrap();
    // Otherwise the cache of the service would miss.
    assert_eq!(fixture.sent(1).body, fixture.sent(2).body);
}
