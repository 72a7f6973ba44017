use std::sync::Mutex;

use robota_core::catalogue::Lifecycle;
use robota_core::env_ref::Secret;
use serde_json::json;

use super::*;

/// A product type that is unsized and neither `Clone` nor `Debug`, like `dyn Provider`.
trait Product: Send + Sync {
    fn config(&self) -> &ProviderConfig;
}

struct Built(ProviderConfig);

impl Product for Built {
    fn config(&self) -> &ProviderConfig {
        &self.0
    }
}

type Definition = ProviderDefinition<dyn Product>;

fn definition(name: &str) -> Definition {
    Definition::new(name, name.to_uppercase(), |config| Ok(Arc::new(Built(config.clone()))))
}

fn config() -> ProviderConfig {
    ProviderConfig { api_key: Some(Secret::new("sk-1")), ..ProviderConfig::new("alpha") }
}

fn link(kind: HelpLinkKind, label: &str) -> HelpLink {
    HelpLink { kind, label: label.to_owned(), url: format!("https://{label}.test") }
}

#[test]
fn core_05_found_by_type_or_alias_in_any_case() {
    let all = [definition("alpha").alias("al").alias("Beta"), definition("beta")];
    let type_of =
        |name| find_definition(&all, name).map(|definition| definition.provider_type.as_str());
    assert_eq!(type_of("alpha"), Some("alpha"));
    assert_eq!(type_of("ALPHA"), Some("alpha"));
    assert_eq!(type_of(" Al "), Some("alpha"));
    // The type `beta` takes precedence over the alias `Beta`, wherever it is in the list.
    assert_eq!(type_of("BETA"), Some("beta"));
    assert_eq!(type_of("gamma"), None);
    assert_eq!(type_of(""), None);
}

#[test]
fn core_05_an_unknown_provider_error_lists_the_supported_ones() {
    let all = [definition("alpha").alias("al").alias("a"), definition("beta")];
    assert_eq!(format_supported(&all), "alpha (al, a), beta");
    let error = require_definition(&all, "gamma").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Configuration);
    assert_eq!(error.message, "unknown provider `gamma`");
    assert_eq!(error.hint.as_deref(), Some("supported: alpha (al, a), beta"));
    assert!(require_definition(&all, "beta").is_ok());

    let none: [ProviderDefinition<dyn Product>; 0] = [];
    assert_eq!(format_supported(&none), "");
    assert!(require_definition(&none, "x").unwrap_err().hint.unwrap().contains("without any"));
}

#[test]
fn core_05_the_factory_receives_settings_with_defaults() {
    let mut definition = definition("alpha");
    definition.defaults = ProviderDefaults {
        model: Some("m-1".to_owned()),
        base_url: Some("https://alpha.test".to_owned()),
        api_key_env: vec!["ALPHA_KEY".to_owned()],
        timeout: Some(Duration::from_secs(60)),
    };
    let options = json!({"nested": {"list": [1, null]}, "x": 1.5}).as_object().unwrap().clone();
    let given = ProviderConfig {
        base_url: Some("http://localhost:1".to_owned()),
        options: options.clone(),
        ..config()
    };
    let built = definition.create(&given).unwrap();
    let config = built.config();
    assert_eq!(config.model.as_deref(), Some("m-1"));
    assert_eq!(config.base_url.as_deref(), Some("http://localhost:1"), "settings win");
    assert_eq!(config.timeout, Some(Duration::from_secs(60)));
    assert_eq!(config.options, options, "passed through unchanged");
}

#[test]
fn core_05_a_missing_key_fails_before_the_factory_runs() {
    let mut definition = Definition::new("alpha", "Alpha", |_| panic!("must not be reached"));
    definition.defaults.api_key_env = vec!["ALPHA_KEY".to_owned(), "OLD_KEY".to_owned()];
    definition.help_links = vec![link(HelpLinkKind::ApiKey, "keys")];
    for api_key in [None, Some(Secret::new("")), Some(Secret::new("  "))] {
        let config = ProviderConfig { api_key, ..config() };
        let error = definition.create(&config).err().unwrap();
        assert_eq!(error.message, "Alpha needs an API key and none is set");
        assert_eq!(
            error.hint.as_deref(),
            Some(
                "set the environment variable `ALPHA_KEY`, or put `apiKey` into the provider's \
                 settings; keys: https://keys.test"
            )
        );
    }
}

#[test]
fn core_05_a_provider_without_keys_needs_none() {
    for credential in [CredentialRequirement::Optional, CredentialRequirement::None] {
        let definition = ProviderDefinition { credential, ..definition("alpha") };
        assert!(definition.create(&ProviderConfig::new("alpha")).is_ok());
    }
    assert_eq!(CredentialRequirement::default(), CredentialRequirement::Required);
}

#[test]
fn core_05_the_most_helpful_link_is_preferred() {
    let mut definition = definition("alpha");
    assert_eq!(definition.preferred_help_link(), None);
    let links = [
        link(HelpLinkKind::Official, "docs"),
        link(HelpLinkKind::Console, "console"),
        link(HelpLinkKind::ApiKey, "keys"),
    ];
    for added in links {
        definition.help_links.push(added.clone());
        assert_eq!(definition.preferred_help_link(), Some(&added));
    }
    assert_eq!(serde_json::to_value(HelpLinkKind::ApiKey).unwrap(), json!("api-key"));
}

