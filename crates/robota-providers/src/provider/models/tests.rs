use serde_json::json;

use super::*;

#[test]
fn model_lists_of_all_services_are_parsed() {
    let anthropic = json!({"data": [{"type": "model", "id": "m-1", "display_name": "M 1",
        "max_input_tokens": 1000, "max_tokens": 100, "lifecycle": "deprecated"}], "has_more": false});
    let entry = &read_page(&anthropic)[0];
    assert_eq!((entry.id.as_str(), entry.label()), ("m-1", "M 1"));
    assert_eq!((entry.context_window, entry.max_output), (Some(1_000), Some(100)));
    assert_eq!(entry.lifecycle, Lifecycle::Deprecated);

    let openai =
        json!({"object": "list", "data": [{"id": "m-2", "object": "model", "owned_by": "x"}]});
    assert_eq!(read_page(&openai), [ModelEntry::new("m-2")]);

    let gemini = json!({"models": [
        {"name": "models/m-3", "displayName": "M 3", "inputTokenLimit": 7, "outputTokenLimit": 3,
         "supportedGenerationMethods": ["generateContent"], "thinking": true},
        {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]}]});
    let entries = read_page(&gemini);
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].id.as_str(), entries[0].context_window), ("m-3", Some(7)));
    assert!(entries[0].capabilities.contains(&Capability::Thinking));

    let router = json!({"data": [{"id": "a/b", "context_length": 5, "supported_parameters": ["tools"],
        "top_provider": {"max_completion_tokens": 2}}]});
    let entry = &read_page(&router)[0];
    assert_eq!((entry.context_window, entry.max_output), (Some(5), Some(2)));
    assert!(entry.capabilities.contains(&Capability::Tools));
    assert_eq!(read_page(&json!([{"id": "bare"}])).len(), 1);
    assert_eq!(read_page(&json!({"odd": 1})).len(), 0);
}

#[test]
fn next_page_and_list_urls() {
    let base = Url::parse("https://api.test/v1?key=k").unwrap();
    let first = list_url(&base, "/v1/models?limit=5");
    assert_eq!(first.as_str(), "https://api.test/v1/models?key=k&limit=5");
    let next = next_page(&first, &json!({"has_more": true, "last_id": "x"})).unwrap();
    assert_eq!(next.as_str(), "https://api.test/v1/models?key=k&limit=5&after_id=x");
    assert_eq!(next_page(&first, &json!({"has_more": false, "last_id": "x"})), None);
    let google = next_page(&first, &json!({"nextPageToken": "t"})).unwrap();
    assert!(google.as_str().ends_with("&pageToken=t"));
}
