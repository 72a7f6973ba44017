use serde_json::json;

use super::*;
use crate::error::BuildError;

#[test]
fn core_05_vendors_are_found_by_type_and_alias() {
    let vendors = Vendors::builtin();
    for (name, vendor) in [
        ("anthropic", "anthropic"),
        ("Claude", "anthropic"),
        (" google ", "gemini"),
        ("grok", "xai"),
    ] {
        assert_eq!(vendors.find(name).unwrap().vendor, vendor);
    }
    let error = vendors.require("nobody").unwrap_err();
    let BuildError::UnknownVendor { supported, .. } = &error else { panic!("{error:?}") };
    assert!(
        supported.contains("anthropic (claude)") && supported.contains("ollama"),
        "{supported}"
    );
}

#[test]
fn vendor_names_are_unique() {
    let vendors = Vendors::builtin();
    let mut names: Vec<_> = vendors
        .iter()
        .flat_map(|profile| profile.aliases.iter().chain([&profile.vendor]))
        .map(|name| name.to_lowercase())
        .collect();
    let before = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), before);
}

#[test]
fn split_model_finds_the_vendor_prefix() {
    let vendors = Vendors::builtin();
    let (profile, model) = vendors.split_model("openrouter/anthropic/claude-x").unwrap();
    assert_eq!((profile.vendor.as_str(), model), ("openrouter", "anthropic/claude-x"));
    assert!(vendors.split_model("meta-llama/llama-4").is_none());
    assert!(vendors.split_model("gpt-6").is_none());
    assert!(vendors.split_model("openai/").is_none());
}

#[test]
fn users_can_add_and_override_vendors() {
    let vendors = Vendors::builtin()
        .with_user(&json!({"type": "house", "name": "Our own", "base_url": "http://gpu:8000/v1",
            "quirks": {"text_calls": ["gemma"]}}))
        .unwrap()
        .with_user(&json!({"type": "eu", "extends": "anthropic", "base_url": "https://eu.test"}))
        .unwrap();
    let house = vendors.find("house").unwrap();
    assert_eq!(house.wire, Wire::ChatCompletions);
    assert_eq!(house.quirks.text_calls, [TextCallForm::Gemma]);
    let eu = vendors.find("eu").unwrap();
    assert_eq!((eu.wire, eu.auth), (Wire::AnthropicMessages, Auth::XApiKey));
    assert_eq!(eu.aliases, [""; 0]);
    assert_eq!(vendors.find("claude").unwrap().vendor, "anthropic");
    for wrong in [
        json!({"name": "x"}),
        json!({"type": "x", "extends": "nobody"}),
        json!({"type": "x", "wire": "telepathy"}),
        json!({"type": "x", "quirks": {"unknown": true}}),
    ] {
        assert!(Vendors::builtin().with_user(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn off_host_overrides_change_the_wire() {
    let vendors = Vendors::builtin();
    let openai = vendors.find("openai").unwrap();
    assert_eq!(openai.at("https://api.openai.com/v1").0, Wire::Responses);
    let (wire, quirks) = openai.at("http://localhost:1234/v1");
    assert_eq!((wire, quirks.max_tokens), (Wire::ChatCompletions, MaxTokens::MaxTokens));
}

#[test]
fn every_vendor_that_needs_a_key_links_to_a_key_page() {
    for profile in Vendors::builtin().iter() {
        if profile.credential == CredentialRequirement::Required {
            assert!(profile.help_link().is_some(), "{}", profile.vendor);
            assert!(!profile.api_key_env.is_empty(), "{}", profile.vendor);
        }
        for link in &profile.help_links {
            assert!(link.url.starts_with("https://"), "{}", link.url);
        }
        if let Some(model) = &profile.default_model {
            let known = robota_core::catalogue::Catalogue::builtin();
            assert!(known.get(model).is_some(), "{model} is in no catalogue");
        }
    }
}
