//! Why a provider cannot be built.

use robota_core::error::{Diagnose, ErrorKind};

/// Why a provider cannot be built, or a vendor not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Nobody is called that.
    #[error("unknown provider `{name}`")]
    UnknownVendor {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A vendor's file is wrong.
    #[error("the vendor `{name}` is described wrongly: {reason}")]
    Profile {
        /// Which one.
        name: String,
        /// Why.
        reason: String,
    },
    /// There is no address.
    #[error("{vendor} needs the address of its server and none is set")]
    NoBaseUrl {
        /// Whose.
        vendor: String,
    },
    /// The address is none.
    #[error("the address of {vendor} is not usable: {reason}")]
    BaseUrl {
        /// Whose.
        vendor: String,
        /// Why.
        reason: String,
    },
    /// No variable of the environment names a provider.
    #[error("no API key of a known provider is set in the environment")]
    NoVendor {
        /// The variables that were tried.
        variables: String,
    },
    /// A key is needed and there is none.
    #[error("{vendor} needs an API key and none is set")]
    NoKey {
        /// Whose.
        vendor: String,
        /// What to do.
        ways: String,
    },
    /// A key or a header has characters that cannot be sent.
    #[error("{what} of {vendor} has characters that cannot be sent in a header")]
    Header {
        /// Whose.
        vendor: String,
        /// Which.
        what: String,
    },
    /// No model is named, and the vendor has no default.
    #[error("no model is chosen for {vendor}")]
    NoModel {
        /// Whose.
        vendor: String,
    },
    /// An option is wrong.
    #[error("the option `{option}` of {vendor} is wrong: {reason}")]
    Option {
        /// Whose.
        vendor: String,
        /// Which.
        option: String,
        /// Why.
        reason: String,
    },
    /// The network settings cannot work.
    #[error("the network settings do not work: {reason}")]
    Transport {
        /// Why.
        reason: String,
    },
}

impl Diagnose for BuildError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownVendor { known, .. } => format!("supported: {known}"),
            Self::NoKey { ways, .. } => ways.clone(),
            Self::NoVendor { variables } => format!("set one of {variables}"),
            Self::NoModel { .. } => {
                "name one with `--model`, or as `model` in the provider's settings".to_owned()
            }
            Self::NoBaseUrl { .. } | Self::BaseUrl { .. } => {
                "set the provider's `baseURL`, for example `http://localhost:8000/v1`".to_owned()
            }
            Self::Profile { .. } | Self::Option { .. } => {
                "correct it in the settings; docs/providers.md lists the fields".to_owned()
            }
            Self::Header { .. } => {
                "look for a line break or another odd character in it".to_owned()
            }
            Self::Transport { .. } => {
                "check the proxy and the certificates of the settings".to_owned()
            }
        })
    }
}
