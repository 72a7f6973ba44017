use serde_json::{Value, json};

use super::SamplingRequest;

fn parse(params: &Value) -> Result<SamplingRequest, String> {
    SamplingRequest::parse("fake", params)
}

#[test]
fn texts_of_both_sides_are_read() {
    let request = parse(&json!({
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "What is 2 + 2?"}},
            {"role": "assistant", "content": [{"type": "text", "text": "4"}]},
        ],
        "systemPrompt": "Be short.", "maxTokens": 100,
    }))
    .unwrap();
    assert_eq!(request.summary(), "What is 2 + 2? 4");
    assert_eq!((request.messages[0].by_model, request.messages[1].by_model), (false, true));
    assert_eq!((request.system.as_deref(), request.max_tokens), (Some("Be short."), 100));
}

#[test]
fn other_requests_are_refused() {
    let text = json!({"role": "user", "content": {"type": "text", "text": "x"}});
    let large = json!({"role": "user", "content": {"type": "text", "text": "x".repeat(300_000)}});
    let image = json!({"role": "user", "content": {"type": "image", "data": ""}});
    for (params, why) in [
        (json!({"messages": [text], "maxTokens": 1, "tools": [{"name": "t"}]}), "tools"),
        (json!({"messages": [], "maxTokens": 1}), "1 to 100"),
        (json!({"messages": vec![&text; 101], "maxTokens": 1}), "1 to 100"),
        (json!({"messages": [large], "maxTokens": 1}), "at most"),
        (json!({"messages": [image], "maxTokens": 1}), "only text"),
        (json!({"messages": [text], "maxTokens": 0}), "maxTokens"),
        (json!({"messages": [{"role": "system", "content": ""}], "maxTokens": 1}), "assistant"),
    ] {
        let error = parse(&params).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
