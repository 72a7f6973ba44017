//! Errors of using and writing settings. Loading has none: it reports problems instead.

use std::path::PathBuf;

use robota_core::env_ref::EnvRefError;
use robota_core::error::{Diagnose, ErrorKind};

/// Says why settings cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// `currentProvider` names a profile that does not exist.
    #[error("{origin}: `currentProvider` is `{name}`, but there is no profile `providers.{name}`")]
    NoProfile {
        /// The value of `currentProvider`.
        name: String,
        /// The file and line that set it.
        origin: String,
        /// The names of the existing profiles.
        known: Vec<String>,
    },
    /// The profile in use has no `type`.
    #[error("provider profile `{name}` has no `type`")]
    NoType {
        /// The name of the profile under `providers`.
        name: String,
    },
    /// The `apiKey` of the profile in use cannot be resolved.
    #[error("cannot resolve `apiKey` of provider profile `{name}`")]
    ApiKey {
        /// The name of the profile under `providers`.
        name: String,
        /// Why it cannot be resolved.
        #[source]
        source: EnvRefError,
    },
    /// The file must not be written, for example because it is not valid.
    #[error("did not change {}: {reason}", file.display())]
    Refused {
        /// The file that stays as it is.
        file: PathBuf,
        /// Why it must not be written.
        reason: String,
    },
    /// The key cannot be set to the value.
    #[error("cannot set `{key}`: {reason}")]
    Key {
        /// The path of the key, such as `permissions.allow`.
        key: String,
        /// Why it cannot be set.
        reason: String,
    },
    /// A folder is no plugin or marketplace that can be used.
    #[error("cannot use {}: {reason}", path.display())]
    Plugin {
        /// The folder, as the user named it.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// There is no home folder, or no working folder.
    #[error("{0}")]
    NoPlace(&'static str),
    /// A file could not be read or written.
    #[error("cannot {action} {}", file.display())]
    Io {
        /// What was tried, as a verb: `read`, `write`.
        action: &'static str,
        /// The file or folder that it failed for.
        file: PathBuf,
        /// The error of the operating system.
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
            Self::Refused { .. } | Self::NoPlace(_) | Self::Plugin { .. } => {
                ErrorKind::Configuration
            }
            Self::Key { .. } => ErrorKind::Validation,
            Self::Io { .. } => ErrorKind::Storage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoProfile { known, .. } if known.is_empty() => {
                "add a profile under `providers`; there is none yet".to_owned()
            }
            Self::NoProfile { known, .. } => format!("use one of: {}", known.join(", ")),
            Self::NoType { name } => {
                format!("set `providers.{name}.type`, for example to `anthropic` or `openai`")
            }
            Self::ApiKey { source, .. } => return source.hint(),
            Self::Refused { .. } => "fix the file, then retry".to_owned(),
            Self::Plugin { .. } => "docs/plugins.md describes the folder of a plugin".to_owned(),
            Self::Key { .. } => "see docs/settings.md for the keys and their values".to_owned(),
            Self::NoPlace(_) => "set HOME, or use another settings file".to_owned(),
            Self::Io { .. } => "check the permissions of the file and its folder".to_owned(),
        })
    }
}
