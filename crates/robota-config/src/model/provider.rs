//! Provider profiles.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a provider may send nothing before a call fails, if its profile sets no `timeout`.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A provider profile: how to reach a model. Profiles of several files are merged field by field.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderProfile {
    /// The vendor, such as `anthropic` or `openai`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The model; that of the key `model` or the vendor's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The API key, or `$ENV:NAME` for the variable that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The base URL of the service.
    #[serde(rename = "baseURL", skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How long the provider may send nothing before a call fails, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<std::num::NonZeroU64>,
    /// Options that are passed to the provider unchanged.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The provider of older versions: a profile whose `type` may be called `name`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LegacyProvider {
    /// The vendor, as older versions called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The other fields, as in a profile.
    #[serde(flatten)]
    pub profile: ProviderProfile,
}

impl fmt::Debug for ProviderProfile {
    /// Shows neither the key nor the values of options, which may hold tokens and headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<_> = self.options.keys().chain(self.other.keys()).collect();
        f.debug_struct("ProviderProfile")
            .field("kind", &self.kind)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[REDACTED]"))
            .field("base_url", &self.base_url)
            .field("timeout", &self.timeout)
            .field("options", &options)
            .finish()
    }
}
