//! Command lines, run by bash and nothing else: it is the shell whose grammar the permission
//! rules parse.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::env::{Environment, is_program};
use crate::error::ExecError;
use crate::spec::CommandSpec;

/// Where bash is looked for when the environment's `PATH` does not lead to it.
const USUAL_PLACES: [&str; 4] =
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];

/// A command line for bash.
#[derive(Debug, Clone)]
pub struct ShellCommand {
    command: OsString,
    cwd: PathBuf,
    env: Environment,
}

impl ShellCommand {
    /// A command line to run in a directory, with an empty environment.
    pub fn new(command: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self { command: command.into(), cwd: cwd.into(), env: Environment::new() }
    }

    /// The same with this environment.
    #[must_use]
    pub fn env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// The program to start: `bash --noprofile --norc -c COMMAND`, with nothing in the
    /// environment that could make bash run something else first.
    ///
    /// # Errors
    /// If there is no bash.
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
