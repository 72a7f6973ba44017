//! Command lines. They are always run by bash, because the permission rules parse the grammar of
//! bash.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::env::{Environment, is_program};
use crate::error::ExecError;
use crate::spec::CommandSpec;

/// Where bash is searched if it is not in the environment's `PATH`.
const USUAL_PLACES: [&str; 4] =
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];

/// A command line for bash, which runs without the user's start files.
#[derive(Debug, Clone)]
pub struct ShellCommand {
    command: OsString,
    cwd: PathBuf,
    env: Environment,
}

impl ShellCommand {
    /// Creates a command line that runs in a directory, with an empty environment.
    pub fn new(command: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self { command: command.into(), cwd: cwd.into(), env: Environment::new() }
    }

    /// Sets the environment of the command; nothing of this process is inherited.
    #[must_use]
    pub fn env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// Returns the program to start: `bash --noprofile --norc -c COMMAND`. Variables that could make
    /// bash run other code first are removed from the environment.
    ///
    /// # Errors
    /// If bash is not found.
    pub fn into_spec(self) -> Result<CommandSpec, ExecError> {
        self.spec_with(&USUAL_PLACES)
    }

    fn spec_with(self, usual_places: &[&str]) -> Result<CommandSpec, ExecError> {
        let bash = self
            .env
            .find_program(OsStr::new("bash"))
            .or_else(|| usual_places.iter().map(PathBuf::from).find(|path| is_program(path)))
            .ok_or_else(|| ExecError::BashMissing {
                path: self.env.get("PATH").map(OsStr::to_owned).unwrap_or_default(),
            })?;
        Ok(self.with_bash(&bash))
    }

    fn with_bash(self, bash: &Path) -> CommandSpec {
        CommandSpec::new(bash, self.cwd)
            .args(["--noprofile", "--norc", "-c"])
            .args([self.command])
            .env(self.env.for_bash())
    }
}

#[cfg(test)]
mod tests;
