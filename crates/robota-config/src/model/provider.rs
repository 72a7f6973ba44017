//! Provider profiles.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a provider may be silent when its profile does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// How to reach a model. Fields of several files are put together one by one.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderProfile {
    /// Which kind of provider.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The key, or `$ENV:NAME` for the variable that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Where the service is.
    #[serde(rename = "baseURL", skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How long it may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<std::num::NonZeroU64>,
    /// What only this provider understands.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The one provider of older versions: a profile whose kind may be called `name`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LegacyProvider {
    /// Which kind of provider, by its old name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The rest.
    #[serde(flatten)]
    pub profile: ProviderProfile,
}

impl fmt::Debug for ProviderProfile {
    /// Shows neither the key nor any option's value: people put tokens and headers there.
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
