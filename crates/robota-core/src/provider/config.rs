//! The settings of one provider, as its factory receives them.

use std::fmt;
use std::time::Duration;

use crate::env_ref::Secret;

/// Holds the settings of one provider, parsed and resolved. `Debug` shows neither the key nor the
/// values of options, since users put tokens and headers there.
#[derive(Clone, PartialEq)]
pub struct ProviderConfig {
    /// The type of provider, by which its definition is found.
    pub provider_type: String,
    /// The model's id; `None` uses the default of the provider's definition.
    pub model: Option<String>,
    /// The resolved API key; `None` if the provider needs none.
    pub api_key: Option<Secret>,
    /// The base URL of the service; `None` uses the definition's default.
    pub base_url: Option<String>,
    /// The request timeout; `None` uses the definition's default.
    pub timeout: Option<Duration>,
    /// Options that only this provider understands, passed on unchanged.
    pub options: serde_json::Map<String, serde_json::Value>,
}

impl ProviderConfig {
    /// Creates settings with nothing but the type.
    pub fn new(provider_type: impl Into<String>) -> Self {
        Self {
            provider_type: provider_type.into(),
            model: None,
            api_key: None,
            base_url: None,
            timeout: None,
            options: serde_json::Map::new(),
        }
    }
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<_> = self.options.keys().collect();
        f.debug_struct("ProviderConfig")
            .field("provider_type", &self.provider_type)
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("base_url", &self.base_url)
            .field("timeout", &self.timeout)
            .field("options", &options)
            .finish()
    }
}
