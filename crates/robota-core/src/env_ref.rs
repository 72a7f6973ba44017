//! Secrets in settings, and references to the environment in their place.
//!
//! A key in a settings file is either the key itself or `$ENV:NAME`, which says where to find
//! it. [`SecretSource::parse`] tells the two apart once; everything after works with the
//! parsed value. The environment is never read here: whoever resolves brings the lookup.
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

/// What every reference to the environment starts with.
pub const ENV_REFERENCE_PREFIX: &str = "$ENV:";

/// Looks a variable up; `None` when it is not set. Injected, so that nothing here reads the
/// process' environment.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A secret. It cannot be printed by accident: `Debug` shows `[REDACTED]`, there is no
/// `Display` and no serialisation, and reading it has to be written out.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is anything in it: a key of nothing but white space opens no door.
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

/// A well-formed reference `$ENV:NAME`. Its `Display` is that text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnvRef {
    name: String,
}

impl EnvRef {
    /// A reference to the variable of this name.
    ///
    /// # Errors
    /// When the name is empty or no name of a variable.
    pub fn new(name: &str) -> Result<Self, EnvRefError> {
        if name.is_empty() {
            return Err(EnvRefError::EmptyName);
        }
        let odd = name.chars().enumerate().find(|&(at, letter)| {
            !(letter == '_' || letter.is_ascii_alphabetic() || (at > 0 && letter.is_ascii_digit()))
        });
        match odd {
            Some((at, letter)) => Err(EnvRefError::InvalidName { letter, position: at + 1 }),
            None => Ok(Self { name: name.to_owned() }),
        }
    }

    /// The variable's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variable's value.
    ///
    /// # Errors
    /// When the variable is not set, or set to nothing.
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

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// It stands in the settings as it is.
    Literal(Secret),
    /// It is in the environment.
    Env(EnvRef),
}

impl SecretSource {
    /// Reads a settings value. What does not start with [`ENV_REFERENCE_PREFIX`] is literal.
    ///
    /// # Errors
    /// When it is a reference whose name is empty or odd. A broken reference is never taken
    /// for a literal: it would be sent to a server as a key.
    pub fn parse(text: &str) -> Result<Self, EnvRefError> {
        match text.strip_prefix(ENV_REFERENCE_PREFIX) {
            Some(name) => EnvRef::new(name).map(Self::Env),
            None => Ok(Self::Literal(Secret::new(text))),
        }
    }

    /// The secret.
    ///
    /// # Errors
    /// When there is none: a blank literal, or a variable that is not set or empty.
    pub fn resolve(&self, lookup: Lookup<'_>) -> Result<Secret, EnvRefError> {
        match self {
            Self::Literal(secret) if secret.is_blank() => Err(EnvRefError::BlankLiteral),
            Self::Literal(secret) => Ok(secret.clone()),
            Self::Env(reference) => reference.resolve(lookup),
        }
    }
}

/// Whether a text is meant as a reference to the environment, well-formed or not.
#[must_use]
pub fn is_env_reference(text: &str) -> bool {
    text.starts_with(ENV_REFERENCE_PREFIX)
}

/// Whether a settings value leads to a secret that can be used: a literal with something in
/// it, or a reference to a variable with something in it.
#[must_use]
pub fn has_usable_secret(text: &str, lookup: Lookup<'_>) -> bool {
    SecretSource::parse(text).and_then(|source| source.resolve(lookup)).is_ok()
}

/// Why a settings value leads to no secret.
///
/// No message repeats what follows the prefix unless it is a proper variable name: people do
/// paste keys there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvRefError {
    /// `$ENV:` and nothing after it.
    #[error("`$ENV:` names no variable")]
    EmptyName,
    /// `$ENV:` and something that cannot name a variable.
    #[error(
        "what follows `$ENV:` is not the name of a variable: {letter:?} at character {position}"
    )]
    InvalidName {
        /// The first character that does not belong in a name.
        letter: char,
        /// Where it is, counted from 1 after the prefix.
        position: usize,
    },
    /// The variable is not set.
    #[error("the environment variable `{name}` is not set")]
    Unset {
        /// The variable.
        name: String,
    },
    /// The variable is set to nothing.
    #[error("the environment variable `{name}` is set, but empty")]
    Blank {
        /// The variable.
        name: String,
    },
    /// A literal with nothing in it.
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
