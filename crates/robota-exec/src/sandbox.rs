//! Restricts what programs can do.
//!
//! A [`Confinement`] is a [`Fence`] prepared for one or more commands
//! ([`CommandSpec::confinement`](crate::CommandSpec)). On Linux it is a Landlock rule set and a
//! seccomp filter, or bubblewrap if a path must be hidden that Landlock cannot hide. It reports what
//! it enforces and what it cannot enforce. Creating it fails if nothing can be enforced.
//!
//! [`LocalSandbox`] and [`VfsSandbox`] are drivers of the [`Sandbox`] port: this machine, and a
//! file tree in memory.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
pub(crate) mod denials;
#[cfg(target_os = "linux")]
mod landlock_rules;
mod local;
#[cfg(target_os = "linux")]
mod open_dir_entry;
mod poll_watch;
mod probe;
mod read_only;
mod shared;
#[cfg(target_os = "linux")]
mod syscall_filter;
mod vfs;

use std::ffi::OsString;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use robota_core::paths::Paths as _;
use robota_core::sandbox::{Boundaries, Fence, SandboxError, SandboxLevel};
#[cfg(target_os = "linux")]
use rustix::process::DumpableBehavior;

#[cfg(target_os = "linux")]
use crate::paths::OsPaths;

pub use local::LocalSandbox;
pub use probe::{SandboxSupport, probe};
pub use read_only::{ReadOnlyFence, Scratch};
pub use robota_core::sandbox::Sandbox;
pub use shared::SharedConfinement;
pub use vfs::VfsSandbox;

/// The restrictions of a program, ready to be applied when it starts.
#[derive(Debug)]
pub struct Confinement {
    /// What is enforced, and what is not.
    boundaries: Boundaries,
    /// The rule set of programs without a terminal.
    #[cfg(unix)]
    ruleset: Option<OwnedFd>,
    /// The version of Landlock that the rule set was built for.
    #[cfg(target_os = "linux")]
    landlock: u32,
    #[cfg(unix)]
    pub(crate) filter: Vec<crate::launch::BpfInstruction>,
    /// Whether denied system calls are reported. Each report costs a round trip to this process, and
    /// every start of bash causes one.
    pub(crate) reports_denials: bool,
    /// A program that starts the confined program (bubblewrap), and its arguments.
    pub(crate) wrapper: Option<(PathBuf, Vec<OsString>)>,
}

impl Confinement {
    /// Prepares the restrictions with the mechanisms that this system supports. On Linux other
    /// processes of the same user, also debuggers, can no longer inspect this process afterwards.
    ///
    /// # Errors
    /// If the system cannot enforce them. [`boundaries`](Self::boundaries) lists what is only
    /// partly enforced.
    pub fn new(fence: Fence, support: &SandboxSupport) -> Result<Self, SandboxError> {
        let attributes = fence.level == SandboxLevel::WorkspaceWrite;
        Self::prepare(fence, support, attributes)
    }

    /// Prepares the restrictions. `attributes`: whether the mode, owner, times and extended
    /// attributes of files may be changed, which a fence cannot allow for single folders.
    fn prepare(
        fence: Fence,
        support: &SandboxSupport,
        attributes: bool,
    ) -> Result<Self, SandboxError> {
        if fence.level == SandboxLevel::Off {
            let boundaries = Boundaries { fence, means: Vec::new(), gaps: Vec::new() };
            return Ok(Self {
                boundaries,
                #[cfg(unix)]
                ruleset: None,
                #[cfg(target_os = "linux")]
                landlock: 0,
                #[cfg(unix)]
                filter: Vec::new(),
                reports_denials: false,
                wrapper: None,
            });
        }
        #[cfg(target_os = "linux")]
        {
            Self::on_linux(fence, support, attributes)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (support, attributes);
            Err(SandboxError::Unsupported {
                kind: "local",
                what: "confine programs on this system",
            })
        }
    }

    /// Returns what is enforced, and what is not.
    #[must_use]
    pub fn boundaries(&self) -> &Boundaries {
        &self.boundaries
    }

