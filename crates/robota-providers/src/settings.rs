//! The settings of one provider.

use std::fmt;
use std::time::Duration;

use robota_core::env_ref::Secret;
use robota_core::provider::ProviderConfig;
use serde_json::{Map, Value};

use crate::error::BuildError;
use crate::profile::{Auth, Wire};

/// What a program says about a provider beyond its vendor's profile. What is left out is as the
/// profile says.
#[derive(Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// The model when a request names none.
    pub model: Option<String>,
    /// The key.
    pub api_key: Option<Secret>,
    /// Where the service is.
    pub base_url: Option<String>,
    /// How long it may be silent. The turn's driver has a limit of its own.
    pub timeout: Option<Duration>,
    /// Another wire than the profile's.
    pub wire: Option<Wire>,
    /// Another way to send the key.
    pub auth: Option<Auth>,
    /// Headers beside the profile's. They may be secret, so they are treated as such.
    pub headers: Vec<(String, Secret)>,
    /// Fields of [`Quirks`](crate::Quirks) that differ, as in a vendor's file.
    pub quirks: Map<String, Value>,
    /// Put into every request as they are, except `effort`, which each wire says in its way.
    pub options: Map<String, Value>,
}

impl ProviderSettings {
    /// Reads the settings of a profile: its options are split into those for us (`api`, `auth`,
    /// `headers`, `quirks`) and those for the service.
    ///
    /// # Errors
    /// When one of ours is wrong.
    pub fn from_config(config: &ProviderConfig) -> Result<Self, BuildError> {
        let wrong = |option: &str, reason: String| BuildError::Option {
            vendor: config.provider_type.clone(),
            option: option.to_owned(),
            reason,
        };
        let mut options = config.options.clone();
        let wire = match options.shift_remove("api") {
            None => None,
            Some(api) => {
                let names = Wire::ALL.map(Wire::name).join(", ");
                let wire = api.as_str().and_then(Wire::parse);
                Some(wire.ok_or_else(|| wrong("api", format!("it must be one of {names}")))?)
            }
        };
        let auth = match options.shift_remove("auth") {
            None => None,
            Some(auth) => {
                let auth = serde_json::from_value(auth);
                Some(auth.map_err(|error| wrong("auth", error.to_string()))?)
            }
        };
        let mut headers = Vec::new();
        match options.shift_remove("headers") {
            None => {}
            Some(Value::Object(all)) => {
                for (name, value) in all {
                    let Value::String(value) = value else {
                        return Err(wrong("headers", format!("`{name}` must be a text")));
                    };
                    headers.push((name, Secret::new(value)));
                }
            }
            Some(_) => return Err(wrong("headers", "it must be an object of texts".to_owned())),
        }
        let quirks = match options.shift_remove("quirks") {
            None => Map::new(),
            Some(Value::Object(quirks)) => quirks,
            Some(_) => return Err(wrong("quirks", "it must be an object".to_owned())),
        };
        Ok(Self {
            model: config.model.clone(),
            api_key: config.api_key.clone(),
            base_url: config.base_url.clone(),
            timeout: config.timeout,
            wire,
            auth,
            headers,
            quirks,
            options,
        })
    }
}

impl fmt::Debug for ProviderSettings {
    /// Shows neither the key nor any value of headers and options: people put tokens there. Nor
    /// the address' query and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let options: Vec<_> = self.options.keys().collect();
        let url = self.base_url.as_deref().and_then(|url| url::Url::parse(url).ok());
        f.debug_struct("ProviderSettings")
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("base_url", &url.as_ref().map(crate::http::place))
            .field("timeout", &self.timeout)
            .field("wire", &self.wire)
            .field("auth", &self.auth)
            .field("headers", &headers)
            .field("options", &options)
            .finish_non_exhaustive()
    }
}
