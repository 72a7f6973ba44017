//! Git worktrees for agents (RUN-05). A worktree is removed only if nothing can be lost: nothing is
//! uncommitted or untracked, HEAD never moved, no submodule was checked out, and no other worktree is in
//! its folder. Otherwise it is kept and reported. Files that git ignores are not looked at, as git itself does.

mod agents;
mod clean;
mod error;
mod git;
mod leftovers;
mod listing;
mod manage;
mod prepare;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::ids::{Ids, RandomIds};
use robota_exec::{Environment, Supervisor};

pub use agents::{NoWorktreeHooks, WorktreeAgents, WorktreeHooks};
pub use clean::Change;
pub use error::WorktreeError;
pub use manage::{ListedWorktree, Removed};

/// The folder of worktrees in a repository.
const FOLDER: [&str; 2] = [".robota", "worktrees"];

/// The first part of the names of their branches.
const BRANCH: &str = "robota/";

/// The file of a worktree's git folder that has the commit it began with.
const BASE: &str = "robota-base";

/// The first part of the names of temporary index files, before the id of the process.
const INDEX: &str = "robota-index-";

/// A git worktree in which an agent works on a branch of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The absolute path of its folder.
    pub path: PathBuf,
    /// The branch that is checked out there, which begins with `robota/`.
    pub branch: String,
    /// The commit at which its branch began.
    pub base: String,
    /// The top folder of the repository it belongs to; for a bare one, the git folder.
    pub repository: PathBuf,
    /// The folder in it that corresponds to the folder it was made for.
    pub cwd: PathBuf,
}

/// Makes, inspects and removes worktrees with the program `git`. Clones share the lock that keeps
/// concurrent creations apart.
#[derive(Clone)]
pub struct Worktrees {
    supervisor: Supervisor,
    environment: Environment,
    ids: Arc<dyn Ids>,
    one_at_a_time: Arc<tokio::sync::Mutex<()>>,
}

impl Worktrees {
    /// Runs git with this environment. Variables that redirect git are removed.
    #[must_use]
    pub fn new(supervisor: Supervisor, environment: &Environment) -> Self {
        let is_git = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("GIT_");
        let kept = environment.iter().filter(|(name, _)| !is_git(name));
        let environment: Environment =
            kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let environment = environment.with("GIT_TERMINAL_PROMPT", "0").with("LC_ALL", "C");
        Self { supervisor, environment, ids: Arc::new(RandomIds), one_at_a_time: Arc::default() }
    }
}

fn folder(repository: &Path) -> PathBuf {
    FOLDER.iter().fold(repository.to_owned(), |path, name| path.join(name))
}