#[test]
fn core_05_retired_models_are_not_offered() {
    let entry = |id: &str, lifecycle| ModelEntry { lifecycle, ..ModelEntry::new(id) };
    let models = ModelCatalogue {
        entries: vec![
            entry("new", Lifecycle::Active),
            entry("soon", Lifecycle::Preview),
            entry("old", Lifecycle::Legacy),
            entry("ending", Lifecycle::Deprecated),
            entry("gone", Lifecycle::Retired),
        ],
        ..ModelCatalogue::default()
    };
    let ids: Vec<_> = models.selectable().map(ModelEntry::label).collect();
    assert_eq!(ids, ["new", "soon", "old", "ending"]);
}

fn fallback_catalogue() -> ModelCatalogue {
    ModelCatalogue {
        source: "built in".to_owned(),
        status: CatalogueStatus::Generated,
        verified_at: Some(jiff::civil::date(2026, 10, 7)),
        source_url: Some("https://alpha.test/models".to_owned()),
        entries: vec![ModelEntry::new("m-1")],
    }
}

#[tokio::test]
async fn core_05_refreshing_asks_the_provider_with_the_effective_settings() {
    let requested_url = Arc::new(Mutex::new(None));
    let mut definition = definition("alpha");
    definition.defaults.base_url = Some("https://alpha.test".to_owned());
    definition.models = fallback_catalogue();
    assert_eq!(
        definition.refresh_models(&config()).await,
        Refreshed { models: fallback_catalogue(), error: None },
        "no list to request"
    );

    let live = ModelCatalogue {
        status: CatalogueStatus::Live,
        entries: vec![ModelEntry::new("m-2")],
        ..fallback_catalogue()
    };
    let (answer, asked) = (live.clone(), Arc::clone(&requested_url));
    definition.refresh = Some(Arc::new(move |config| {
        *asked.lock().unwrap() = config.base_url;
        let answer = answer.clone();
        Box::pin(async move { Ok(answer) })
    }));
    assert_eq!(
        definition.clone().refresh_models(&config()).await,
        Refreshed { models: live, error: None }
    );
    assert_eq!(requested_url.lock().unwrap().as_deref(), Some("https://alpha.test"));
}

#[tokio::test]
async fn core_05_a_failed_refresh_falls_back_and_reports_the_error() {
    let failure = ErrorData::new(ErrorKind::Network, "no route");
    let error = failure.clone();
    let mut definition = definition("alpha");
    definition.models = fallback_catalogue();
    definition.refresh = Some(Arc::new(move |_| {
        let error = error.clone();
        Box::pin(async move { Err(error) })
    }));
    let refreshed = definition.refresh_models(&config()).await;
    assert_eq!(refreshed.error, Some(failure));
    assert_eq!(refreshed.models.status, CatalogueStatus::Fallback);
    assert_eq!(refreshed.models.entries, fallback_catalogue().entries);

    definition.models = ModelCatalogue::default();
    let refreshed = definition.refresh_models(&config()).await;
    assert_eq!(refreshed.models.status, CatalogueStatus::Unavailable);
}

#[tokio::test]
async fn core_05_probing() {
    let mut definition = definition("alpha");
    let error = definition.probe(&config()).await.unwrap_err();
    assert!(error.message.contains("ALPHA"), "{error}");

    definition.defaults.model = Some("m-1".to_owned());
    definition.probe = Some(Arc::new(|config: ProviderConfig| {
        Box::pin(async move {
            Ok(ProbeReport { message: "it answers".to_owned(), model: config.model })
        })
    }));
    let report = definition.probe(&config()).await.unwrap();
    assert_eq!(report.model.as_deref(), Some("m-1"));
}

#[test]
fn core_05_neither_key_nor_options_are_printed() {
    let mut config = config();
    config.options.insert("headers".to_owned(), json!({"authorization": "Bearer t0ken"}));
    let shown = format!("{config:?} {config:#?} {:?}", definition("alpha"));
    assert!(!shown.contains("sk-1") && !shown.contains("t0ken"), "{shown}");
    assert!(shown.contains("[REDACTED]") && shown.contains("headers"), "{shown}");
}

#[test]
fn core_05_only_the_key_prompt_is_secret() {
    let prompt =
        |field| SetupPrompt { field, question: "?".to_owned(), default: None, required: true };
    assert!(prompt(SetupField::ApiKey).is_secret());
    for field in [SetupField::Model, SetupField::BaseUrl, SetupField::Option("x".to_owned())] {
        assert!(!prompt(field).is_secret());
    }
}

#[test]
fn core_05_catalogues_as_json() {
    let value = json!({
        "source": "built in", "status": "generated", "verified_at": "2026-10-07",
        "source_url": "https://alpha.test/models",
        "entries": [{"id": "m-1", "lifecycle": "active"}]
    });
    assert_eq!(serde_json::to_value(fallback_catalogue()).unwrap(), value);
    assert_eq!(serde_json::from_value::<ModelCatalogue>(value).unwrap(), fallback_catalogue());
}
