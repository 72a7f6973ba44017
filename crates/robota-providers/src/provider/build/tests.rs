use robota_core::call::CallContext;
use robota_core::env_ref::Secret;
use robota_core::error::Diagnose as _;
use robota_core::provider::{
    Capabilities, ModelRequest, NativeWeb, Provider as _, View, WebSupport,
};
use serde_json::json;

use super::*;
use crate::profile::Vendors;
use crate::wire::encoder;

fn settings(base_url: Option<&str>) -> ProviderSettings {
    ProviderSettings {
        api_key: Some(Secret::new("sk-test")),
        base_url: base_url.map(str::to_owned),
        ..ProviderSettings::default()
    }
}

fn build_vendor(vendor: &str, settings: ProviderSettings) -> Result<Arc<HttpProvider>, BuildError> {
    build(Vendors::builtin().find(vendor).unwrap(), settings, &Host::default())
}

#[test]
fn incomplete_addresses_are_completed() {
    #[rustfmt::skip]
    let cases = [
        ("anthropic", None, "https://api.anthropic.com/v1/messages"),
        ("anthropic", Some("http://proxy:1/v1/"), "http://proxy:1/v1/messages"),
        ("anthropic", Some("http://proxy:1"), "http://proxy:1/v1/messages"),
        ("openai", None, "https://api.openai.com/v1/responses"),
        ("openai", Some("http://localhost:1"), "http://localhost:1/v1/chat/completions"),
        ("openai", Some("http://localhost:1/v1"), "http://localhost:1/v1/chat/completions"),
        ("gemini", None, "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini", Some("http://localhost:1"), "http://localhost:1/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini", Some("http://gateway/prefix/"), "http://gateway/prefix/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini", Some("http://gateway/prefix/v1"), "http://gateway/prefix/v1/models/m:streamGenerateContent?alt=sse"),
        ("azure", Some("https://r.openai.azure.com"), "https://r.openai.azure.com/openai/v1/responses"),
        ("azure", Some("https://r.openai.azure.com/openai/v1/"), "https://r.openai.azure.com/openai/v1/responses"),
        ("deepseek", None, "https://api.deepseek.com/chat/completions"),
        ("custom", Some("http://gpu:8000"), "http://gpu:8000/v1/chat/completions"),
        ("azure", Some("https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=v"),
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=v"),
        ("ollama", None, "http://localhost:11434/v1/chat/completions"),
    ];
    for (vendor, base, expected) in cases {
        let provider = build_vendor(vendor, settings(base)).unwrap();
        let url = encoder(provider.wire).call_url(&provider.base, "m");
        assert_eq!(url.as_str(), expected, "{vendor}");
    }
}

#[test]
fn every_vendor_can_be_built() {
    for profile in Vendors::builtin().iter() {
        let given = profile.base_url.is_none().then_some("http://localhost:1/v1");
        let provider = build(profile, settings(given), &Host::default()).unwrap();
        assert_eq!(provider.name(), profile.vendor);
    }
}

#[test]
fn invalid_settings_have_hints() {
    let hint = |error: BuildError| error.hint().unwrap();
    let no_key = ProviderSettings { api_key: None, ..settings(None) };
    let text = hint(build_vendor("anthropic", no_key).unwrap_err());
    assert!(text.contains("ANTHROPIC_API_KEY") && text.contains("https://"), "{text}");
    let address = |vendor: &str| hint(build_vendor(vendor, settings(None)).unwrap_err());
    assert!(address("custom").contains("`baseURL`, for example `http://localhost:8000/v1`"));
    let azure = address("azure");
    assert!(azure.contains("`AZURE_OPENAI_BASE_URL`"), "{azure}");
    assert!(
        azure.ends_with("for example `https://RESOURCE.openai.azure.com/openai/v1`"),
        "{azure}"
    );
    for invalid in ["ftp://x", "localhost:1234", "not a url"] {
        assert!(build_vendor("openai", settings(Some(invalid))).is_err(), "{invalid}");
    }
    let broken = ProviderSettings { api_key: Some(Secret::new("sk-a\nb")), ..settings(None) };
    let error = build_vendor("anthropic", broken).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("sk-a"), "{error:?}");
    let unknown_quirk = serde_json::from_value(json!({"unknown": 1})).unwrap();
    assert!(
        build_vendor("openai", ProviderSettings { quirks: unknown_quirk, ..settings(None) })
            .is_err()
    );
}

#[test]
fn invalid_network_settings_fail_at_build() {
    use crate::http::HttpClientOptions;
    let vendors = Vendors::builtin();
    let secret = "pass-word-1";
    let invalid = [
        HttpClientOptions {
            proxy: Some(format!("http://user:{secret}@bad host")),
            ..HttpClientOptions::default()
        },
        HttpClientOptions {
            certificates: vec![
                b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n".to_vec(),
            ],
            ..HttpClientOptions::default()
        },
    ];
    for transport in invalid {
        let host = Host::new(transport);
        let error = build(vendors.find("openai").unwrap(), settings(None), &host).unwrap_err();
        assert!(matches!(error, BuildError::Transport { .. }), "{error:?}");
        assert!(!format!("{error:?} {host:?}").contains(secret));
    }
}

