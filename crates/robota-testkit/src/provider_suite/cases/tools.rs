//! Tool calls and their results.

use robota_core::message::{Block, Image, ResultBlock, ToolInput, ToolResult};
use robota_core::provider::{Delta, StopReason};
use serde_json::{Map, json};

use super::super::sent::{self, SentCall, SentResult};
use super::super::{Feature, Fixture, Suite};
use super::{PICTURE, PICTURE_BASE64, size};
use crate::mock::{Call, Quirk, Reply, Step, TextCalls, Wire};

/// One call is emitted whole, with the service's id. Its arguments are also streamed, if the wire
/// can do that.
pub async fn one_tool(suite: Suite) {
    let reply =
        Reply::new().text("I look.").tool("read", json!({"path": "a ü 🦀.txt"})).chunked(size(4));
    let fixture = suite.fixture(reply).await;
    let answered = fixture.hello().await.unwrap();
    assert_eq!(answered.stop, StopReason::ToolUse);
    assert_eq!(answered.text(), "I look.");
    assert_eq!(answered.called(), [("read".to_owned(), json!({"path": "a ü 🦀.txt"}))]);
    assert!(!answered.calls()[0].id.is_empty());
    let (mut pieces, mut name) = (String::new(), None);
    for delta in &answered.deltas {
        if let Delta::ToolInput { index, id, name: reported, json } = delta {
            assert_eq!(*index, 0);
            assert!(id.as_ref().is_none_or(|id| *id == answered.calls()[0].id), "{id:?}");
            name = name.or_else(|| reported.clone());
            pieces.push_str(json);
        }
    }
    if Feature::StreamedArguments.on(suite.wire) {
        let pieces: serde_json::Value = serde_json::from_str(&pieces).unwrap();
        assert_eq!(pieces, json!({"path": "a ü 🦀.txt"}), "the arguments are streamed");
        assert_eq!(name.as_deref(), Some("read"));
    }
    let sent = fixture.sent(1);
    assert_eq!(sent.tools(), ["list", "read"], "tools are offered in their order");
    assert!(sent::contains(&sent.json["tools"], "read, for a test"));
}

/// Parallel calls keep their order, their ids and their arguments.
pub async fn parallel_tools(suite: Suite) {
    let reply = Reply::new()
        .tool("read", json!({"path": "a.txt"}))
        .tool("list", json!({}))
        .tool("read", json!({"path": "b.txt"}))
        .chunked(size(3));
    let fixture = suite.fixture(reply).await;
    let answered = fixture.hello().await.unwrap();
    assert_eq!(answered.stop, StopReason::ToolUse);
    assert_eq!(answered.called(), three());
    distinct_ids(&answered);
}

fn three() -> Vec<(String, serde_json::Value)> {
    vec![
        ("read".to_owned(), json!({"path": "a.txt"})),
        ("list".to_owned(), json!({})),
        ("read".to_owned(), json!({"path": "b.txt"})),
    ]
}

