use robota_core::env_ref::Secret;
use robota_core::provider::Provider as _;

use super::*;

fn key(key: &str) -> ProviderSettings {
    ProviderSettings { api_key: Some(Secret::new(key)), ..ProviderSettings::default() }
}

#[test]
fn a_model_is_named_with_its_vendor() {
    let host = Host::default();
    let (provider, model) = connect("anthropic/claude-sonnet-5-5", key("k"), &host).unwrap();
    assert_eq!((provider.name(), model.as_str()), ("anthropic", "claude-sonnet-5-5"));
    let unknown = connect("nobody/some-model", key("k"), &host).unwrap_err();
    assert!(matches!(unknown, BuildError::UnknownVendor { ref name, .. } if name == "nobody"));
    let keyless = connect("anthropic/claude-sonnet-5-5", ProviderSettings::default(), &host);
    assert!(matches!(keyless, Err(BuildError::NoKey { .. })));
}

#[test]
fn the_environment_names_vendor_key_and_model() {
    let host = Host::default();
    let set = |variables: &'static [(&str, &str)]| {
        move |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    };
    let (provider, model) =
        connect_from(&set(&[("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "gpt-x")]), &host).unwrap();
    assert_eq!((provider.name(), model.as_str()), ("openai", "gpt-x"));
    let (provider, model) = connect_from(&set(&[("ANTHROPIC_API_KEY", "k")]), &host).unwrap();
    assert_eq!(provider.name(), "anthropic");
    assert!(!model.is_empty(), "the vendor's default");
    // A blank variable is not set.
    let error = connect_from(&set(&[("ANTHROPIC_API_KEY", " ")]), &host).unwrap_err();
    assert!(
        matches!(error, BuildError::NoVendor { ref variables } if variables.contains("OPENAI_API_KEY"))
    );
}
