//! Runs git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use robota_exec::{CommandSpec, Environment, Exit, Limits, Outcome};
use tokio_util::sync::CancellationToken;

use super::{WorktreeError, Worktrees};

/// The most bytes of output: the names of more than half a million files. A longer list of changes is a
/// change all the same.
const LIMIT: usize = 64 * 1024 * 1024;

/// Settings of every call: programs that a repository names do not run, and a worktree gets a log of HEAD,
/// which git then continues whatever the repository says: a commit that was left behind is found there.
const SETTINGS: [&str; 4] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "core.logAllRefUpdates=always",
];

/// The commands that neither read nor write files of a worktree. All others can run filters:
/// `write-tree` does, for files that changed when the index was written.
const NO_FILES: [&str; 6] =
    ["branch", "commit-tree", "for-each-ref", "reflog", "rev-parse", "update-ref"];

impl Worktrees {
    /// Runs git in a folder and returns its standard output.
    pub(super) async fn git(&self, cwd: &Path, args: &[&str]) -> Result<String, WorktreeError> {
        self.git_with(cwd, args, Environment::new()).await
    }

    /// Runs git with further variables, and without the filters of the repository.
    pub(super) async fn git_with(
        &self,
        cwd: &Path,
        args: &[&str],
        variables: Environment,
    ) -> Result<String, WorktreeError> {
        let mut variables = variables;
        if !args.first().is_some_and(|command| NO_FILES.contains(command)) {
            for (name, value) in self.without_filters(cwd).await? {
                variables.set(name, value);
            }
        }
        let outcome = self.run(cwd, args, &variables).await?;
        match outcome.exit {
            Exit::Code(0) => Ok(outcome.stdout.text()),
            _ => Err(failed(args, message(&outcome))),
        }
    }

    /// Returns the variables that replace the filters of the repository's own configuration with those
    /// of the user, or with none: git would run them for files that it checks out or compares.
    async fn without_filters(&self, cwd: &Path) -> Result<Vec<(String, String)>, WorktreeError> {
        let list = ["config", "--show-scope", "-z", "--get-regexp", r"^filter\."];
        let outcome = self.run(cwd, &list, &Environment::new()).await?;
        match outcome.exit {
            Exit::Code(0) => Ok(replacements(&outcome.stdout.text())),
            // There is no filter.
            Exit::Code(1) => Ok(Vec::new()),
            _ => Err(failed(&list, message(&outcome))),
        }
    }

    async fn run(
        &self,
        cwd: &Path,
        args: &[&str],
        variables: &Environment,
    ) -> Result<Outcome, WorktreeError> {
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
        outcome.map_err(|error| failed(args, error.to_string()))
    }
}

/// Returns the variables that undo the settings of the repository in this list: scope, key and value.
fn replacements(list: &str) -> Vec<(String, String)> {
    let mut users = BTreeMap::new();
    let mut own = BTreeSet::new();
    let mut parts = list.split('\0');
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        match scope {
            "system" | "global" => drop(users.insert(key, value)),
            _ => drop(own.insert(key)),
        }
    }
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), own.len().to_string())];
    for (at, key) in own.into_iter().enumerate() {
        // An empty command is no filter, and an empty flag is false.
        let value = users.get(key).copied().unwrap_or_default();
        variables.push((format!("GIT_CONFIG_KEY_{at}"), key.to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), value.to_owned()));
    }
    variables
}

fn failed(args: &[&str], message: String) -> WorktreeError {
    let action = args.iter().take(2).copied().collect::<Vec<_>>().join(" ");
    WorktreeError::Git { action, message }
}

fn message(outcome: &Outcome) -> String {
    let text = outcome.stderr.text();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let text = lines.take(3).collect::<Vec<_>>().join("; ");
    if text.is_empty() { format!("{:?}", outcome.exit) } else { text }
}
