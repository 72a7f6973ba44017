//! The content of answers.

use robota_core::message::Block;
use robota_core::provider::{Delta, StopReason};
use robota_core::usage::Usage;
use serde_json::json;

use super::super::sent;
use super::super::{Feature, Suite};
use super::size;
use crate::mock::{Quirk, Reply, Search, Step, Tokens, Wire};

/// Text is emitted in order, piece by piece, and the request is correct.
pub async fn text(suite: Suite) {
    let fixture = suite.fixture(Reply::new().pieces(["Hel", "lo, ", "world. 🦀"])).await;
    let answered = fixture.hello().await.unwrap();
    assert_eq!(answered.text(), "Hello, world. 🦀");
    assert_eq!(answered.stop, StopReason::EndTurn);
    let pieces: Vec<_> = answered
        .deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, ["Hel", "lo, ", "world. 🦀"], "each piece is a delta");
    let sent = fixture.sent(1);
    assert_eq!(sent.wire(), Some(suite.wire), "it calls the wire's URL");
    assert_eq!(sent.model(), super::super::MODEL);
    assert!(sent.wants_stream());
    assert_eq!(sent.system(), "You are a test.");
    assert_eq!(sent.last_text(), "hello");
    assert_eq!(
        sent.header("content-type").map(|value| value.starts_with("application/json")),
        Some(true)
    );
}

/// An answer may be empty and is still complete.
pub async fn empty_answer(suite: Suite) {
    let fixture = suite.fixture(Reply::new()).await;
    let answered = fixture.hello().await.unwrap();
    assert_eq!(answered.text(), "");
    assert!(answered.calls().is_empty());
    assert_eq!(answered.stop, StopReason::EndTurn);
}

