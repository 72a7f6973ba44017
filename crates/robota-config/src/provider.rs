//! The provider profile in use.

use std::time::Duration;

use robota_core::env_ref::{Lookup, SecretSource};
use robota_core::provider::ProviderConfig;

use crate::error::ConfigError;
use crate::model::{DEFAULT_TIMEOUT, ProviderProfile};
use crate::path::KeyPath;
use crate::settings::Settings;

/// Holds the provider profile that the settings select. Its key is not resolved yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveProvider {
    /// The name of the profile; `provider` for the key `provider` of older versions.
    pub name: String,
    /// The `type` of the profile: a vendor.
    pub kind: String,
    /// The model; none for the vendor's default.
    pub model: Option<String>,
    /// How long the provider may send nothing before a call fails.
    pub timeout: Duration,
    /// The profile of all layers, merged field by field.
    pub profile: ProviderProfile,
}

impl Settings {
    /// Returns the profile that `currentProvider` names, else the `provider` of older versions, else
    /// none.
    ///
    /// # Errors
    /// If the profile does not exist or has no type.
    pub fn provider(&self) -> Result<Option<ActiveProvider>, ConfigError> {
        match (&self.values.current_provider, &self.values.provider) {
            (Some(name), _) => self
                .profile(name)?
                .map_or_else(|| Err(self.no_profile(name)), |found| Ok(Some(found))),
            (None, Some(legacy)) => {
                let kind = legacy.profile.kind.clone().or_else(|| legacy.name.clone());
                self.active("provider", kind, &legacy.profile).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the profile with this name; none if there is none.
    ///
    /// # Errors
    /// If the profile has no type.
    pub fn profile(&self, name: &str) -> Result<Option<ActiveProvider>, ConfigError> {
        let profile = self.values.providers.get(name);
        profile.map(|profile| self.active(name, profile.kind.clone(), profile)).transpose()
    }

    /// Returns the environment variables that provider profiles use as their keys.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let legacy = self.values.provider.iter().map(|legacy| &legacy.profile);
        let profiles = self.values.providers.values().chain(legacy);
        let source =
            |profile: &ProviderProfile| match SecretSource::parse(profile.api_key.as_deref()?)
                .ok()?
            {
                SecretSource::Env(variable) => Some(variable.name().to_owned()),
                // A key in the settings is in no variable that commands could inherit.
                SecretSource::Literal(_) => None,
            };
        profiles.filter_map(source).collect()
    }

    fn active(
        &self,
        name: &str,
        kind: Option<String>,
        profile: &ProviderProfile,
    ) -> Result<ActiveProvider, ConfigError> {
        let name = name.to_owned();
        let kind = kind.ok_or_else(|| ConfigError::NoType { name: name.clone() })?;
        Ok(ActiveProvider {
            name,
            kind,
            // The profile's own model comes first: another profile may have other models.
            model: profile.model.clone().or_else(|| self.values.model.clone()),
            timeout: profile
                .timeout
                .map_or(DEFAULT_TIMEOUT, |millis| Duration::from_millis(millis.get())),
            profile: profile.clone(),
        })
    }

    fn no_profile(&self, name: &str) -> ConfigError {
        let key = KeyPath(vec!["currentProvider".to_owned()]);
        let set_by = self.explain(&key).into_iter().flat_map(|explanation| explanation.set_by);
        ConfigError::NoProfile {
            name: name.to_owned(),
            origin: set_by.map(|origin| origin.to_string()).next().unwrap_or_default(),
            known: self.values.providers.keys().cloned().collect(),
        }
    }
}

impl ActiveProvider {
    /// Returns the configuration for the provider's factory, with the key resolved.
    ///
    /// # Errors
    /// If `apiKey` is blank or refers to a variable that is not set.
    pub fn config(&self, lookup: Lookup<'_>) -> Result<ProviderConfig, ConfigError> {
        let api_key = match &self.profile.api_key {
            Some(text) => {
                let key = SecretSource::parse(text).and_then(|source| source.resolve(lookup));
                let fail = |source| ConfigError::ApiKey { name: self.name.clone(), source };
                Some(key.map_err(fail)?)
            }
            None => None,
        };
        Ok(ProviderConfig {
            provider_type: self.kind.clone(),
            model: self.model.clone(),
            api_key,
            base_url: self.profile.base_url.clone(),
            timeout: Some(self.timeout),
            options: self.profile.options.clone(),
        })
    }
}
