use robota_core::catalogue::Capability;
use robota_core::env_ref::Secret;
use serde_json::json;

use super::*;

fn all() -> Vec<ProviderDefinition<dyn Provider>> {
    definitions(&Vendors::builtin(), &Host::default())
}

#[test]
fn core_05_every_vendor_has_a_definition() {
    let all = all();
    assert_eq!(all.len(), Vendors::builtin().iter().count());
    let claude = find_definition(&all, "Claude").unwrap();
    assert_eq!(claude.provider_type, "anthropic");
    assert!(claude.probe.is_some() && claude.refresh.is_some());
    assert!(
        claude.models.entries.iter().any(|model| Some(&model.id) == claude.defaults.model.as_ref())
    );
    assert_eq!(claude.models.status, CatalogueStatus::Fallback);
    assert_eq!(claude.models.verified_at, None, "the list as a whole was never checked");
    let local = find_definition(&all, "ollama").unwrap();
    assert_eq!(local.models.status, CatalogueStatus::Unavailable);
    assert!(require_definition(&all, "nobody").is_err());
}

#[test]
fn core_05_definitions_have_the_questions_of_the_setup() {
    let all = all();
    for profile in Vendors::builtin().iter() {
        let setup = &find_definition(&all, &profile.vendor).unwrap().setup;
        let asks = |field| setup.iter().any(|prompt| prompt.field == field);
        assert!(asks(SetupField::Model), "{}", profile.vendor);
        let only_keys = profile.credentials.is_none();
        if profile.credential == CredentialRequirement::Required && only_keys {
            assert!(asks(SetupField::ApiKey), "{}", profile.vendor);
        }
        if profile.base_url.is_none() && profile.base_url_template.is_none() {
            assert!(asks(SetupField::BaseUrl), "{}", profile.vendor);
        }
    }
}

#[test]
fn core_05_entries_have_their_capabilities() {
    let all = all();
    let of = |provider: &str, model: &str| {
        let definition = find_definition(&all, provider).unwrap();
        let entry = definition.models.entries.iter().find(|entry| entry.id == model).unwrap();
        entry.capabilities.clone()
    };
    let claude = of("anthropic", "claude-sonnet-5-5");
    assert!(claude.contains(&Capability::Images) && claude.contains(&Capability::Thinking));
    let luna = of("openai", "gpt-6-luna");
    assert!(luna.contains(&Capability::Tools) && !luna.contains(&Capability::Audio));
}

#[test]
fn open_models_are_not_listed_for_their_makers_service() {
    let all = all();
    let openai = find_definition(&all, "openai").unwrap();
    assert!(openai.models.entries.iter().all(|model| !model.id.contains("oss")));
}

#[test]
fn a_definition_builds_from_settings() {
    let all = all();
    let openai = find_definition(&all, "openai").unwrap();
    let mut config = ProviderConfig::new("openai");
    assert!(openai.create(&config).is_err(), "no key");
    config.api_key = Some(Secret::new("sk-test"));
    assert_eq!(openai.create(&config).unwrap().name(), "openai");
    config.options.insert("api".into(), "telepathy".into());
    let error = openai.create(&config).err().unwrap();
    assert!(
        error.message.contains("`api`") && error.message.contains("chat-completions"),
        "{error}"
    );
    config.options.insert("api".into(), "chat-completions".into());
    config.options.insert("headers".into(), json!({"x-team": "a"}));
    assert!(openai.create(&config).is_ok());
}
