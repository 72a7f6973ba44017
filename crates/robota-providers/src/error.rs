//! The errors of building a provider.

use robota_core::error::{Diagnose, ErrorKind};

/// Says why a provider cannot be built or a vendor cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No vendor has this name or alias.
    #[error("unknown provider `{name}`")]
    UnknownVendor {
        /// The name that was requested, as the user wrote it.
        name: String,
        /// The supported names, formatted for the hint.
        supported: String,
    },
    /// The description of a vendor is invalid.
    #[error("the vendor `{name}` is invalid: {reason}")]
    Profile {
        /// The `type` of the vendor, as its file has it.
        name: String,
        /// Which field is not valid, and why, for people.
        reason: String,
    },
    /// The vendor has no default address, and the settings have none.
    #[error("{vendor} needs the address of its server and none is set")]
    NoBaseUrl {
        /// The display name of the vendor.
        vendor: String,
        /// The ways to set the address, formatted for the hint.
        hint: String,
    },
    /// The base URL cannot be used.
    #[error("the address of {vendor} is invalid: {reason}")]
    BaseUrl {
        /// The display name of the vendor.
        vendor: String,
        /// What is wrong with the address.
        reason: String,
        /// The ways to set the address, formatted for the hint.
        hint: String,
    },
    /// No variable of the environment names a provider.
    #[error("no API key of a known provider is set in the environment")]
    NoVendor {
        /// The variables that were tried, separated by commas.
        variables: String,
    },
    /// Only services of other companies are configured.
    #[error("the model `{model}` is made by {makers}, and only {configured} is configured")]
    ModelOfAnotherVendor {
        /// The model that was requested, without a vendor.
        model: String,
        /// The display names of its makers.
        makers: String,
        /// The variables that configure them; empty if no vendor of theirs is known.
        variables: String,
        /// The display names of the vendors that are configured.
        configured: String,
    },
    /// Several configured services may have the model.
    #[error("several configured providers may have the model `{model}`")]
    AmbiguousModel {
        /// The model that was requested, without a vendor.
        model: String,
        /// The model with each of the vendors, for the hint.
        choices: String,
    },
    /// The vendor requires a key, and none is set.
    #[error("{vendor} needs an API key and none is set")]
    NoKey {
        /// The display name of the vendor.
        vendor: String,
        /// The ways to set a key, formatted for the hint.
        hint: String,
    },
    /// The credentials of the vendor cannot be used.
    #[error("the credentials of {vendor} cannot be used: {reason}")]
    Credentials {
        /// The display name of the vendor.
        vendor: String,
        /// Why no credentials can be made of the settings.
        reason: String,
    },
    /// A key or a header contains characters that HTTP headers do not allow.
    #[error("{what} of {vendor} has characters that cannot be sent in a header")]
    Header {
        /// The display name of the vendor.
        vendor: String,
        /// The key or header that cannot be sent, for example "the key".
        what: String,
    },
    /// The settings name no model, and the vendor has no default.
    #[error("no model is chosen for {vendor}")]
    NoModel {
        /// The display name of the vendor.
        vendor: String,
    },
    /// The value of a provider option is invalid.
    #[error("the option `{option}` of {vendor} is invalid: {reason}")]
    Option {
        /// The display name of the vendor.
        vendor: String,
        /// The name of the option, as in the settings.
        option: String,
        /// What is invalid; never the value, which may be a key.
        reason: String,
    },
    /// The proxy or the certificates cannot be used.
    #[error("the network settings are invalid: {reason}")]
    Transport {
        /// What is invalid, without the proxy's password.
        reason: String,
    },
}

impl Diagnose for BuildError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownVendor { supported, .. } => format!("supported: {supported}"),
            Self::NoKey { hint, .. } => hint.clone(),
            Self::NoVendor { variables } => format!("set one of {variables}"),
            Self::ModelOfAnotherVendor { variables, .. } => {
                let key = match variables.as_str() {
                    "" => String::new(),
                    variables => format!("set {variables}, or "),
                };
                format!(
                    "{key}name the service that has the model: `--provider NAME` or \
                     `--model NAME/MODEL`"
                )
            }
            Self::AmbiguousModel { choices, .. } => format!("name one of them: {choices}"),
            Self::NoModel { .. } => {
                "name one with `--model`, or as `model` in the provider's settings".to_owned()
            }
            Self::NoBaseUrl { hint, .. } | Self::BaseUrl { hint, .. } => hint.clone(),
            Self::Profile { .. } | Self::Option { .. } => {
                "correct it in the settings; docs/providers.md lists the fields".to_owned()
            }
            Self::Credentials { .. } => {
                "docs/providers.md lists the variables of each cloud".to_owned()
            }
            Self::Header { .. } => {
                "check it for line breaks and other characters that are not allowed".to_owned()
            }
            Self::Transport { .. } => {
                "check the proxy and the certificates in the settings".to_owned()
            }
        })
    }
}
