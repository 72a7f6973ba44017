//! What a kind of provider is, as data: how it is called, set up, asked for its models,
//! tested and built.
//!
//! Whoever knows a provider writes one [`ProviderDefinition`]; set-up, `/provider`, error
//! texts and the settings loader work with a list of them and never with a provider's name.
//! The definition is generic over what it builds, so that it can be written and tested
//! without a provider.
//!
//! ```
//! use std::sync::Arc;
//! use robota_core::env_ref::Secret;
//! use robota_core::provider::ProviderConfig;
//! use robota_providers::{ProviderDefinition, find_definition, format_supported};
//!
//! // What it builds is a text here, and `dyn Provider` in earnest.
//! let echo = ProviderDefinition::<str>::new("echo", "Echo", |config| {
//!     Ok(Arc::from(config.provider_type.as_str()))
//! });
//! let definitions = [echo.alias("parrot")];
//! let found = find_definition(&definitions, "Parrot").ok_or("not there")?;
//! let config =
//!     ProviderConfig { api_key: Some(Secret::new("k-1")), ..ProviderConfig::new("echo") };
//! assert_eq!(&*found.create(&config)?, "echo");
//! assert_eq!(format_supported(&definitions), "echo (parrot)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::provider::ProviderConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod models;
mod setup;

pub use models::{CatalogueStatus, ModelCatalogue, ModelEntry, Refreshed};
pub use setup::{CredentialRequirement, HelpLink, HelpLinkKind, SetupField, SetupPrompt};

/// Builds the provider from its settings. Does no I/O: reaching the service is the probe's.
pub type Factory<P> = Arc<dyn Fn(&ProviderConfig) -> Result<Arc<P>, ErrorData> + Send + Sync>;

/// Asks the provider which models there are.
pub type RefreshHook = Arc<
    dyn Fn(ProviderConfig) -> BoxFuture<'static, Result<ModelCatalogue, ErrorData>> + Send + Sync,
>;

/// Asks the provider whether these settings work.
pub type ProbeHook =
    Arc<dyn Fn(ProviderConfig) -> BoxFuture<'static, Result<ProbeReport, ErrorData>> + Send + Sync>;

/// What settings say when they say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderDefaults {
    /// The model.
    pub model: Option<String>,
    /// Where the service is.
    pub base_url: Option<String>,
    /// The environment variables that may hold the key, the preferred one first.
    pub api_key_env: Vec<String>,
    /// How long a request may take.
    pub timeout: Option<Duration>,
}

/// What a probe that reached the service found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// What it found, for people.
    pub message: String,
    /// The model that answered, when one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A kind of provider: plain data, and hooks for what data cannot do.
pub struct ProviderDefinition<P: ?Sized> {
    /// Its name in settings.
    pub provider_type: String,
    /// Other names it is found by.
    pub aliases: Vec<String>,
    /// Its name for people.
    pub display_name: String,
    /// What holds when settings say nothing.
    pub defaults: ProviderDefaults,
    /// What set-up asks, in this order.
    pub setup: Vec<SetupPrompt>,
    /// Where people get a key and read on.
    pub help_links: Vec<HelpLink>,
    /// Whether it needs a key.
    pub credential: CredentialRequirement,
    /// The models known without asking.
    pub models: ModelCatalogue,
    /// Asks for the models, where the provider can tell.
    pub refresh: Option<RefreshHook>,
    /// Tests settings, where that is possible.
    pub probe: Option<ProbeHook>,
    /// Builds the provider.
    pub factory: Factory<P>,
}

impl<P: ?Sized> ProviderDefinition<P> {
    /// A definition with nothing but its names and its factory; it needs a key.
    pub fn new(
        provider_type: impl Into<String>,
        display_name: impl Into<String>,
        factory: impl Fn(&ProviderConfig) -> Result<Arc<P>, ErrorData> + Send + Sync + 'static,
    ) -> Self {
        Self {
            provider_type: provider_type.into(),
            aliases: Vec::new(),
            display_name: display_name.into(),
            defaults: ProviderDefaults::default(),
            setup: Vec::new(),
            help_links: Vec::new(),
            credential: CredentialRequirement::default(),
            models: ModelCatalogue::default(),
            refresh: None,
            probe: None,
            factory: Arc::new(factory),
        }
    }

    /// The same definition with one more name to be found by.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// Whether this is its type.
    #[must_use]
    pub fn is_type(&self, name: &str) -> bool {
        self.provider_type.eq_ignore_ascii_case(name.trim())
    }

