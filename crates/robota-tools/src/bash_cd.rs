//! Where a command line has gone to, told by bash itself when it ends.
//!
//! Only command lines that may change directory are run this way; all others are run as they
//! are. The mark is written to the output and taken out of it again.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;

use robota_exec::{Captured, CommandSpec, ExecError, ShellCommand};

/// The mark of one call.
pub(crate) struct Follow {
    mark: String,
}

impl Follow {
    /// For a command line that may change directory. One that moves its own output elsewhere
    /// is not followed: the mark would go there too.
    pub(crate) fn of(command: &str) -> Option<Self> {
        let words = || command.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let moves = words().any(|word| matches!(word, "cd" | "pushd" | "popd" | "source" | "."));
        let redirects = words().any(|word| word == "exec");
        (moves && !redirects).then(|| {
            // Seeded by the system, differently each time.
            let mut hash = std::collections::hash_map::RandomState::new().build_hasher();
            hash.write(command.as_bytes());
            Self { mark: format!("\u{1e}{:016x}:", hash.finish()) }
        })
    }

    pub(crate) fn mark(&self) -> String {
        self.mark.clone()
    }

    /// The command line, run so that it tells where it ends.
    pub(crate) fn wrap(
        &self,
        command: &str,
        shell: ShellCommand,
    ) -> Result<CommandSpec, ExecError> {
        let mark = self.mark.trim_start_matches('\u{1e}');
        let script = format!(
            "trap 'printf \"\\036{mark}\"; pwd -P' EXIT; __robota=$1; shift; eval \"$__robota\""
        );
        let mut spec = shell.into_spec()?;
        // The last argument is the command line itself.
        spec.args.pop();
        Ok(spec.args([script.as_str(), "bash", command]))
    }

    /// Takes the mark out of the output, and what it tells.
    pub(crate) fn take(&self, output: &mut Captured) -> Option<PathBuf> {
        let mark = self.mark.as_bytes();
        let buffer = if output.tail.is_empty() { &mut output.head } else { &mut output.tail };
        let at = buffer.windows(mark.len()).rposition(|window| window == mark)?;
        let line = &buffer[at + mark.len()..];
        let end = line.iter().position(|byte| *byte == b'\n')?;
        let dir = String::from_utf8(line[..end].to_vec()).ok().map(PathBuf::from);
        buffer.drain(at..at + mark.len() + end + 1);
        dir
    }
}
