//! Finds the directory in which a command line ended: bash prints it after a marker when it exits.
//!
//! Only command lines that may change the directory are run this way. The marker is removed from the
//! output again.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;

use robota_exec::{Captured, CommandSpec, ExecError, ShellCommand};

/// The marker of one call.
pub(crate) struct CwdTracker {
    marker: String,
}

impl CwdTracker {
    /// Returns a tracker if the command line may change the directory. `None` also if it uses
    /// `exec`, which may redirect the output and the marker with it.
    pub(crate) fn of(command: &str) -> Option<Self> {
        let words = || command.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let may_change =
            words().any(|word| matches!(word, "cd" | "pushd" | "popd" | "source" | "."));
        let may_redirect = words().any(|word| word == "exec");
        (may_change && !may_redirect).then(|| {
            // The hasher is seeded randomly, so a command cannot predict the marker.
            let mut hash = std::collections::hash_map::RandomState::new().build_hasher();
            hash.write(command.as_bytes());
            Self { marker: format!("\u{1e}{:016x}:", hash.finish()) }
        })
    }

    pub(crate) fn marker(&self) -> String {
        self.marker.clone()
    }

    /// Returns the program that runs the command line and prints the marker and the directory.
    pub(crate) fn wrap(
        &self,
        command: &str,
        shell: ShellCommand,
    ) -> Result<CommandSpec, ExecError> {
        let marker = self.marker.trim_start_matches('\u{1e}');
        let script = format!(
            // `eval` keeps the command line in the shell whose directory is asked for; a subshell
            // would have its own.
            "trap 'printf \"\\036{marker}\"; pwd -P' EXIT; __robota=$1; shift; eval \"$__robota\""
        );
        let mut spec = shell.into_spec()?;
        // The last argument is the command line itself.
        spec.args.pop();
        Ok(spec.args([script.as_str(), "bash", command]))
    }

    /// Removes the marker and the directory from the output, and returns the directory.
    pub(crate) fn take(&self, output: &mut Captured) -> Option<PathBuf> {
        let marker = self.marker.as_bytes();
        let buffer = if output.tail.is_empty() { &mut output.head } else { &mut output.tail };
        // The last one: a command that prints its own script, as with `set -x`, shows the marker
        // before.
        let at = buffer.windows(marker.len()).rposition(|window| window == marker)?;
        let line = &buffer[at + marker.len()..];
        let end = line.iter().position(|byte| *byte == b'\n')?;
        let dir = String::from_utf8(line[..end].to_vec()).ok().map(PathBuf::from);
        buffer.drain(at..at + marker.len() + end + 1);
        dir
    }
}
