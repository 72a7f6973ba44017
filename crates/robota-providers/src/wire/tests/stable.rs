//! The same conversation is always encoded to the same bytes.

use super::*;

#[tokio::test]
async fn a_request_of_each_wire() {
    for wire in Wire::ALL {
        let encoder =
            TestEncoder { web: NativeWeb { search: true, fetch: false }, ..TestEncoder::new(wire) };
        let body = encoder.json(&request(&conversation())).await;
        let text = serde_json::to_string_pretty(&body).unwrap();
        insta::assert_snapshot!(wire.name(), text);
    }
}

/// Returns the bytes without cache markers, which may move.
fn unmarked(body: &Body) -> String {
    let text = String::from_utf8(body.bytes.clone()).unwrap();
    text.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

#[tokio::test]
async fn every_request_extends_the_previous_one() {
    for wire in Wire::ALL {
        let encoder = TestEncoder::new(wire);
        let all = conversation();
        let mut before: Option<String> = None;
        for length in 1..=all.len() {
            // An answer with calls is always followed by results before the next request.
            if all[length - 1].tool_uses().next().is_some() {
                continue;
            }
            let now = unmarked(&encoder.body(&request(&all[..length])).await);
            if let Some(before) = before {
                let same = before.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
                let rest = &before[same..];
                assert!(
                    rest.chars().all(|letter| "]}".contains(letter)),
                    "{}: only brackets may change, not {rest}",
                    wire.name()
                );
            }
            before = Some(now);
        }
    }
}

#[tokio::test]
async fn cached_and_fresh_bytes_are_equal() {
    for wire in Wire::ALL {
        let encoder = TestEncoder::new(wire);
        let all = conversation();
        let first = encoder.body(&request(&all)).await.bytes;
        let reads = encoder.blobs.0.load(Ordering::Relaxed);
        assert_eq!(reads, 3, "each attachment is read once");
        let cached = encoder.body(&request(&all)).await.bytes;
        assert_eq!(first, cached);
        assert_eq!(encoder.blobs.0.load(Ordering::Relaxed), reads, "nothing is encoded twice");
        assert_eq!(TestEncoder::new(wire).body(&request(&all)).await.bytes, first);
    }
}

#[tokio::test]
async fn a_new_message_at_a_reused_address_is_encoded_again() {
    let encoder = TestEncoder::new(Wire::ChatCompletions);
    let ids = CountingIds::default();
    for round in 0..50 {
        let text = format!("number {round}");
        let message = Arc::new(Message::user(&ids, text.clone()));
        let body = encoder.json(&request(&[message])).await;
        assert_eq!(body["messages"][1]["content"], text);
    }
}

#[tokio::test]
async fn cache_markers_are_at_tools_system_and_the_last_two_user_turns() {
    let encoder = TestEncoder::new(Wire::AnthropicMessages);
    let mut sent_request = request(&conversation());
    sent_request.instruction = Some(Message::user(&CountingIds::default(), "Only for now."));
    let body = encoder.json(&sent_request).await;
    let marked = |value: &Value| value.get("cache_control").is_some();
    assert!(marked(&body["tools"][1]) && !marked(&body["tools"][0]));
    assert!(marked(&body["system"][0]));
    let messages = body["messages"].as_array().unwrap();
    let places: Vec<_> = messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| {
            let parts = message["content"].as_array().unwrap();
            parts
                .iter()
                .enumerate()
                .filter(|(_, part)| marked(part))
                .map(move |(part, _)| (at, part))
        })
        .collect();
    // The results and the last user message, but not the instruction for this call only.
    assert_eq!(places, [(2, 1), (4, 0)]);
    assert_eq!(messages[4]["content"][1]["text"], "Only for now.");
    let without = TestEncoder::quirks(
        Wire::AnthropicMessages,
        Quirks { cache_markers: false, ..Quirks::default() },
    );
    let bytes = without.body(&sent_request).await.bytes;
    assert!(!String::from_utf8(bytes).unwrap().contains("cache_control"));
}
