//! Secrets in settings, and references to environment variables.
//!
//! A key in a settings file is either the key itself or `$ENV:NAME`, the name of a variable that
//! contains it. [`SecretSource::parse`] distinguishes the two once; all later code uses the parsed
//! value. This module never reads the environment: the caller provides the lookup.
//!
//! ```
//! use robota_core::env_ref::{SecretSource, has_usable_secret};
//!
//! let lookup = |name: &str| (name == "API_KEY").then(|| "k-123".to_owned());
//! let secret = SecretSource::parse("$ENV:API_KEY")?.resolve(&lookup)?;
//! assert_eq!(secret.expose(), "k-123");
//! assert!(!has_usable_secret("$ENV:OTHER", &lookup));
//! # Ok::<(), robota_core::env_ref::EnvRefError>(())
//! ```

use std::fmt;

use crate::error::{Diagnose, ErrorKind};

/// A text that starts with this refers to an environment variable.
pub const ENV_REFERENCE_PREFIX: &str = "$ENV:";

/// Looks up a variable; returns `None` if it is not set. The caller provides it, so that this
/// module does not read the environment of the process.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Keeps a secret from being printed by accident: `Debug` shows `[REDACTED]`, there is no `Display`
/// and no serialisation, and reading it requires a call of [`Secret::expose`]. It cannot be printed
/// by accident: `Debug` shows `[REDACTED]`, there is no `Display` and no serialisation, and reading
/// it requires a call of [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret, so that it is not printed with `{:?}`.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// Returns the secret, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if the secret is empty or only white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

/// Refers to an environment variable as `$ENV:NAME`, where the name is valid. Its `Display` is that
/// text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnvRef {
    name: String,
}

impl EnvRef {
    /// Creates a reference to the variable of this name.
    ///
    /// # Errors
    /// When the name is empty or not a valid variable name.
    pub fn new(name: &str) -> Result<Self, EnvRefError> {
        if name.is_empty() {
            return Err(EnvRefError::EmptyName);
        }
        let invalid = name.chars().enumerate().find(|&(at, letter)| {
            !(letter == '_' || letter.is_ascii_alphabetic() || (at > 0 && letter.is_ascii_digit()))
        });
        match invalid {
            Some((at, letter)) => Err(EnvRefError::InvalidName { letter, position: at + 1 }),
            None => Ok(Self { name: name.to_owned() }),
        }
    }

    /// Returns the name of the variable, without the prefix `$ENV:`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the variable's value.
    ///
    /// # Errors
    /// When the variable is not set, or is blank.
    pub fn resolve(&self, lookup: Lookup<'_>) -> Result<Secret, EnvRefError> {
        let secret = lookup(&self.name)
            .map(Secret)
            .ok_or_else(|| EnvRefError::Unset { name: self.name.clone() })?;
        if secret.is_blank() {
            return Err(EnvRefError::Blank { name: self.name.clone() });
        }
        Ok(secret)
    }
}

impl fmt::Display for EnvRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ENV_REFERENCE_PREFIX}{}", self.name)
    }
}

/// Where a secret comes from: the settings contain it, or name a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// The settings contain the secret itself.
    Literal(Secret),
    /// An environment variable contains the secret.
    Env(EnvRef),
}

impl SecretSource {
    /// Parses a settings value. A text without [`ENV_REFERENCE_PREFIX`] is literal.
    ///
    /// # Errors
    /// When it is a reference with an empty or invalid name. An invalid reference is never treated
    /// as a literal: it would be sent to a server as a key.
    pub fn parse(text: &str) -> Result<Self, EnvRefError> {
        match text.strip_prefix(ENV_REFERENCE_PREFIX) {
            Some(name) => EnvRef::new(name).map(Self::Env),
            None => Ok(Self::Literal(Secret::new(text))),
        }
    }

    /// Returns the secret.
    ///
    /// # Errors
    /// When there is none: a blank literal, or a variable that is not set or blank.
    pub fn resolve(&self, lookup: Lookup<'_>) -> Result<Secret, EnvRefError> {
        match self {
            Self::Literal(secret) if secret.is_blank() => Err(EnvRefError::BlankLiteral),
            Self::Literal(secret) => Ok(secret.clone()),
            Self::Env(reference) => reference.resolve(lookup),
        }
    }
}

/// Returns true if a text is meant as a reference to the environment, valid or not.
#[must_use]
pub fn is_env_reference(text: &str) -> bool {
    text.starts_with(ENV_REFERENCE_PREFIX)
}

/// Returns true if a settings value leads to a usable secret: a literal or a variable that is not
/// blank.
#[must_use]
pub fn has_usable_secret(text: &str, lookup: Lookup<'_>) -> bool {
    SecretSource::parse(text).and_then(|source| source.resolve(lookup)).is_ok()
}

/// Why a settings value leads to no secret.
///
/// No message repeats what follows the prefix unless it is a valid variable name: users paste keys
/// there by mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvRefError {
    /// `$ENV:` with nothing after it.
    #[error("`$ENV:` is not followed by the name of a variable")]
    EmptyName,
    /// `$ENV:` with something that is not a valid variable name.
    #[error(
        "what follows `$ENV:` is not a valid variable name: {letter:?} at character {position}"
    )]
    InvalidName {
        /// The first character that is not allowed in a name.
        letter: char,
        /// Its position, from 1, after the prefix.
        position: usize,
    },
    /// The process has no variable of this name.
    #[error("the environment variable `{name}` is not set")]
    Unset {
        /// The name of the variable that the settings refer to.
        name: String,
    },
    /// The variable is set, but blank.
    #[error("the environment variable `{name}` is set, but empty")]
    Blank {
        /// The name of the variable that the settings refer to.
        name: String,
    },
    /// The settings contain an empty text, or only spaces, as the secret.
    #[error("the key is empty")]
    BlankLiteral,
}

impl Diagnose for EnvRefError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::EmptyName | Self::InvalidName { .. } => {
                "write `$ENV:NAME` with the name of an environment variable: letters, digits \
                 and `_`, not starting with a digit, no spaces"
                    .to_owned()
            }
            Self::Unset { name } | Self::Blank { name } => {
                format!("set it in the shell that starts the program: `export {name}=...`")
            }
            Self::BlankLiteral => {
                "give the key, or `$ENV:NAME` to take it from the environment".to_owned()
            }
        })
    }
}

#[cfg(test)]
mod tests;