/// Reasoning is emitted as reasoning.
pub async fn thinking(suite: Suite) {
    let reply = Reply::new().thinking("Add them.", Some("c2ln")).text("5").chunked(size(3));
    let fixture = suite.fixture(reply).await;
    let answered = fixture.hello().await.unwrap();
    assert_eq!(answered.text(), "5");
    assert_eq!(answered.thinking(), "Add them.");
    let streamed: String = answered
        .deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Thinking(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(streamed, "Add them.", "it is streamed");
    let first = answered.message.content.first();
    assert!(matches!(first, Some(Block::Thinking(_))), "it comes first: {first:?}");
}

/// Signed reasoning is sent back with its signature, before the call it led to.
pub async fn thinking_is_sent_back(suite: Suite) {
    // Base64, because signatures are bytes in the API of Gemini.
    let reply = Reply::new().thinking("Look first.", Some("c2lnbmVk")).tool("list", json!({}));
    let fixture = suite.fixture(reply).await;
    fixture.mock.push("done");
    let user = fixture.user("hello");
    let first = fixture.ask(vec![user.clone()]).await.unwrap();
    let call = &first.calls()[0];
    let result = robota_core::message::ToolResult::text(call, "a.txt", false);
    fixture.ask(vec![user, first.message.clone(), fixture.results(vec![result])]).await.unwrap();
    let body = fixture.sent(2).json.clone();
    assert_eq!(sent::contains(&body, "c2lnbmVk"), Feature::SignedThinking.on(suite.wire), "{body}");
    if suite.wire == Wire::Anthropic {
        let block = body["messages"][1]["content"][0].clone();
        assert_eq!(
            block,
            json!({"type": "thinking", "thinking": "Look first.", "signature": "c2lnbmVk"})
        );
    }
}

/// Reasoning with hidden text is sent back too.
pub async fn hidden_thinking_is_sent_back(suite: Suite) {
    let reply = Reply::new().thinking("", Some("c2lnbmVk")).tool("list", json!({}));
    let fixture = suite.fixture(reply).await;
    fixture.mock.push("done");
    let user = fixture.user("hello");
    let first = fixture.ask(vec![user.clone()]).await.unwrap();
    let result = robota_core::message::ToolResult::text(&first.calls()[0], "a.txt", false);
    fixture.ask(vec![user, first.message.clone(), fixture.results(vec![result])]).await.unwrap();
    let body = fixture.sent(2).json.clone();
    assert_eq!(sent::contains(&body, "c2lnbmVk"), Feature::SignedThinking.on(suite.wire), "{body}");
}

/// Usage has the same meaning on every wire.
pub async fn usage(suite: Suite) {
    let tokens = Tokens { input: 100, output: 20, cache_read: 60, cache_write: 10, reasoning: 12 };
    let fixture = suite.fixture(Reply::new().text("x").usage(tokens)).await;
    let answered = fixture.hello().await.unwrap();
    let on = |feature: Feature, count| if feature.on(suite.wire) { count } else { 0 };
    let expected = Usage {
        input_tokens: 100,
        output_tokens: 20,
        cache_read_tokens: on(Feature::CacheReads, 60),
        cache_write_tokens: on(Feature::CacheWrites, 10),
        reasoning_tokens: on(Feature::ReasoningTokens, 12),
        ..Usage::default()
    };
    assert_eq!(answered.usage, Some(expected));
}

/// A service that reports no usage is accepted.
pub async fn no_usage(suite: Suite) {
    let fixture = suite.fixture(Reply::from("x").quirks([Quirk::NoUsage])).await;
    let answered = fixture.hello().await.unwrap();
    assert_eq!(answered.text(), "x");
    assert!(answered.usage.is_none_or(Usage::is_zero), "{:?}", answered.usage);
}

/// Every stop reason that the wire can report.
pub async fn stop_reasons(suite: Suite) {
    let reasons = [
        (StopReason::EndTurn, None),
        (StopReason::MaxTokens, None),
        (StopReason::StopSequence, Some(Feature::StopSequence)),
        (StopReason::Refusal, Some(Feature::Refusal)),
        (StopReason::Filtered, Some(Feature::Filter)),
        (StopReason::Pause, Some(Feature::Pause)),
    ];
    for (reason, feature) in reasons {
        let fixture = suite.fixture(Reply::new().text("x").stop(reason.clone())).await;
        let answered = fixture.hello().await.unwrap();
        let reported = feature.is_none_or(|feature| feature.on(suite.wire));
        let expected = match reason {
            reason if reported => reason,
            // Both withhold the answer; each wire has a word for one of them only.
            StopReason::Refusal => StopReason::Filtered,
            StopReason::Filtered => StopReason::Refusal,
            _ => StopReason::EndTurn,
        };
        assert_eq!(answered.stop, expected);
        assert_eq!(answered.text(), "x");
    }
    let unknown = StopReason::Other("brand_new".to_owned());
    let fixture = suite.fixture(Reply::new().text("x").stop(unknown)).await;
    let answered = fixture.hello().await.unwrap();
    let StopReason::Other(name) = &answered.stop else { panic!("{:?}", answered.stop) };
    assert!(name.contains("brand_new"), "the service's name is kept: {name}");
}

/// An answer with calls stops for tool use, also if the service reports another reason.
pub async fn calls_determine_the_stop_reason(suite: Suite) {
    let reply = Reply::new().tool("list", json!({})).quirks([Quirk::StopWithCalls]);
    let answered = suite.fixture(reply).await.hello().await.unwrap();
    assert_eq!(answered.stop, StopReason::ToolUse);
}

/// Bytes without content are reported as activity, so that the idle timeout does not end a slow
/// answer.
pub async fn activity(suite: Suite) {
    use futures::StreamExt as _;
    use robota_core::call::CallContext;

    let reply =
        Reply::new().text("Well").gate("before").step(Step::Activity).gate("after").text(", yes");
    let fixture = suite.fixture(reply).await;
    let request = fixture.request(vec![fixture.user("hello")]);
    let mut stream = fixture.provider.stream(request, CallContext::detached()).await.unwrap();
    let mut deltas = Vec::new();
    while !deltas.contains(&Delta::Text("Well".to_owned())) {
        deltas.push(stream.next().await.unwrap().unwrap());
    }
    fixture.mock.reached("before").await;
    fixture.mock.release("before");
    // Nothing more arrives until the second gate opens, so the next delta is the activity.
    let next = stream.next().await.unwrap().unwrap();
    assert_eq!(next, Delta::Activity);
    fixture.mock.release("after");
    let mut rest = String::new();
    while let Some(delta) = stream.next().await {
        if let Delta::Text(text) = delta.unwrap() {
            rest.push_str(&text);
        }
    }
    assert_eq!(rest, ", yes");
}

/// Blocks that only the service understands are sent back unchanged.
pub async fn opaque_blocks_are_sent_back(suite: Suite) {
    if suite.wire != Wire::Anthropic {
        // On the other wires, such content is part of the reasoning.
        return;
    }
    let block = json!({"type": "redacted_thinking", "data": "aGlkZGVu"});
    let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
    let reply = Reply::new()
        .step(Step::Event(start))
        .step(Step::Event(json!({"type": "content_block_stop", "index": 0})))
        .tool("list", json!({}));
    let fixture = suite.fixture(reply).await;
    fixture.mock.push("done");
    let user = fixture.user("hello");
    let first = fixture.ask(vec![user.clone()]).await.unwrap();
    let result = robota_core::message::ToolResult::text(&first.calls()[0], "a.txt", false);
    fixture.ask(vec![user, first.message.clone(), fixture.results(vec![result])]).await.unwrap();
    assert_eq!(fixture.sent(2).json["messages"][1]["content"][0], block);
}

/// The service's own search is requested, its answer is an answer, and its results are sent back.
pub async fn web_search(suite: Suite) {
    use robota_core::provider::WebSupport;

    let search = Search {
        query: "crabs".to_owned(),
        url: "https://e.test/crabs".to_owned(),
        title: "Crabs".to_owned(),
    };
    let fixture = suite.fixture(Reply::new().step(Step::Search(search)).text("They walk.")).await;
    fixture.mock.push("Sideways.");
    let can_search = fixture.provider.capabilities().web_search != WebSupport::Unsupported;
    if !can_search {
        assert!(!Feature::WebSearch.on(suite.wire), "the wire supports search");
        return;
    }
    let user = fixture.user("hello");
    let mut request = fixture.request(vec![user.clone()]);
    request.native_web.search = true;
    let first = fixture.send(request).await.unwrap();
    assert_eq!(first.text(), "They walk.");
    assert!(first.calls().is_empty(), "the client must not run it: {:?}", first.calls());
    let tools = fixture.sent(1).json["tools"].to_string().to_lowercase();
    assert!(tools.contains("search"), "{tools}");
    let view = vec![user, first.message.clone(), fixture.user("how?")];
    assert_eq!(fixture.ask(view).await.unwrap().text(), "Sideways.");
    let body = fixture.sent(2).json.clone();
    let expected_result = match suite.wire {
        Wire::Anthropic => Some("https://e.test/crabs"),
        Wire::OpenaiResponses => Some("crabs"),
        // The results come next to the answer, not in it.
        Wire::OpenaiChat | Wire::Gemini => None,
    };
    if let Some(expected_result) = expected_result {
        assert!(sent::contains(&body, expected_result), "{body}");
    }
}
