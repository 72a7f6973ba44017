use super::*;

fn chosen(model: &str, set: &[&str]) -> Result<Option<String>, BuildError> {
    let lookup = |name: &str| set.contains(&name).then(|| "http://value.test".to_owned());
    let found = vendor_for_model(&Vendors::builtin(), model, &lookup)?;
    Ok(found.map(|(vendor, _)| vendor.vendor.clone()))
}

#[test]
fn the_maker_of_a_model_gets_its_requests() {
    let both = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
    for (model, vendor) in [
        ("gpt-6.1-sol", "openai"),
        ("claude-sonnet-5-5", "anthropic"),
        ("gemini-3.8-flash", "gemini"),
        // Newer than the catalogue.
        ("gpt-9-nova", "openai"),
        ("claude-epic-9", "anthropic"),
    ] {
        assert_eq!(chosen(model, &both).unwrap().as_deref(), Some(vendor), "{model}");
    }
    let many = ["ANTHROPIC_API_KEY", "XAI_API_KEY", "OPENROUTER_API_KEY"];
    assert_eq!(chosen("grok-7", &many).unwrap().as_deref(), Some("xai"));
}

#[test]
fn another_company_never_gets_them() {
    let error = chosen("gpt-6.1-sol", &["ANTHROPIC_API_KEY"]).unwrap_err();
    let BuildError::ModelOfAnotherVendor { variables, configured, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((variables.as_str(), configured.as_str()), ("OPENAI_API_KEY", "Anthropic"));
    // A marketplace or a gateway may have it.
    let router = ["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"];
    assert_eq!(chosen("gpt-6.1-sol", &router).unwrap().as_deref(), Some("openrouter"));
    let gateway = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"];
    assert_eq!(chosen("gpt-6.1-sol", &gateway).unwrap().as_deref(), Some("anthropic"));
}

#[test]
fn several_possible_services_are_an_error() {
    let error = chosen("gpt-6.1-sol", &["OPENROUTER_API_KEY", "GROQ_API_KEY"]).unwrap_err();
    let BuildError::AmbiguousModel { choices, .. } = &error else { panic!("{error:?}") };
    assert_eq!(choices, "openrouter/gpt-6.1-sol, groq/gpt-6.1-sol");
    let error = chosen("house-model", &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]).unwrap_err();
    assert!(matches!(error, BuildError::AmbiguousModel { .. }), "{error:?}");
    assert_eq!(chosen("house-model", &["OPENAI_API_KEY"]).unwrap().as_deref(), Some("openai"));
}

#[test]
fn open_models_may_run_on_this_machine() {
    assert_eq!(chosen("qwen3-8b", &["ANTHROPIC_API_KEY"]).unwrap(), None);
    assert_eq!(chosen("gpt-6.1-sol", &[]).unwrap(), None);
}

#[test]
fn a_profile_of_another_company_may_not_have_the_model() {
    let vendors = Vendors::builtin();
    let anthropic = vendors.find("anthropic").unwrap();
    assert!(!may_have_model(&vendors, anthropic, true, "gpt-6.1-sol"));
    assert!(may_have_model(&vendors, anthropic, false, "gpt-6.1-sol"), "at a gateway");
    assert!(may_have_model(&vendors, anthropic, true, "claude-opus-5-5"));
    assert!(may_have_model(&vendors, anthropic, true, "house-model"));
    let router = vendors.find("openrouter").unwrap();
    assert!(may_have_model(&vendors, router, true, "gpt-6.1-sol"));
}
