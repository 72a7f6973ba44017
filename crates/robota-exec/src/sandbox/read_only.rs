//! The fence behind the proof that a command only reads: even if the proof is wrong, nothing is
//! changed and nothing leaves this machine.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use robota_core::sandbox::{Fence, SandboxError, SandboxLevel};
use tempfile::TempDir;

use super::{Confinement, SandboxSupport};
use crate::spec::CommandSpec;

/// Settings of git that override those of a repository, so that git runs none of its programs.
/// Programs for single file types (filters, textconv) are selected by attributes, of which those in
/// `.git/info/attributes` cannot be switched off; the policy does not let such a repository's git run
/// without approval, and the fence holds what runs anyway.
const GIT_SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "maintenance.auto=false",
    "gc.auto=0",
    // Submodules have settings of their own.
    "status.submoduleSummary=false",
    "diff.ignoreSubmodules=dirty",
    // Attributes select filters and programs that show differences; the empty tree has none.
    "attr.tree=4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "core.attributesFile=/dev/null",
];

/// The variable with settings for git. Unlike `GIT_CONFIG_COUNT`, git passes it on to the processes
/// that it starts in submodules.
const GIT_CONFIG: &str = "GIT_CONFIG_PARAMETERS";

/// Variables that keep git and pagers from running programs, from asking and from writing.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("PAGER", "cat"),
];

/// Variables that name a program which git or a pager would run.
const REMOVED: &[&str] =
    &["GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "LESSOPEN"];

/// A fence for commands that were proven to only read: no file can be changed, no socket created and
/// no attribute set. Each command gets an empty folder of its own for temporary files, whose content
/// is deleted when the command has ended.
///
/// ```no_run
/// # use robota_exec::{Environment, ShellCommand, Supervisor};
/// # use robota_exec::sandbox::{ReadOnlyFence, probe};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let environment = Environment::new().with("PATH", "/usr/bin:/bin");
/// let fence = ReadOnlyFence::new(None, &probe(&environment).await, "/tmp".as_ref())?;
/// let spec = ShellCommand::new("touch file", "/work").env(environment).into_spec()?;
/// let outcome = Supervisor::new().run(fence.apply(spec)?, &Default::default()).await?;
/// assert!(!outcome.exit.is_success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ReadOnlyFence {
    confinement: Arc<Confinement>,
    /// Folders that commands left empty. Creating and deleting one for each command would take most
    /// of the time that the fence costs.
    idle: Arc<Mutex<Vec<TempDir>>>,
    scratch: TempDir,
}

/// Owns the folder for the temporary files of one command. Dropping the last clone deletes what is
/// in it.
#[derive(Debug, Clone)]
pub struct Scratch {
    _dir: Arc<ScratchDir>,
}

#[derive(Debug)]
struct ScratchDir {
    dir: Option<TempDir>,
    idle: Weak<Mutex<Vec<TempDir>>>,
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        let (Some(dir), Some(idle)) = (self.dir.take(), self.idle.upgrade()) else { return };
        // A folder with leftovers is deleted instead of reused: the next command must not see the
        // files of this one.
        if dir.path().read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(dir);
        }
    }
}

impl ReadOnlyFence {
    /// Prepares the fence. Paths that `user`, the fence of other commands, hides are hidden here too.
    /// The folders for temporary files are created in `temporary`.
    ///
    /// # Errors
    /// If the system cannot enforce it.
    pub fn new(
        user: Option<&Fence>,
        support: &SandboxSupport,
        temporary: &Path,
    ) -> Result<Self, SandboxError> {
        let scratch = tempfile::Builder::new().prefix("robota-scratch-").tempdir_in(temporary);
        let scratch = scratch.map_err(|error| SandboxError::Failed {
            action: "create a folder in",
            path: temporary.to_owned(),
            message: error.to_string(),
        })?;
        let list = |paths: fn(&Fence) -> &Vec<_>| user.map(paths).cloned().unwrap_or_default();
        let fence = Fence {
            // Many programs that only read fail without a folder for temporary files, so the level
            // is not read-only: one empty folder can be written.
            level: SandboxLevel::WorkspaceWrite,
            writable: vec![scratch.path().to_owned()],
            protected: Vec::new(),
            hidden: list(|fence| &fence.hidden),
            shown: list(|fence| &fence.shown),
            network: false,
        };
        let confinement = Arc::new(Confinement::prepare(fence, support, false)?);
        Ok(Self { confinement, idle: Arc::default(), scratch })
    }

    /// Returns the restrictions, and what is not enforced.
    #[must_use]
    pub fn confinement(&self) -> &Arc<Confinement> {
        &self.confinement
    }

    /// Puts a command into the fence. Replaces its confinement and some of its environment.
    ///
    /// # Errors
    /// If its folder for temporary files cannot be created.
    pub fn apply(&self, mut spec: CommandSpec) -> std::io::Result<CommandSpec> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let dir = match idle {
            Some(dir) => dir,
            None => tempfile::tempdir_in(self.scratch.path())?,
        };
        spec.confinement = Some(self.confinement.clone());
        // Programs differ in which of the three they read.
        for name in ["TMPDIR", "TMP", "TEMP"] {
            spec.env.set(name, dir.path());
        }
        for (name, value) in VARIABLES {
            spec.env.set(name, value);
        }
        for name in REMOVED {
            spec.env.remove(name);
        }
        let mut settings = spec.env.get(GIT_CONFIG).map(OsString::from).unwrap_or_default();
        for setting in GIT_SETTINGS {
            let space = if settings.is_empty() { "" } else { " " };
            // The format of git's own `-c` options: quoted words separated by spaces. Later ones
            // win, so ours come last.
            settings.push(format!("{space}'{setting}'"));
        }
        spec.env.set(GIT_CONFIG, settings);
        let dir = ScratchDir { dir: Some(dir), idle: Arc::downgrade(&self.idle) };
        spec.scratch = Some(Scratch { _dir: Arc::new(dir) });
        Ok(spec)
    }
}
