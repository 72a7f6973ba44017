//! What can go wrong when something is asked for. Loading is not among it: it reports.

use std::path::PathBuf;

use robota_core::env_ref::EnvRefError;
use robota_core::error::{Diagnose, ErrorKind};

/// Why settings could not be used or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The profile in use does not exist.
    #[error("`currentProvider` ({origin}) is `{name}`, but there is no such profile")]
    NoProfile {
        /// What it is.
        name: String,
        /// Where it is set.
        origin: String,
        /// The profiles there are.
        known: Vec<String>,
    },
    /// The profile in use does not say what it is.
    #[error("the provider profile `{name}` has no `type`")]
    NoType {
        /// The profile.
        name: String,
    },
    /// The profile's key leads nowhere.
    #[error("`apiKey` of the provider profile `{name}` cannot be used")]
    ApiKey {
        /// The profile.
        name: String,
        /// Why.
        #[source]
        source: EnvRefError,
    },
    /// The file may not be written to.
    #[error("{} is not changed: {reason}", file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The key cannot be set.
    #[error("`{key}` cannot be set: {reason}")]
    Key {
        /// The key.
        key: String,
        /// Why.
        reason: String,
    },
    /// There is no home folder, or no working folder.
    #[error("{0}")]
    NoPlace(&'static str),
    /// A file could not be read or written.
    #[error("cannot {action} {}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        file: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
}

impl Diagnose for ConfigError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoProfile { .. } | Self::NoType { .. } | Self::ApiKey { .. } => {
                ErrorKind::Configuration
            }
            Self::Refused { .. } | Self::NoPlace(_) => ErrorKind::Configuration,
            Self::Key { .. } => ErrorKind::Validation,
            Self::Io { .. } => ErrorKind::Storage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoProfile { known, .. } if known.is_empty() => {
                "there are no profiles; add one under `providers`".to_owned()
            }
            Self::NoProfile { known, .. } => format!("use one of: {}", known.join(", ")),
            Self::NoType { name } => {
                format!("set `providers.{name}.type`, for example to `anthropic` or `openai`")
            }
            Self::ApiKey { source, .. } => return source.hint(),
            Self::Refused { .. } => "put the file in order, then try again".to_owned(),
            Self::Key { .. } => "see docs/settings.md for the keys and what they hold".to_owned(),
            Self::NoPlace(_) => "set HOME, or name the file to use".to_owned(),
            Self::Io { .. } => "check that the file may be read and written".to_owned(),
        })
    }
}
