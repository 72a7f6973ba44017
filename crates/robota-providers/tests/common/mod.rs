//! Creates a provider for the mock server, on any of the wires.

use std::sync::Arc;

use robota_core::env_ref::Secret;
use robota_core::provider::Provider;
use robota_providers::{Host, HttpClientOptions, ProviderSettings, Vendors, build};
use robota_testkit::mock;
use robota_testkit::provider_suite::WireSetup;
use serde_json::{Map, Value, json};

/// Builds the vendor whose own wire it is, at the mock's address.
pub(crate) fn provider(setup: WireSetup) -> Arc<dyn Provider> {
    let (vendor, wire) = match setup.wire {
        mock::Wire::Anthropic => ("anthropic", robota_providers::Wire::AnthropicMessages),
        mock::Wire::OpenaiChat => ("custom", robota_providers::Wire::ChatCompletions),
        mock::Wire::OpenaiResponses => ("openai", robota_providers::Wire::Responses),
        mock::Wire::Gemini => ("gemini", robota_providers::Wire::GeminiGenerateContent),
    };
    let quirks = match setup.text_calls {
        false => Map::new(),
        true => object(json!({
            "think_marks": ["think"],
            "text_calls": [
                "tool_call_tag", "function_xml", "gemma", "function_gemma", "tool_calls_token",
                "fenced",
            ],
        })),
    };
    let settings = ProviderSettings {
        model: Some(setup.model),
        api_key: Some(Secret::new(setup.api_key)),
        base_url: Some(setup.base_url),
        wire: Some(wire),
        quirks,
        ..ProviderSettings::default()
    };
    let host = Host::new(HttpClientOptions::default());
    let vendors = Vendors::builtin();
    let profile = vendors.require(vendor).unwrap();
    build(profile, settings, &host).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("not an object: {other}"),
    }
}
