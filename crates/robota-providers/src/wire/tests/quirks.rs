//! Tests of the compatibility options.

use super::*;
use crate::profile::{
    EffortStyle, EmptyContent, GeminiSchema, MaxTokens, ReasoningReplay, SystemRole, ToolIds,
};

async fn chat(quirks: Quirks) -> Value {
    TestEncoder::quirks(Wire::ChatCompletions, quirks).json(&request(&conversation())).await
}

#[tokio::test]
async fn max_tokens_fields() {
    for (style, key) in [
        (MaxTokens::MaxTokens, "max_tokens"),
        (MaxTokens::MaxCompletionTokens, "max_completion_tokens"),
    ] {
        let body = chat(Quirks { max_tokens: style, ..Quirks::default() }).await;
        assert_eq!(body[key], 1_000);
    }
    let body = chat(Quirks { max_tokens: MaxTokens::Omit, ..Quirks::default() }).await;
    assert!(body.get("max_tokens").is_none() && body.get("max_completion_tokens").is_none());
}

#[tokio::test]
async fn reasoning_content_is_sent_back_with_calls() {
    let quirks =
        Quirks { reasoning_replay: ReasoningReplay::ReasoningContent, ..Quirks::default() };
    let body = chat(quirks).await;
    assert_eq!(body["messages"][2]["reasoning_content"], "Nobody signed this.");
    let plain =
        body["messages"].as_array().unwrap().iter().find(|one| one["content"] == "It says hello.");
    assert!(plain.unwrap().get("reasoning_content").is_none());
}

#[tokio::test]
async fn alnum9_ids_and_no_user_after_tool() {
    let mut messages = conversation();
    messages.remove(3);
    let quirks = Quirks {
        tool_ids: ToolIds::Alnum9,
        no_user_after_tool: true,
        images: false,
        ..Quirks::default()
    };
    let body = TestEncoder::quirks(Wire::ChatCompletions, quirks).json(&request(&messages)).await;
    let roles: Vec<_> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "user"]);
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(body["messages"][3]["tool_call_id"], id);
}

#[tokio::test]
async fn empty_content_and_system_role() {
    let ids = CountingIds::default();
    let call = tool_use("c1", "x", "list", json!({}));
    let result = ToolResult::text(&call, "", false);
    let messages: Vec<_> = [
        Message::user(&ids, "go"),
        Message::assistant(&ids, vec![Block::ToolUse(call)], MessageState::Complete),
        Message::tool("t".into(), vec![result]),
    ]
    .into_iter()
    .map(Arc::new)
    .collect();
    for (style, expected) in [
        (EmptyContent::Null, Some(json!(null))),
        (EmptyContent::Empty, Some(json!(""))),
        (EmptyContent::Omit, None),
    ] {
        let quirks = Quirks {
            empty_content: style,
            system_role: SystemRole::Developer,
            ..Quirks::default()
        };
        let body =
            TestEncoder::quirks(Wire::ChatCompletions, quirks).json(&request(&messages)).await;
        assert_eq!(body["messages"][2].get("content").cloned(), expected);
        assert_eq!(body["messages"][0]["role"], "developer");
    }
}

