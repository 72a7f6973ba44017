//! The environment variables of a child process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::redact::is_secret_variable;

/// Holds all environment variables of a child. The child inherits nothing from this process.
///
/// Clones share the variables until one of them is changed. The `Debug` output has only the names,
/// because values may be secrets.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    /// Creates an environment without variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a variable; an earlier value is replaced.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        Arc::make_mut(&mut self.0).insert(name.into(), value.into());
    }

    /// Removes a variable, if there is one of this name.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        Arc::make_mut(&mut self.0).remove(name.as_ref());
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Iterates over all variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Removes the variables that can make bash run other code than the given command, or parse the
    /// command differently.
    #[must_use]
    pub fn for_bash(mut self) -> Self {
        Arc::make_mut(&mut self.0).retain(|name, _| !affects_bash(name));
        self
    }

    /// Removes the variables that contain secrets: those with the name of a secret
    /// ([`is_secret_variable`]), and the given ones. Variables that `pass` names are kept; `*` keeps
    /// all.
    #[must_use]
    pub fn without_secrets(mut self, secrets: &[String], pass: &[String]) -> Self {
        Arc::make_mut(&mut self.0).retain(|name, _| {
            let name = name.to_string_lossy();
            let secret = is_secret_variable(&name) || secrets.iter().any(|other| *other == name);
            !secret || pass.iter().any(|pass| pass == "*" || *pass == name)
        });
        self
    }

    /// Finds a program of this name in `PATH`. Relative entries of `PATH` are ignored: with them the
    /// working directory of a command would decide which program runs.
    #[must_use]
    pub fn find_program(&self, name: &OsStr) -> Option<PathBuf> {
        std::env::split_paths(self.get("PATH")?)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(name))
            .find(|path| is_program(path))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(Arc::new(variables.collect()))
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn affects_bash(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    // BASH_ENV and ENV name a file that bash runs first, the options change how it parses, and
    // BASH_FUNC_name%% defines a function that can replace any command.
    matches!(name, b"BASH_ENV" | b"ENV" | b"SHELLOPTS" | b"BASHOPTS")
        || name.starts_with(b"BASH_FUNC_")
}

/// Returns whether the path is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        metadata.is_file()
    }
}

#[cfg(test)]
mod tests;
