//! Runs git.

use std::path::Path;

use robota_exec::{CommandSpec, Environment, Exit, Limits, Outcome};
use tokio_util::sync::CancellationToken;

use super::{WorktreeError, Worktrees};

/// The most bytes of output. A longer list of changes is a change all the same.
const LIMIT: usize = 8 * 1024 * 1024;

/// Settings of every call: programs that a repository names do not run.
const SETTINGS: [&str; 3] =
    ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false"];

impl Worktrees {
    /// Runs git in a folder and returns its standard output.
    pub(super) async fn git(&self, cwd: &Path, args: &[&str]) -> Result<String, WorktreeError> {
        self.git_with(cwd, args, Environment::new()).await
    }

    /// Runs git with further variables.
    pub(super) async fn git_with(
        &self,
        cwd: &Path,
        args: &[&str],
        variables: Environment,
    ) -> Result<String, WorktreeError> {
        let action = args.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        let failed = |message: String| WorktreeError::Git { action: action.clone(), message };
        let mut environment = self.environment.clone();
        for (name, value) in variables.iter() {
            environment.set(name, value);
        }
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let spec = CommandSpec::new("git", cwd)
            .args(settings.chain(args.iter().copied()))
            .env(environment)
            .limits(Limits { head: LIMIT, tail: 0 });
        // Not cancelled: what is begun is finished or undone.
        let outcome = self.supervisor.run(spec, &CancellationToken::new()).await;
        let outcome = outcome.map_err(|error| failed(error.to_string()))?;
        match outcome.exit {
            Exit::Code(0) => Ok(outcome.stdout.text()),
            _ => Err(failed(message(&outcome))),
        }
    }
}

fn message(outcome: &Outcome) -> String {
    let text = outcome.stderr.text();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let text = lines.take(3).collect::<Vec<_>>().join("; ");
    if text.is_empty() { format!("{:?}", outcome.exit) } else { text }
}