#[tokio::test]
async fn effort_styles() {
    let effort_fields = |wire: Wire, style: EffortStyle, effort: &'static str| async move {
        let mut encoder = TestEncoder::quirks(wire, Quirks { effort: style, ..Quirks::default() });
        encoder.options.insert("effort".into(), effort.into());
        let body = encoder.json(&request(&conversation())).await;
        assert!(body.get("effort").is_none());
        body
    };
    use EffortStyle as E;
    let chat = Wire::ChatCompletions;
    assert_eq!(effort_fields(chat, E::Wire, "low").await["reasoning_effort"], "low");
    assert_eq!(effort_fields(chat, E::ReasoningObject, "low").await["reasoning"]["effort"], "low");
    assert_eq!(effort_fields(chat, E::EnableThinking, "low").await["enable_thinking"], true);
    assert_eq!(effort_fields(chat, E::EnableThinking, "none").await["enable_thinking"], false);
    assert_eq!(effort_fields(chat, E::ThinkingType, "none").await["thinking"]["type"], "disabled");
    assert_eq!(effort_fields(chat, E::ThinkingType, "max").await["reasoning_effort"], "max");
    assert!(effort_fields(chat, E::Never, "low").await.get("reasoning_effort").is_none());
    let anthropic = effort_fields(Wire::AnthropicMessages, E::Wire, "low").await;
    assert_eq!(anthropic["output_config"]["effort"], "low");
    assert_eq!(effort_fields(Wire::Responses, E::Wire, "low").await["reasoning"]["effort"], "low");
    let gemini = effort_fields(Wire::GeminiGenerateContent, E::Wire, "low").await;
    assert_eq!(gemini["generationConfig"]["thinkingConfig"]["thinkingLevel"], "LOW");
}

#[tokio::test]
async fn options_are_sent_unchanged() {
    for wire in Wire::ALL {
        let mut encoder = TestEncoder::new(wire);
        encoder.options.insert("top_k".into(), 5.into());
        encoder.options.insert("generationConfig".into(), json!({"seed": 7}));
        let body = encoder
            .json(&ModelRequest { temperature: Some(0.5), ..request(&conversation()) })
            .await;
        assert_eq!(body["top_k"], 5);
        assert_eq!(body["generationConfig"]["seed"], 7);
        let temperature = match wire {
            Wire::GeminiGenerateContent => &body["generationConfig"]["temperature"],
            _ => &body["temperature"],
        };
        assert_eq!(*temperature, 0.5, "{}", wire.name());
    }
}

#[tokio::test]
async fn a_conversation_with_calls_and_no_tools() {
    let sent_request = ModelRequest { tools: no_tools(), ..request(&conversation()) };
    for wire in Wire::ALL {
        let body = TestEncoder::new(wire).json(&sent_request).await;
        match wire {
            // The service rejects calls without tools.
            Wire::AnthropicMessages => assert_eq!(body["tool_choice"], json!({"type": "none"})),
            _ => assert!(body.get("tools").is_none()),
        }
    }
}

#[tokio::test]
async fn part_cache_markers() {
    let body = chat(Quirks { part_cache_markers: true, ..Quirks::default() }).await;
    let marker = json!({"type": "ephemeral"});
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], marker);
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["cache_control"], marker);
}

#[tokio::test]
async fn tool_schemas_per_wire() {
    let strict = Quirks { strict_tools: true, ..Quirks::default() };
    let body = chat(strict).await;
    // Its properties are optional, so strict mode would change its meaning.
    assert!(body["tools"][0]["function"].get("strict").is_none());
    let json = Quirks { gemini_schema: GeminiSchema::JsonSchema, ..Quirks::default() };
    let body = TestEncoder::quirks(Wire::GeminiGenerateContent, json)
        .json(&request(&conversation()))
        .await;
    let declared = &body["tools"][0]["functionDeclarations"][0];
    assert!(declared.get("parametersJsonSchema").is_some() && declared.get("parameters").is_none());
}

#[tokio::test]
async fn calls_without_a_signature_are_marked_on_gemini() {
    let body = TestEncoder::new(Wire::GeminiGenerateContent).json(&request(&conversation())).await;
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let signed: Vec<_> = parts.iter().map(|part| part.get("thoughtSignature").is_some()).collect();
    assert_eq!(signed, [false, true, false], "the first call only");
    let off = Quirks { skip_signatures: false, ..Quirks::default() };
    let body =
        TestEncoder::quirks(Wire::GeminiGenerateContent, off).json(&request(&conversation())).await;
    assert!(!body.to_string().contains("thoughtSignature"));
}
