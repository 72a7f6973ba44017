//! The settings of one provider, as its factory gets them.

use std::fmt;
use std::time::Duration;

use crate::env_ref::Secret;

/// The settings of one provider, read and resolved. `Debug` shows neither the key nor any
/// option's value: people put tokens and headers there.
#[derive(Clone, PartialEq)]
pub struct ProviderConfig {
    /// Which kind of provider.
    pub provider_type: String,
    /// Which model; absent for the definition's default.
    pub model: Option<String>,
    /// The key, resolved.
    pub api_key: Option<Secret>,
    /// Where the service is; absent for the definition's default.
    pub base_url: Option<String>,
    /// How long a request may take; absent for the definition's default.
    pub timeout: Option<Duration>,
    /// What only this provider understands. Passed through untouched.
    pub options: serde_json::Map<String, serde_json::Value>,
}

impl ProviderConfig {
    /// Settings that say nothing but the kind.
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
