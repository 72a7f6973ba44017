//! Tests of the choice of tools, the form of the answer, and the options of the prompt cache.

use robota_core::provider::{OutputSchema, ToolChoice};

use super::*;
use crate::profile::{GeminiThinking, OutputStyle, RequiredChoice, SystemRole};

async fn with_choice(wire: Wire, choice: ToolChoice) -> Value {
    let request = ModelRequest { tool_choice: choice, ..request(&conversation()) };
    TestEncoder::new(wire).json(&request).await
}

#[tokio::test]
async fn core_04_each_wire_has_its_words_for_the_choice_of_tools() {
    use Wire::{AnthropicMessages, ChatCompletions, GeminiGenerateContent, Responses};
    let none = [
        (AnthropicMessages, "/tool_choice", json!({"type": "none"})),
        (ChatCompletions, "/tool_choice", json!("none")),
        (Responses, "/tool_choice", json!("none")),
        (GeminiGenerateContent, "/toolConfig/functionCallingConfig", json!({"mode": "NONE"})),
    ];
    let required =
        [json!({"type": "any"}), json!("required"), json!("required"), json!({"mode": "ANY"})];
    let one = [
        json!({"type": "tool", "name": "read"}),
        json!({"type": "function", "function": {"name": "read"}}),
        json!({"type": "function", "name": "read"}),
        json!({"mode": "ANY", "allowedFunctionNames": ["read"]}),
    ];
    for (at, (wire, path, none)) in none.into_iter().enumerate() {
        let auto = with_choice(wire, ToolChoice::Auto).await;
        assert_eq!(auto.pointer(path), None, "{wire:?}");
        let forbidden = with_choice(wire, ToolChoice::None).await;
        assert_eq!(forbidden.pointer(path), Some(&none), "{wire:?}");
        assert_eq!(forbidden["tools"], auto["tools"], "the tools stay, so that the cache is used");
        let must = with_choice(wire, ToolChoice::Required).await;
        assert_eq!(must.pointer(path), Some(&required[at]), "{wire:?}");
        let named = with_choice(wire, ToolChoice::Tool("read".to_owned())).await;
        assert_eq!(named.pointer(path), Some(&one[at]), "{wire:?}");
    }
    let quirks = Quirks { required_choice: RequiredChoice::Any, ..Quirks::default() };
    let request = ModelRequest { tool_choice: ToolChoice::Required, ..request(&conversation()) };
    let body = TestEncoder::quirks(ChatCompletions, quirks).json(&request).await;
    assert_eq!(body["tool_choice"], "any");
}

