//! Folders that join or leave the workspace while a session runs: the sandbox of commands that start
//! later follows them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::error::error_chain;
use robota_core::sandbox::Fence;
use robota_exec::sandbox::{Confinement, SandboxSupport, SharedConfinement};

use super::fence_of;
use crate::project::Project;

/// Keeps the sandbox of a session in step with the folders of its workspace.
pub(crate) struct SandboxFolders {
    confinement: SharedConfinement,
    support: SandboxSupport,
    project: Arc<Project>,
    /// The rules at the start of the session.
    first: Fence,
    /// The real folder of each additional folder, found when it was added; none for one that did not
    /// exist at the start. A command that replaces it by a link must not move the sandbox.
    real: Mutex<BTreeMap<PathBuf, Option<PathBuf>>>,
}

impl SandboxFolders {
    /// Follows the folders from the start of a session on.
    pub(super) fn new(
        confinement: SharedConfinement,
        support: SandboxSupport,
        project: Arc<Project>,
    ) -> Self {
        let first = confinement.current().boundaries().fence.clone();
        let workspace = project.workspace();
        let found = |dir: &PathBuf| (dir.clone(), workspace.cwd.join(dir).canonicalize().ok());
        let real = Mutex::new(workspace.additional.iter().map(found).collect());
        Self { confinement, support, project, first, real }
    }

    /// Gives commands that start from now on these additional folders. The rest of the sandbox stays:
    /// its level, what it hides and protects, and the network.
    ///
    /// # Errors
    /// If a folder does not exist, or the system cannot enforce the new rules. Then nothing changes.
    pub(crate) fn follow(&self, folders: &[PathBuf]) -> Result<(), String> {
        let mut known = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        let mut real = known.clone();
        let mut workspace = self.project.workspace();
        for folder in folders.iter().filter(|folder| !known.contains_key(*folder)) {
            let found = workspace.cwd.join(folder).canonicalize();
            let found = found.map_err(|error| problem(folder, &error.to_string()))?;
            if !found.is_dir() {
                return Err(problem(folder, "it is no folder"));
            }
            real.insert(folder.clone(), Some(found));
        }
        let used = folders.iter().filter_map(|folder| real.get(folder));
        let used: BTreeSet<_> = used.flatten().cloned().collect();
        workspace.additional = used.iter().cloned().collect();
        let mut fence = fence_of(self.first.level, &self.project, &workspace);
        self.keep_first(&mut fence, &used);
        let of_start = &self.first.writable;
        let allowed = |path: &PathBuf| of_start.contains(path) || used.contains(path);
        let is_own = |path: &PathBuf| *path == workspace.cwd || used.contains(path);
        // A writable path of the settings that did not exist at the start stays out, as it does for the
        // commands so far.
        fence
            .writable
            .retain(|path| is_own(path) || path.canonicalize().is_ok_and(|real| allowed(&real)));
        let confinement = Confinement::new(fence, &self.support)
            .map_err(|error| format!("the sandbox cannot change: {}", error_chain(&error)))?;
        // The rules were resolved again. What a command moved or replaced since must not be in them.
        let writable = &confinement.boundaries().fence.writable;
        if let Some(other) = writable.iter().find(|path| !allowed(path)) {
            return Err(problem(other, "it replaced a folder of the workspace"));
        }
        self.confinement.replace(confinement);
        *known = real;
        Ok(())
    }

    /// Keeps what was hidden and protected at the start, although it may have been moved since. A
    /// protected path around a folder that was added is given up with it.
    fn keep_first(&self, fence: &mut Fence, added: &BTreeSet<PathBuf>) {
        let hidden = self.first.hidden.iter();
        fence.hidden.extend(hidden.filter(|path| path.exists()).cloned());
        let given_up = |path: &PathBuf| added.iter().any(|folder| folder.starts_with(path));
        let protected = self.first.protected.iter();
        fence.protected.extend(protected.filter(|path| !given_up(path)).cloned());
        for paths in [&mut fence.hidden, &mut fence.protected] {
            paths.sort_unstable();
            paths.dedup();
        }
    }
}

fn problem(folder: &Path, why: &str) -> String {
    format!("the sandbox cannot include {}: {why}", folder.display())
}