    #[cfg(target_os = "linux")]
    fn on_linux(
        fence: Fence,
        support: &SandboxSupport,
        attributes: bool,
    ) -> Result<Self, SandboxError> {
        let missing = missing_protected(&fence);
        let fence = canonical(fence)?;
        let in_writable = |path: &PathBuf| {
            fence.level == SandboxLevel::WorkspaceWrite
                && fence.writable.iter().any(|root| path.starts_with(root))
        };
        let unhidable: Vec<_> = fence.hidden.iter().filter(|path| in_writable(path)).collect();
        let existing = fence.protected.iter().filter(|path| path.exists());
        let unprotected: Vec<_> = existing.filter(|path| in_writable(path)).collect();
        let needs_wrapper =
            !unhidable.is_empty() || !unprotected.is_empty() || support.landlock == 0;
        if needs_wrapper && let Some(bubblewrap) = &support.bubblewrap {
            let wrapper = bubblewrap::arguments(&fence);
            let mut means = vec!["bubblewrap".to_owned(), "seccomp".to_owned()];
            let mut gaps = bubblewrap::gaps(&fence);
            // Privileges that the file of bubblewrap grants would be lost with a rule set.
            let privileged = is_setuid(bubblewrap);
            let scopes = if privileged { 0 } else { support.landlock };
            let ruleset = landlock_rules::scopes_only(scopes)?;
            match ruleset {
                Some(_) => means.push(format!("landlock {}", support.landlock)),
                None if fence.network => {
                    gaps.push("programs can connect to abstract sockets (needs Linux 6.12)".into());
                }
                None => {}
            }
            gaps.extend(missing);
            let filter = syscall_filter::build(fence.network, attributes)?;
            return Ok(Self {
                boundaries: Boundaries { fence, means, gaps },
                ruleset,
                landlock: support.landlock,
                filter,
                reports_denials: false,
                wrapper: Some((bubblewrap.clone(), wrapper)),
            });
        }
        if support.landlock == 0 {
            return Err(SandboxError::Unsupported {
                kind: "local",
                what: "confine programs: the kernel has no Landlock (Linux 5.13, enabled at boot) \
                       and bubblewrap is not installed or may not create user namespaces",
            });
        }
        if !support.seccomp {
            return Err(SandboxError::Unsupported {
                kind: "local",
                what: "confine programs: the kernel cannot filter system calls (CONFIG_SECCOMP_FILTER)",
            });
        }
        // Neither Landlock nor the filter prevents a program from reading the environment of another
        // process of the same user, which may contain keys. This prevents it for this process.
        let not_dumpable = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let mut gaps = landlock_rules::gaps(&fence, support.landlock, attributes);
        if not_dumpable.is_err() {
            gaps.push("the environment of this process can be read".to_owned());
        }
        gaps.push("the environment of other processes of this user can be read".to_owned());
        gaps.extend(unhidable.iter().map(|path| {
            format!(
                "{} can be read, because it is in a writable folder and Landlock cannot hide it \
                 there; install bubblewrap",
                path.display()
            )
        }));
        if !unprotected.is_empty() {
            let paths: Vec<_> = unprotected.iter().map(|path| path.display().to_string()).collect();
            gaps.push(format!(
                "commands can change {}: Landlock cannot protect what is in a writable folder; \
                 install bubblewrap",
                paths.join(", ")
            ));
        }
        gaps.extend(missing);
        let ruleset = landlock_rules::build(&fence, support.landlock, None)?;
        let filter = syscall_filter::build(fence.network, attributes)?;
        let means = vec![format!("landlock {}", support.landlock), "seccomp".to_owned()];
        let fence_is_read_only = fence.level == SandboxLevel::ReadOnly;
        Ok(Self {
            boundaries: Boundaries { fence, means, gaps },
            ruleset: Some(ruleset),
            landlock: support.landlock,
            filter,
            // A fence that allows no change is for short commands that need none of this.
            reports_denials: attributes || fence_is_read_only,
            wrapper: None,
        })
    }

    /// Returns the rule set for one program, which may have a terminal of its own.
    #[cfg(unix)]
    pub(crate) fn ruleset(
        &self,
        terminal: Option<&std::path::Path>,
    ) -> std::io::Result<Option<OwnedFd>> {
        #[cfg(target_os = "linux")]
        if let (Some(_), None, Some(_)) = (&self.ruleset, &self.wrapper, terminal) {
            let built = landlock_rules::build(&self.boundaries.fence, self.landlock, terminal);
            return built.map(Some).map_err(std::io::Error::other);
        }
        self.ruleset.as_ref().map(OwnedFd::try_clone).transpose()
    }
}

#[cfg(target_os = "linux")]
fn is_setuid(program: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    program.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o6000 != 0)
}

/// Makes all paths of the fence canonical, as the kernel sees them. Hidden and shown paths that do
/// not exist are dropped.
///
/// # Errors
/// If a writable folder does not exist.
#[cfg(target_os = "linux")]
fn canonical(mut fence: Fence) -> Result<Fence, SandboxError> {
    for root in &mut fence.writable {
        *root = root.canonicalize().map_err(|error| SandboxError::Failed {
            action: "allow writing to",
            path: root.clone(),
            message: error.to_string(),
        })?;
    }
    for paths in [&mut fence.hidden, &mut fence.shown] {
        *paths = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    }
    for path in &mut fence.protected {
        // A protected path that does not exist is kept: built-in tools must not create it either.
        *path = OsPaths.canonical(path).unwrap_or_else(|| path.clone());
    }
    Ok(fence)
}

/// Returns a gap for each protected path that does not exist: a command that may write to its folder
/// can create it.
#[cfg(target_os = "linux")]
fn missing_protected(fence: &Fence) -> Vec<String> {
    let missing = fence.protected.iter().filter(|path| path.canonicalize().is_err());
    missing.map(|path| format!("{} does not exist, so it can be created", path.display())).collect()
}
