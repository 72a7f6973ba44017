use robota_core::provider::{ModelRequest, Thinking, View};
use serde_json::{Map, Value, json};

use super::encode;
use crate::profile::Wire;

fn encoded(wire: Wire, model: &str, options: &Value) -> Value {
    let mut options = match options {
        Value::Object(options) => options.clone(),
        _ => Map::new(),
    };
    let request = ModelRequest {
        max_output_tokens: Some(8_000),
        ..ModelRequest::new(model, View::default())
    };
    encode(&mut options, wire, &request);
    Value::Object(options)
}

#[test]
fn each_generation_of_claude_gets_the_form_that_it_accepts() {
    let on = Thinking::On;
    let tokens = Thinking::Tokens(2_000);
    let adaptive = json!({"thinking": {"type": "adaptive"}});
    let enabled = |tokens: u64| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
    let off = json!({"thinking": {"type": "disabled"}});
    for (model, thinking, expected) in [
        ("claude-haiku-4-5-20251001", on, enabled(7_999)),
        ("claude-3-7-sonnet", tokens, enabled(2_000)),
        ("claude-sonnet-4-6", on, adaptive.clone()),
        ("claude-sonnet-4-6", tokens, enabled(2_000)),
        ("claude-sonnet-5-5", tokens, adaptive.clone()),
        ("a-model-of-a-gateway", on, adaptive),
        ("claude-sonnet-4-5", Thinking::tokens(5), enabled(1_024)),
        ("claude-sonnet-4-5", Thinking::tokens(0), off.clone()),
        ("claude-opus-5", Thinking::Off, off),
        ("claude-opus-5-5", Thinking::Off, json!({})),
        ("claude-fable-5", Thinking::Off, json!({})),
    ] {
        let options = json!({Thinking::OPTION: thinking.option()});
        let found = encoded(Wire::AnthropicMessages, model, &options);
        assert_eq!(found, expected, "{model} {thinking:?}");
    }
}

#[test]
fn other_wires_get_an_effort() {
    for wire in [Wire::ChatCompletions, Wire::Responses, Wire::GeminiGenerateContent] {
        for (thinking, expected) in [
            (Thinking::Tokens(1_024), "low"),
            (Thinking::Tokens(10_000), "medium"),
            (Thinking::Tokens(30_000), "high"),
        ] {
            let options = json!({Thinking::OPTION: thinking.option()});
            assert_eq!(encoded(wire, "m", &options), json!({"effort": expected}), "{wire:?}");
        }
        for thinking in [Thinking::On, Thinking::Off] {
            let options = json!({Thinking::OPTION: thinking.option()});
            assert_eq!(encoded(wire, "m", &options), json!({}), "{wire:?}");
        }
        let options = json!({Thinking::OPTION: Thinking::Tokens(1_024).option(), "effort": "high"});
        assert_eq!(encoded(wire, "m", &options), json!({"effort": "high"}), "{wire:?}");
    }
}

#[test]
fn the_display_of_reasoning_is_sent_where_the_wire_has_it() {
    let options = json!({Thinking::DISPLAY: "omitted"});
    let expected = json!({"thinking": {"type": "adaptive", "display": "omitted"}});
    assert_eq!(encoded(Wire::AnthropicMessages, "claude-sonnet-5-5", &options), expected);
    assert_eq!(encoded(Wire::Responses, "m", &options), json!({}));
}

#[test]
fn a_field_of_the_service_is_not_replaced() {
    let given = json!({"type": "enabled", "budget_tokens": 1});
    let options = json!({Thinking::OPTION: Thinking::Off.option(), "thinking": given});
    let expected = json!({"thinking": given});
    assert_eq!(encoded(Wire::AnthropicMessages, "claude-sonnet-5-5", &options), expected);
}
