//! Errors in scripts.

use std::fmt;

use crate::error::{Diagnose, ErrorKind};

/// A script that cannot be parsed: where, what is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    place: Option<(u64, u64)>,
    message: String,
}

impl ScriptError {
    pub(super) fn at(place: Option<(u64, u64)>, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    /// Returns the line of the script, from 1, if the error has one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.place.map(|(line, _)| line)
    }

    /// Returns what is wrong, without the position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(f, "invalid script at line {line}, column {column}: {}", self.message)
            }
            None => write!(f, "invalid script: {}", self.message),
        }
    }
}

impl std::error::Error for ScriptError {}

impl Diagnose for ScriptError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Validation
    }

    fn hint(&self) -> Option<String> {
        Some("see docs/scripted.md, which shows every key with an example".to_owned())
    }
}