#[test]
fn core_04_native_web_tools_can_be_enabled_where_supported() {
    let claude = build_vendor("anthropic", settings(None)).unwrap();
    assert_eq!(claude.capabilities().web_search, WebSupport::Supported);
    claude.configure_native_web(NativeWeb { search: true, fetch: false }).unwrap();
    assert_eq!(claude.capabilities().web_search, WebSupport::Enabled);
    claude.configure_native_web(NativeWeb { search: false, fetch: true }).unwrap();
    assert_eq!(claude.capabilities().web_fetch, WebSupport::Enabled);
    let openai = build_vendor("openai", settings(None)).unwrap();
    assert!(openai.configure_native_web(NativeWeb { search: false, fetch: true }).is_err());
    let local = build_vendor("ollama", settings(None)).unwrap();
    assert_eq!(local.capabilities().web_search, WebSupport::Unsupported);
    assert!(local.configure_native_web(NativeWeb { search: true, fetch: false }).is_err());
}

#[test]
fn core_04_capabilities_tell_what_each_service_can_do() {
    use WebSupport::{Supported, Unsupported};
    for (vendor, search, fetch) in [
        ("anthropic", Supported, Supported),
        ("openai", Supported, Unsupported),
        ("gemini", Supported, Supported),
        ("ollama", Unsupported, Unsupported),
        ("deepseek", Unsupported, Unsupported),
    ] {
        let found = build_vendor(vendor, settings(None)).unwrap().capabilities();
        let expected =
            Capabilities { function_calling: true, web_search: search, web_fetch: fetch };
        assert_eq!(found, expected, "{vendor}");
    }
}

#[tokio::test]
async fn core_04_native_web_tools_are_requested_per_call() {
    let claude = build_vendor("anthropic", settings(None)).unwrap();
    let tools = async |search, fetch| {
        let request = ModelRequest {
            native_web: NativeWeb { search, fetch },
            ..ModelRequest::new("claude-sonnet-5-5", View::default())
        };
        let body: Value = serde_json::from_slice(&claude.encoded(&request).await).unwrap();
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(tools(false, false).await.is_empty());
    assert_eq!(tools(true, false).await, ["web_search"]);
    assert_eq!(tools(true, true).await, ["web_search", "web_fetch"]);
    assert!(tools(false, false).await.is_empty(), "the next call has none again");
    let local = build_vendor("ollama", settings(None)).unwrap();
    let request = ModelRequest {
        native_web: NativeWeb { search: true, fetch: false },
        ..ModelRequest::new("m", View::default())
    };
    let refused = local.stream(request, CallContext::detached()).await.map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("no native web search"), "{refused}");
}

#[test]
fn debug_output_contains_no_key() {
    let secret = "sk-very-secret";
    let given = ProviderSettings {
        api_key: Some(Secret::new(secret)),
        base_url: Some(format!("https://user:{secret}@host.test/v1?key={secret}")),
        headers: vec![("x-token".into(), Secret::new(secret))],
        options: serde_json::from_value(json!({"extra": secret})).unwrap(),
        ..ProviderSettings::default()
    };
    let host = Host::default();
    let provider = build_vendor("openai", given.clone()).unwrap();
    let shown = format!(
        "{given:?} {provider:?} {host:?} {:?} {:?} {}",
        provider.headers,
        provider.scrub,
        provider.address()
    );
    assert!(!shown.contains(secret), "{shown}");
    assert_eq!(provider.address(), "https://host.test/v1");
    assert_eq!(provider.scrub.text(&format!("at {secret}")), "at [REDACTED]");
}

#[test]
fn beta_features_are_added_to_those_of_the_settings() {
    let with = |headers: &[&str], betas: &[&str]| ProviderSettings {
        headers: headers.iter().map(|it| ("Anthropic-Beta".into(), Secret::new(*it))).collect(),
        betas: betas.iter().map(|it| (*it).to_owned()).collect(),
        ..settings(None)
    };
    let sent = |vendor: &str, settings| {
        let provider = build_vendor(vendor, settings).unwrap();
        let sent = provider.headers.get(ANTHROPIC_BETA).cloned();
        sent.map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(sent("anthropic", with(&[], &[])), None);
    assert_eq!(sent("anthropic", with(&[], &["a", "b"])).as_deref(), Some("a,b"));
    assert_eq!(sent("anthropic", with(&["x, a"], &["a", "b"])).as_deref(), Some("x,a,b"));
    assert_eq!(sent("openai", with(&[], &["a"])), None, "other wires have no such header");
    assert!(build_vendor("anthropic", with(&[], &["a\nb"])).is_err());
}
