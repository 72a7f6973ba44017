//! The settings of one provider.

use std::fmt;
use std::time::Duration;

use robota_core::env_ref::Secret;
use robota_core::provider::ProviderConfig;
use serde_json::{Map, Value};

use crate::credentials::Credentials;
use crate::error::BuildError;
use crate::profile::{Auth, Wire};

/// Holds the settings of a provider beyond its vendor's profile. The profile supplies values that
/// are not set.
#[derive(Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// The model to use when a request names none.
    pub model: Option<String>,
    /// The API key; none if credentials take its place, or the service needs none.
    pub api_key: Option<Secret>,
    /// Credentials that take the place of a key.
    pub credentials: Option<Credentials>,
    /// The base URL of the service.
    pub base_url: Option<String>,
    /// How long the service may send nothing. The turn's driver has its own limit.
    pub timeout: Option<Duration>,
    /// The wire to use instead of the profile's.
    pub wire: Option<Wire>,
    /// How to send the key, instead of the profile's way.
    pub auth: Option<Auth>,
    /// Headers in addition to the profile's. Their values are treated as secrets.
    pub headers: Vec<(String, Secret)>,
    /// Beta features of the wire Anthropic Messages, sent in the header `anthropic-beta` together with
    /// those of `headers`. Other wires have none.
    pub betas: Vec<String>,
    /// Fields of [`Quirks`](crate::Quirks) to override, as in a vendor's file.
    pub quirks: Map<String, Value>,
    /// Fields to add to every request body unchanged, except `effort`, which each wire encodes in
    /// its own way.
    pub options: Map<String, Value>,
}

impl ProviderSettings {
    /// Reads the settings of a provider. Splits its options into those of this crate (`api`,
    /// `auth`, `headers`, `quirks`) and those for the service.
    ///
    /// # Errors
    /// When one of this crate's options is invalid.
    pub fn from_config(config: &ProviderConfig) -> Result<Self, BuildError> {
        let invalid = |option: &str, reason: String| BuildError::Option {
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
                Some(wire.ok_or_else(|| invalid("api", format!("it must be one of {names}")))?)
            }
        };
        let auth = match options.shift_remove("auth") {
            None => None,
            Some(auth) => {
                let auth = serde_json::from_value(auth);
                Some(auth.map_err(|error| invalid("auth", error.to_string()))?)
            }
        };
        let mut headers = Vec::new();
        match options.shift_remove("headers") {
            None => {}
            Some(Value::Object(all)) => {
                for (name, value) in all {
                    let Value::String(value) = value else {
                        return Err(invalid("headers", format!("`{name}` must be a string")));
                    };
                    headers.push((name, Secret::new(value)));
                }
            }
            Some(_) => {
                return Err(invalid("headers", "it must be an object of strings".to_owned()));
            }
        }
        let quirks = match options.shift_remove("quirks") {
            None => Map::new(),
            Some(Value::Object(quirks)) => quirks,
            Some(_) => return Err(invalid("quirks", "it must be an object".to_owned())),
        };
        Ok(Self {
            model: config.model.clone(),
            api_key: config.api_key.clone(),
            credentials: None,
            base_url: config.base_url.clone(),
            timeout: config.timeout,
            wire,
            auth,
            headers,
            betas: Vec::new(),
            quirks,
            options,
        })
    }
}

impl fmt::Debug for ProviderSettings {
    /// Omits the key, all values of headers and options, and the query and password of the address:
    /// users put tokens there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let options: Vec<_> = self.options.keys().collect();
        let url = self.base_url.as_deref().and_then(|url| url::Url::parse(url).ok());
        f.debug_struct("ProviderSettings")
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("base_url", &url.as_ref().map(crate::http::display_address))
            .field("timeout", &self.timeout)
            .field("wire", &self.wire)
            .field("auth", &self.auth)
            .field("headers", &headers)
            .field("options", &options)
            .finish_non_exhaustive()
    }
}