#[tokio::test]
async fn core_04_the_form_of_the_answer_is_sent_where_the_wire_has_it() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}},
        "required": ["name"]});
    let mut asked = request(&conversation());
    asked.output = Some(OutputSchema::new(schema));
    let claude = TestEncoder::new(Wire::AnthropicMessages).json(&asked).await;
    let format = &claude["output_config"]["format"];
    assert_eq!(
        (&format["type"], &format["schema"]["additionalProperties"]),
        (&json!("json_schema"), &json!(false))
    );
    let responses = TestEncoder::new(Wire::Responses).json(&asked).await;
    assert_eq!(responses["text"]["format"]["strict"], true);
    assert_eq!(responses["text"]["format"]["schema"]["required"], json!(["name"]));

    let chat = |output_schema| {
        let quirks = Quirks { output_schema, ..Quirks::default() };
        TestEncoder::quirks(Wire::ChatCompletions, quirks)
    };
    let native = chat(OutputStyle::JsonSchema).json(&asked).await;
    assert_eq!(native["response_format"]["json_schema"]["name"], "answer");
    let never = chat(OutputStyle::Never).json(&asked).await;
    assert!(never.get("response_format").is_none());
    let object = chat(OutputStyle::JsonObject).json(&asked).await;
    assert!(object.get("response_format").is_none(), "not together with tools");

    let gemini = TestEncoder::new(Wire::GeminiGenerateContent);
    assert!(gemini.json(&asked).await["generationConfig"].get("responseMimeType").is_none());
    asked.tools = no_tools();
    let alone = gemini.json(&asked).await;
    assert_eq!(alone["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(alone["generationConfig"]["responseJsonSchema"]["required"], json!(["name"]));
    let object = chat(OutputStyle::JsonObject).json(&asked).await;
    assert_eq!(object["response_format"], json!({"type": "json_object"}));
}

/// Fails on a key that occurs twice, which `serde_json` would not notice.
fn keys_are_unique(wire: Wire, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap();
    for key in ["system", "instructions", "systemInstruction", "tool_choice", "toolConfig", "tools"]
    {
        let found = text.matches(&format!("\"{key}\":")).count();
        assert!(found <= 1, "{}: `{key}` occurs {found} times", wire.name());
    }
}

#[tokio::test]
async fn options_never_produce_a_key_twice() {
    use crate::host::Host;
    use crate::profile::Vendors;
    use crate::settings::ProviderSettings;

    let options: Map<String, Value> = serde_json::from_value(json!({
        "system": "x", "instructions": "x", "systemInstruction": "x", "tools": [],
        "tool_choice": {"type": "auto"}, "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    }))
    .unwrap();
    for wire in Wire::ALL {
        let settings = ProviderSettings {
            base_url: Some("http://localhost:1".into()),
            wire: Some(wire),
            options: options.clone(),
            ..ProviderSettings::default()
        };
        let vendors = Vendors::builtin();
        let provider =
            crate::build(vendors.find("custom").unwrap(), settings, &Host::default()).unwrap();
        for choice in [ToolChoice::Auto, ToolChoice::None] {
            let mut asked = request(&conversation());
            asked.tool_choice = choice;
            keys_are_unique(wire, &provider.encoded(&asked).await);
            asked.tools = no_tools();
            keys_are_unique(wire, &provider.encoded(&asked).await);
        }
    }
}

#[tokio::test]
async fn the_prompt_cache_can_be_kept_for_an_hour_and_has_a_key() {
    let options: Map<String, Value> = serde_json::from_value(json!({"cache_ttl": "1h"})).unwrap();
    let claude =
        TestEncoder { options: options.clone(), ..TestEncoder::new(Wire::AnthropicMessages) };
    let body = claude.json(&request(&conversation())).await;
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(body["system"][0]["cache_control"], hour);
    assert_eq!(body["tools"][1]["cache_control"], hour);
    assert!(body.get("cache_ttl").is_none());

    let quirks = Quirks { prompt_cache_key: true, ..Quirks::default() };
    let mut asked = request(&conversation());
    asked.cache_key = Some("session-1".to_owned());
    for wire in [Wire::Responses, Wire::ChatCompletions] {
        let body = TestEncoder::quirks(wire, quirks.clone()).json(&asked).await;
        assert_eq!(body["prompt_cache_key"], "session-1");
        assert!(TestEncoder::new(wire).json(&asked).await.get("prompt_cache_key").is_none());
    }
}

#[tokio::test]
async fn the_results_of_parallel_calls_can_hold_a_cache_marker_on_the_chat_wire() {
    let quirks = Quirks { part_cache_markers: true, images: false, ..Quirks::default() };
    let messages = &conversation()[..3];
    let body = TestEncoder::quirks(Wire::ChatCompletions, quirks).json(&request(messages)).await;
    let results: Vec<_> =
        body["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "tool").collect();
    assert_eq!(results.len(), 2);
    assert!(results[0]["content"].is_string());
    assert_eq!(results[1]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
}

#[tokio::test]
async fn instructions_inside_a_conversation_have_the_role_of_the_system_prompt() {
    let ids = CountingIds::default();
    let messages: Vec<_> = [Message::user(&ids, "Hello"), Message::system(&ids, "Be kind.")]
        .into_iter()
        .map(Arc::new)
        .collect();
    for wire in [Wire::ChatCompletions, Wire::Responses] {
        let quirks = Quirks { system_role: SystemRole::Developer, ..Quirks::default() };
        let body = TestEncoder::quirks(wire, quirks).body(&request(&messages)).await.bytes;
        let text = String::from_utf8(body).unwrap();
        assert!(!text.contains("\"system\""), "{text}");
        assert!(text.contains("\"developer\""), "{text}");
    }
}

#[tokio::test]
async fn effort_becomes_a_level_or_a_budget_on_the_gemini_wire() {
    let sent = async |effort: &str, gemini_thinking| {
        let mut encoder = TestEncoder::quirks(
            Wire::GeminiGenerateContent,
            Quirks { gemini_thinking, ..Quirks::default() },
        );
        encoder.options.insert("effort".to_owned(), effort.into());
        let body = encoder.json(&request(&conversation())).await;
        body["generationConfig"]["thinkingConfig"].clone()
    };
    for (effort, level, budget) in [
        ("none", "MINIMAL", 0),
        ("low", "LOW", 2_048),
        ("medium", "MEDIUM", 8_192),
        ("high", "HIGH", 24_576),
        ("xhigh", "HIGH", 24_576),
        ("max", "HIGH", 24_576),
    ] {
        assert_eq!(sent(effort, GeminiThinking::Level).await["thinkingLevel"], level);
        let by_budget = sent(effort, GeminiThinking::Budget).await;
        assert_eq!(by_budget["thinkingBudget"], budget, "{effort}");
        assert!(by_budget.get("thinkingLevel").is_none(), "never both");
    }
}

#[tokio::test]
async fn a_paused_answer_is_continued_with_its_token_on_the_gemini_wire() {
    use robota_core::message::Opaque;

    let ids = CountingIds::default();
    let wire = Wire::GeminiGenerateContent;
    let value = json!({"continuationToken": "more-1"});
    let token = Opaque { wire: wire.name().to_owned(), value, extra: Map::new() };
    let blocks = vec![Block::text("half"), Block::Opaque(token)];
    let paused = Message::assistant(&ids, blocks, MessageState::Complete);
    let mut messages: Vec<_> =
        [Message::user(&ids, "Tell me."), paused].into_iter().map(Arc::new).collect();
    let body = TestEncoder::new(wire).json(&request(&messages)).await;
    assert_eq!(body["continuationToken"], "more-1");
    assert_eq!(body["contents"][1]["parts"], json!([{"text": "half"}]));
    messages.push(Arc::new(Message::user(&ids, "And now?")));
    let body = TestEncoder::new(wire).json(&request(&messages)).await;
    assert!(body.get("continuationToken").is_none(), "only the answer that was paused last");
}