    /// Whether this is its type or one of its aliases, in any case.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.is_type(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name.trim()))
    }

    /// The link that helps best with set-up: to a key, else to a console, else to the
    /// official pages.
    #[must_use]
    pub fn preferred_help_link(&self) -> Option<&HelpLink> {
        HelpLinkKind::PREFERENCE
            .iter()
            .find_map(|kind| self.help_links.iter().find(|link| link.kind == *kind))
    }

    /// The settings with the gaps filled from the defaults. A key is not filled in: looking
    /// into the environment is not for this crate.
    #[must_use]
    pub fn with_defaults(&self, config: &ProviderConfig) -> ProviderConfig {
        let mut config = config.clone();
        config.model = config.model.or_else(|| self.defaults.model.clone());
        config.base_url = config.base_url.or_else(|| self.defaults.base_url.clone());
        config.timeout = config.timeout.or(self.defaults.timeout);
        config
    }

    /// Builds the provider from settings, gaps filled from the defaults.
    ///
    /// # Errors
    /// When a key is needed and missing, or the factory refuses.
    pub fn create(&self, config: &ProviderConfig) -> Result<Arc<P>, ErrorData> {
        let config = self.with_defaults(config);
        let has_key = config.api_key.as_ref().is_some_and(|key| !key.is_blank());
        match self.credential {
            CredentialRequirement::Required if !has_key => Err(self.missing_key()),
            CredentialRequirement::Required
            | CredentialRequirement::Optional
            | CredentialRequirement::None => (self.factory)(&config),
        }
    }

    /// Tests settings.
    ///
    /// # Errors
    /// When they do not work, or this provider cannot be tested.
    pub async fn probe(&self, config: &ProviderConfig) -> Result<ProbeReport, ErrorData> {
        match &self.probe {
            Some(probe) => probe(self.with_defaults(config)).await,
            None => Err(ErrorData::new(
                ErrorKind::Configuration,
                format!("{} cannot be tested without sending a prompt", self.display_name),
            )),
        }
    }

    /// Asks for the models. When that fails, or nobody can be asked, the models known
    /// without asking are returned, with the reason.
    pub async fn refresh_models(&self, config: &ProviderConfig) -> Refreshed {
        match &self.refresh {
            None => Refreshed { models: self.models.clone(), error: None },
            Some(refresh) => match refresh(self.with_defaults(config)).await {
                Ok(models) => Refreshed { models, error: None },
                Err(error) => {
                    Refreshed { models: self.models.clone().into_fallback(), error: Some(error) }
                }
            },
        }
    }

    fn missing_key(&self) -> ErrorData {
        let mut ways = Vec::new();
        if let Some(variable) = self.defaults.api_key_env.first() {
            ways.push(format!("set the environment variable `{variable}`"));
        }
        ways.push("put `apiKey` into the provider's settings".to_owned());
        let mut hint = ways.join(", or ");
        if let Some(link) = self.preferred_help_link() {
            hint.push_str(&format!("; {}: {}", link.label, link.url));
        }
        ErrorData::new(
            ErrorKind::Configuration,
            format!("{} needs an API key and none is set", self.display_name),
        )
        .with_hint(hint)
    }
}

// By hand: derived, they would ask the product to be `Clone` and `Debug`.
impl<P: ?Sized> Clone for ProviderDefinition<P> {
    fn clone(&self) -> Self {
        Self {
            provider_type: self.provider_type.clone(),
            aliases: self.aliases.clone(),
            display_name: self.display_name.clone(),
            defaults: self.defaults.clone(),
            setup: self.setup.clone(),
            help_links: self.help_links.clone(),
            credential: self.credential,
            models: self.models.clone(),
            refresh: self.refresh.clone(),
            probe: self.probe.clone(),
            factory: Arc::clone(&self.factory),
        }
    }
}

impl<P: ?Sized> fmt::Debug for ProviderDefinition<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderDefinition")
            .field("provider_type", &self.provider_type)
            .field("aliases", &self.aliases)
            .field("defaults", &self.defaults)
            .field("credential", &self.credential)
            .field("refresh", &self.refresh.is_some())
            .field("probe", &self.probe.is_some())
            .finish_non_exhaustive()
    }
}

/// The definition of this type or alias, in any case. A type wins over another's alias.
#[must_use]
pub fn find_definition<'a, P: ?Sized>(
    definitions: &'a [ProviderDefinition<P>],
    name: &str,
) -> Option<&'a ProviderDefinition<P>> {
    definitions
        .iter()
        .find(|definition| definition.is_type(name))
        .or_else(|| definitions.iter().find(|definition| definition.answers_to(name)))
}

/// The definition of this type or alias.
///
/// # Errors
/// When there is none; the error lists those there are.
pub fn require_definition<'a, P: ?Sized>(
    definitions: &'a [ProviderDefinition<P>],
    name: &str,
) -> Result<&'a ProviderDefinition<P>, ErrorData> {
    find_definition(definitions, name).ok_or_else(|| {
        let hint = match definitions {
            [] => "this program was built without any provider".to_owned(),
            _ => format!("supported: {}", format_supported(definitions)),
        };
        ErrorData::new(ErrorKind::Configuration, format!("unknown provider `{name}`"))
            .with_hint(hint)
    })
}

/// The types and aliases there are, for error texts: `alpha (a, al), beta`.
#[must_use]
pub fn format_supported<P: ?Sized>(definitions: &[ProviderDefinition<P>]) -> String {
    let names: Vec<_> = definitions
        .iter()
        .map(|definition| match definition.aliases.as_slice() {
            [] => definition.provider_type.clone(),
            aliases => format!("{} ({})", definition.provider_type, aliases.join(", ")),
        })
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