fn distinct_ids(answered: &super::super::ProviderAnswer) {
    let calls = answered.calls();
    let mut ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
    assert!(ids.iter().all(|id| !id.is_empty()), "every call has an id: {ids:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), calls.len(), "ids are unique: {calls:?}");
}

/// Over two rounds, the calls and their results are sent back unchanged.
pub async fn results_are_sent_back(suite: Suite) {
    let fixture = suite
        .fixture(
            Reply::new()
                .text("I look.")
                .tool("read", json!({"path": "a.txt"}))
                .tool("list", json!({})),
        )
        .await;
    fixture.mock.push(Reply::new().tool("read", json!({"path": "b.txt"})));
    fixture.mock.push("Done.");
    let mut view = vec![fixture.user("hello")];
    for round in 0..2 {
        let answered = fixture.ask(view.clone()).await.unwrap();
        let calls = answered.calls();
        let results = calls.iter().enumerate().map(|(nth, call)| {
            let failed = round == 0 && nth == 1;
            let text = if failed { "no such folder" } else { "contents" };
            ToolResult::text(call, text, failed)
        });
        let results = results.collect();
        view.push(answered.message.clone());
        view.push(fixture.results(results));
    }
    let last = fixture.ask(view).await.unwrap();
    assert_eq!(last.text(), "Done.");

    let (first, last) = (fixture.sent(2), fixture.sent(3));
    let calls = sent::calls(&last);
    let names_and_arguments: Vec<_> =
        calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
    assert_eq!(
        names_and_arguments,
        [
            ("read", &json!({"path": "a.txt"})),
            ("list", &json!({})),
            ("read", &json!({"path": "b.txt"})),
        ]
    );
    let results = sent::results(&last);
    let ids = |list: &[SentCall]| list.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
    let answered: Vec<_> = results.iter().map(|result| result.id.clone()).collect();
    assert_eq!(ids(&calls), answered, "every call has its result, in order");
    if Feature::CallIds.on(suite.wire) {
        let expected = match suite.wire {
            Wire::Anthropic => ["toolu_0_0", "toolu_0_1", "toolu_1_0"],
            Wire::OpenaiChat | Wire::OpenaiResponses => ["call_0_0", "call_0_1", "call_1_0"],
            Wire::Gemini => ["fc-0-0", "fc-0-1", "fc-1-0"],
        };
        assert_eq!(ids(&calls), expected, "the service's ids are sent back unchanged");
    }
    for (result, (text, failed)) in
        results.iter().zip([("contents", false), ("no such folder", true), ("contents", false)])
    {
        assert!(result.text.contains(text), "{result:?}");
        match result.failed {
            Some(reported) => assert_eq!(reported, failed, "{result:?}"),
            None => assert!(!Feature::ToolErrors.on(suite.wire)),
        }
    }
    assert_eq!((first.messages(), last.messages()), (3, 5));
    prefix_is_kept(&fixture, &first, &last);
}

/// Checks that the earlier request is a prefix of the later one.
fn prefix_is_kept(
    fixture: &Fixture,
    first: &crate::mock::ReceivedRequest,
    last: &crate::mock::ReceivedRequest,
) {
    let (before, after) = (sent::messages(first), sent::messages(last));
    assert!(before.len() < after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(
            sent::without_cache_marks(before).to_string(),
            sent::without_cache_marks(after).to_string(),
            "the start of a request is stable on {}",
            fixture.wire
        );
    }
    for key in ["system", "tools", "instructions", "systemInstruction"] {
        let [before, after] =
            [first, last].map(|one| sent::without_cache_marks(&one.json[key]).to_string());
        assert_eq!(before, after, "{key}");
    }
}

/// The results for one answer are sent before any other message.
pub async fn results_come_first(suite: Suite) {
    let fixture = suite
        .fixture(Reply::new().tool("list", json!({})).tool("read", json!({"path": "a"})))
        .await;
    fixture.mock.push("ok");
    let user = fixture.user("hello");
    let answered = fixture.ask(vec![user.clone()]).await.unwrap();
    let results =
        answered.calls().iter().map(|call| ToolResult::text(call, "fine", false)).collect();
    // A user can write while tools run.
    let more = fixture.user("and be quick");
    fixture
        .ask(vec![user, answered.message.clone(), fixture.results(results), more])
        .await
        .unwrap();
    let sent = fixture.sent(2);
    let results: Vec<SentResult> = sent::results(&sent);
    assert_eq!(results.len(), 2);
    let body = sent.json.to_string();
    // Services reject a message between a call and its result.
    assert!(body.rfind("fine").unwrap() < body.find("and be quick").unwrap(), "{body}");
}

/// Arguments that are not JSON are marked as unparsed, and the conversation can continue.
pub async fn unreadable_arguments(suite: Suite) {
    if suite.wire == Wire::Gemini {
        // On this wire, arguments are always JSON.
        return;
    }
    let input = ToolInput::parse("{\"path\": \"a.t");
    let call = Call { name: "read".to_owned(), input, id: None, chunk: None };
    let fixture = suite.fixture(Reply::new().step(Step::Tool(call))).await;
    fixture.mock.push("ok");
    let user = fixture.user("hello");
    let answered = fixture.ask(vec![user.clone()]).await.unwrap();
    let calls = answered.calls();
    assert_eq!(calls.len(), 1);
    assert!(matches!(calls[0].input, ToolInput::Unparsed(_)), "{:?}", calls[0].input);
    let result = ToolResult::text(&calls[0], "these arguments are no JSON", true);
    let view = vec![user, answered.message.clone(), fixture.results(vec![result])];
    assert_eq!(fixture.ask(view).await.unwrap().text(), "ok");
    assert_eq!(sent::results(&fixture.sent(2)).len(), 1);
}

/// Arguments that were truncated by the output limit are never treated as complete.
pub async fn arguments_truncated_by_the_limit(suite: Suite) {
    if suite.wire == Wire::Gemini {
        return;
    }
    let input = ToolInput::parse("{\"path\": \"a.t");
    let call = Call { name: "read".to_owned(), input, id: None, chunk: None };
    let reply = Reply::new().text("x").step(Step::Tool(call)).stop(StopReason::MaxTokens);
    let answered = suite.fixture(reply).await.hello().await.unwrap();
    assert_eq!(answered.stop, StopReason::MaxTokens);
    let unreadable =
        |call: &robota_core::message::ToolUse| matches!(call.input, ToolInput::Unparsed(_));
    assert!(answered.calls().iter().all(unreadable), "{:?}", answered.calls());
}

/// Images of users and of tools are sent to the service.
pub async fn images(suite: Suite) {
    use robota_core::blob::Blobs as _;

    let fixture = suite.fixture(Reply::new().tool("list", json!({}))).await;
    fixture.mock.push("A crab.");
    let blob = fixture.blobs.put(PICTURE).await.unwrap();
    let image = Image { blob, media_type: "image/png".to_owned(), extra: Map::new() };
    let user = robota_core::message::Message::user(
        &fixture.ids,
        vec![Block::text("What is it?"), Block::Image(image.clone())],
    );
    let user = std::sync::Arc::new(user);
    let answered = fixture.ask(vec![user.clone()]).await.unwrap();
    let body = fixture.sent(1).json.clone();
    assert!(sent::contains(&body, PICTURE_BASE64), "{body}");
    assert!(sent::contains(&body, "image/png"), "{body}");

    let mut result = ToolResult::text(&answered.calls()[0], "see the picture", false);
    result.content.push(ResultBlock::Image(image));
    fixture.ask(vec![user, answered.message.clone(), fixture.results(vec![result])]).await.unwrap();
    let body = fixture.sent(2).json.clone();
    assert_eq!(body.to_string().matches(PICTURE_BASE64).count(), 2, "{body}");
}

/// Calls in an unusual form are decoded to the same calls.
pub async fn unusual_calls(suite: Suite) {
    let quirks = [
        Quirk::NoIds,
        Quirk::DuplicateIds,
        Quirk::NoIndex,
        Quirk::RepeatHead,
        Quirk::ObjectArguments,
        Quirk::OneDelta,
        Quirk::CallPerEvent,
        Quirk::NoInput,
        Quirk::Overlap,
        Quirk::NullContent,
        Quirk::FinishTwice,
        Quirk::UsageOnFinish,
        Quirk::NoDone,
        Quirk::NoEventNames,
    ];
    for quirk in quirks {
        // Without ids and indices, two calls of the same tool cannot be distinguished, so that
        // combination is not tested.
        let reply = Reply::new()
            .tool("read", json!({"path": "a.txt"}))
            .tool("list", json!({}))
            .tool("read", json!({"path": "b.txt"}))
            .chunked(size(5))
            .quirks([quirk]);
        let fixture = suite.fixture(reply).await;
        let answered = fixture.hello().await.unwrap_or_else(|error| panic!("{quirk:?}: {error}"));
        assert_eq!(answered.called(), three(), "{quirk:?}");
        assert_eq!(answered.stop, StopReason::ToolUse, "{quirk:?}");
        distinct_ids(&answered);
    }
}

/// Calls with generated ids are sent back with the same ids as their results.
pub async fn generated_ids_are_sent_back(suite: Suite) {
    for quirk in [Quirk::NoIds, Quirk::DuplicateIds] {
        let reply = Reply::new()
            .tool("read", json!({"path": "a.txt"}))
            .tool("list", json!({}))
            .quirks([quirk]);
        let fixture = suite.fixture(reply).await;
        fixture.mock.push("ok");
        let user = fixture.user("hello");
        let answered = fixture.ask(vec![user.clone()]).await.unwrap();
        let results = answered
            .calls()
            .iter()
            .map(|call| ToolResult::text(call, format!("of {}", call.name), false))
            .collect();
        fixture.ask(vec![user, answered.message.clone(), fixture.results(results)]).await.unwrap();
        let sent = fixture.sent(2);
        let calls: Vec<_> = sent::calls(&sent).into_iter().map(|call| call.id).collect();
        let results: Vec<_> = sent::results(&sent).into_iter().map(|result| result.id).collect();
        assert_eq!(calls, results, "{quirk:?}");
        if suite.wire != Wire::Gemini {
            assert_eq!(calls.len(), 2, "{quirk:?}");
            assert_ne!(calls[0], calls[1], "{quirk:?}");
            assert!(calls.iter().all(|id| !id.is_empty()), "{quirk:?}");
        }
    }
}

/// Some services use the same ids in every answer; each result still belongs to its call.
pub async fn core_17_ids_may_repeat_across_turns(suite: Suite) {
    let call = |path: &str| {
        let input = ToolInput::Json(json!({ "path": path }));
        let id = Some("call_0".to_owned());
        Reply::new().step(Step::Tool(Call { name: "read".to_owned(), input, id, chunk: None }))
    };
    let fixture = suite.fixture(call("a.txt")).await;
    fixture.mock.push(call("b.txt"));
    fixture.mock.push("ok");
    let mut view = vec![fixture.user("hello")];
    for contents in ["of a", "of b"] {
        let answered = fixture.ask(view.clone()).await.unwrap();
        assert_eq!(answered.calls()[0].id, "call_0", "the id is kept");
        let result = ToolResult::text(&answered.calls()[0], contents, false);
        view.extend([answered.message.clone(), fixture.results(vec![result])]);
    }
    assert_eq!(fixture.ask(view).await.unwrap().text(), "ok");
    let sent = fixture.sent(3);
    let calls: Vec<_> = sent::calls(&sent).into_iter().map(|call| call.id).collect();
    let results = sent::results(&sent);
    let ids: Vec<_> = results.iter().map(|result| result.id.clone()).collect();
    assert_eq!(calls, ids);
    assert_eq!(calls.len(), 2);
    assert!(results[0].text.contains("of a") && results[1].text.contains("of b"), "{results:?}");
    if suite.wire == Wire::Anthropic {
        assert_ne!(calls[0], calls[1], "this wire rejects repeated ids");
    }
}

/// Calls that a local model wrote into its text are decoded, if the provider is configured for it.
pub async fn calls_written_as_text(suite: Suite) {
    if suite.wire != Wire::OpenaiChat {
        // On the other wires, the services parse the model's output themselves.
        return;
    }
    // Llama's form is bare JSON, which may be a normal answer: a provider must not guess.
    for form in TextCalls::ALL.into_iter().filter(|form| *form != TextCalls::Llama) {
        let reply = Reply::new()
            .tool("read", json!({"path": "a.txt"}))
            .chunked(size(3))
            .quirks([Quirk::TextCalls(form)]);
        let fixture = suite.fixture_with_text_calls(reply).await;
        let answered = fixture.hello().await.unwrap();
        let called = answered.called();
        assert_eq!(called, [("read".to_owned(), json!({"path": "a.txt"}))], "{form:?}");
        assert_eq!(answered.stop, StopReason::ToolUse, "{form:?}");
        assert_eq!(answered.text().trim(), "", "{form:?}: the call is not also shown as text");
    }
    // Text that only begins like a call is an answer.
    let plain = suite.fixture_with_text_calls("Use <tool_ or {\"name\": 1} as you like.").await;
    let answered = plain.hello().await.unwrap();
    assert_eq!(answered.text(), "Use <tool_ or {\"name\": 1} as you like.");
    assert!(answered.calls().is_empty());
}
