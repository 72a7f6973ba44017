//! The data of one kind of provider: its names, set-up questions, models, probe and factory.
//!
//! Each provider supplies one [`ProviderDefinition`]. Set-up, `/provider`, error messages and the
//! settings loader work with a list of definitions and never depend on a provider's name. The
//! definition is generic over what it builds, so that it can be written and tested without a
//! provider.
//!
//! ```
//! use std::sync::Arc;
//! use robota_core::env_ref::Secret;
//! use robota_core::provider::ProviderConfig;
//! use robota_providers::{ProviderDefinition, find_definition, format_supported};
//!
//! // This example builds a text. Real definitions build a `dyn Provider`.
//! let echo = ProviderDefinition::<str>::new("echo", "Echo", |config| {
//!     Ok(Arc::from(config.provider_type.as_str()))
//! });
//! let definitions = [echo.alias("parrot")];
//! let definition = find_definition(&definitions, "Parrot").ok_or("not found")?;
//! let config =
//!     ProviderConfig { api_key: Some(Secret::new("k-1")), ..ProviderConfig::new("echo") };
//! assert_eq!(&*definition.create(&config)?, "echo");
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

/// Builds the provider from its settings. It does no I/O; only the probe contacts the service.
pub type Factory<P> = Arc<dyn Fn(&ProviderConfig) -> Result<Arc<P>, ErrorData> + Send + Sync>;

/// Asks the service for its list of models.
pub type RefreshHook = Arc<
    dyn Fn(ProviderConfig) -> BoxFuture<'static, Result<ModelCatalogue, ErrorData>> + Send + Sync,
>;

/// Asks the service whether these settings work.
pub type ProbeHook =
    Arc<dyn Fn(ProviderConfig) -> BoxFuture<'static, Result<ProbeReport, ErrorData>> + Send + Sync>;

/// The values that apply when the settings do not set them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderDefaults {
    /// The model to use; `None` if the user must name one.
    pub model: Option<String>,
    /// The base URL of the service.
    pub base_url: Option<String>,
    /// The environment variables that may hold the key, in order of preference.
    pub api_key_env: Vec<String>,
    /// The time limit of one request.
    pub timeout: Option<Duration>,
}

/// The result of a probe that reached the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// A one-line summary for people.
    pub message: String,
    /// The model that answered; `None` if the probe called no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Describes a kind of provider: plain data, with hooks for what needs code.
pub struct ProviderDefinition<P: ?Sized> {
    /// The `type` of the provider in the settings.
    pub provider_type: String,
    /// Other names by which [`find_definition`] finds it.
    pub aliases: Vec<String>,
    /// The name to show to people.
    pub display_name: String,
    /// The values that apply when the settings do not set them.
    pub defaults: ProviderDefaults,
    /// The questions of set-up, in order.
    pub setup: Vec<SetupPrompt>,
    /// Pages where people get a key and documentation.
    pub help_links: Vec<HelpLink>,
    /// Whether the provider needs a key.
    pub credential: CredentialRequirement,
    /// The models that are known without a request.
    pub models: ModelCatalogue,
    /// Requests the list of models; `None` if the service has no such list.
    pub refresh: Option<RefreshHook>,
    /// Tests settings; `None` if the provider has no test.
    pub probe: Option<ProbeHook>,
    /// Builds the provider from settings that are already complete.
    pub factory: Factory<P>,
}

impl<P: ?Sized> ProviderDefinition<P> {
    /// Creates a definition that has only names and a factory, and requires a key.
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

    /// Adds another name by which users can select the provider.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// Returns whether `name` is the type of this provider, ignoring ASCII case.
    #[must_use]
    pub fn is_type(&self, name: &str) -> bool {
        self.provider_type.eq_ignore_ascii_case(name.trim())
    }

    /// Returns whether `name` is the type or an alias of this provider, ignoring ASCII case.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        self.is_type(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name.trim()))
    }

    /// Returns the most useful link for set-up: the page for keys, otherwise the console, otherwise
    /// the official pages.
    #[must_use]
    pub fn preferred_help_link(&self) -> Option<&HelpLink> {
        HelpLinkKind::PREFERENCE
            .iter()
            .find_map(|kind| self.help_links.iter().find(|link| link.kind == *kind))
    }

    /// Returns the settings with missing values filled from the defaults. The key is not filled in,
    /// because this crate does not read the environment.
    #[must_use]
    pub fn with_defaults(&self, config: &ProviderConfig) -> ProviderConfig {
        let mut config = config.clone();
        config.model = config.model.or_else(|| self.defaults.model.clone());
        config.base_url = config.base_url.or_else(|| self.defaults.base_url.clone());
        config.timeout = config.timeout.or(self.defaults.timeout);
        config
    }

    /// Builds the provider from the settings, with missing values filled from the defaults.
    ///
    /// # Errors
    /// When a required key is missing, or the factory fails.
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

    /// Tests the settings against the service.
    ///
    /// # Errors
    /// When the settings do not work, or this provider has no test.
    pub async fn probe(&self, config: &ProviderConfig) -> Result<ProbeReport, ErrorData> {
        match &self.probe {
            Some(probe) => probe(self.with_defaults(config)).await,
            None => Err(ErrorData::new(
                ErrorKind::Configuration,
                format!("{} cannot be tested without sending a prompt", self.display_name),
            )),
        }
    }

    /// Requests the list of models. If the request fails, or the service has no list, returns the
    /// models that are known without a request; after a failure with the error.
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
        let mut steps = Vec::new();
        if let Some(variable) = self.defaults.api_key_env.first() {
            steps.push(format!("set the environment variable `{variable}`"));
        }
        steps.push("put `apiKey` into the provider's settings".to_owned());
        let mut hint = steps.join(", or ");
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

// Not derived: derives would require `P: Clone` and `P: Debug`.
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

/// Finds a definition by type or alias, ignoring ASCII case. A type takes precedence over an alias.
#[must_use]
pub fn find_definition<'a, P: ?Sized>(
    definitions: &'a [ProviderDefinition<P>],
    name: &str,
) -> Option<&'a ProviderDefinition<P>> {
    definitions
        .iter()
        .find(|definition| definition.is_type(name))
        .or_else(|| definitions.iter().find(|definition| definition.matches_name(name)))
}

/// Finds a definition by type or alias, like [`find_definition`].
///
/// # Errors
/// When no definition matches; the error lists the supported names.
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

/// Lists the supported types and aliases for error messages: `alpha (a, al), beta`.
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
