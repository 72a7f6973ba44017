//! Keeping programs from what they must not do.
//!
//! [`Confinement`] is a fence made ready for one or many commands
//! ([`CommandSpec::confinement`](crate::CommandSpec)): on Linux a Landlock rule set and a filter
//! of system calls, or bubblewrap where a path must be hidden that Landlock cannot hide. It says
//! what it enforces and what it cannot; what it cannot enforce at all it refuses to promise.
//!
//! [`LocalSandbox`] and [`VfsSandbox`] are drivers of the [`Sandbox`] port: this machine, and a
//! tree in memory.

#[cfg(target_os = "linux")]
mod beneath;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod filter;
mod local;
#[cfg(target_os = "linux")]
pub(crate) mod notify;
mod probe;
#[cfg(target_os = "linux")]
mod rules;
mod vfs;
mod watch;

use std::ffi::OsString;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use robota_core::paths::Paths as _;
use robota_core::sandbox::{Boundaries, Fence, Level, SandboxError};
#[cfg(target_os = "linux")]
use rustix::process::DumpableBehavior;

#[cfg(target_os = "linux")]
use crate::paths::OsPaths;

pub use local::LocalSandbox;
pub use probe::{Support, probe};
pub use robota_core::sandbox::Sandbox;
pub use vfs::VfsSandbox;

/// What a program is kept from, ready to be entered.
#[derive(Debug)]
pub struct Confinement {
    /// What it enforces, and what not.
    boundaries: Boundaries,
    #[cfg(unix)]
    pub(crate) ruleset: Option<OwnedFd>,
    #[cfg(unix)]
    pub(crate) filter: Vec<crate::launch::Instruction>,
    /// A program that starts the program, and its arguments.
    pub(crate) wrapper: Option<(PathBuf, Vec<OsString>)>,
}

impl Confinement {
    /// Makes a fence ready with what this system supports. On Linux this process cannot be
    /// looked into by others of its user any more, debuggers included.
    ///
    /// # Errors
    /// If the system cannot keep it: nothing is promised that is not enforced. What is kept only
    /// in part is in [`boundaries`](Self::boundaries).
    pub fn new(fence: Fence, support: &Support) -> Result<Self, SandboxError> {
        if fence.level == Level::Off {
            let boundaries = Boundaries { fence, means: Vec::new(), gaps: Vec::new() };
            return Ok(Self {
                boundaries,
                #[cfg(unix)]
                ruleset: None,
                #[cfg(unix)]
                filter: Vec::new(),
                wrapper: None,
            });
        }
        #[cfg(target_os = "linux")]
        {
            Self::on_linux(fence, support)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = support;
            Err(SandboxError::Unsupported {
                kind: "local",
                what: "confine programs on this system",
            })
        }
    }

    /// What is enforced, and what not.
    #[must_use]
    pub fn boundaries(&self) -> &Boundaries {
        &self.boundaries
    }

    #[cfg(target_os = "linux")]
    fn on_linux(fence: Fence, support: &Support) -> Result<Self, SandboxError> {
        let not_there = not_there(&fence);
        let fence = canonical(fence)?;
        let inside = |path: &PathBuf| {
            fence.level == Level::WorkspaceWrite
                && fence.writable.iter().any(|root| path.starts_with(root))
        };
        let unhidable: Vec<_> = fence.hidden.iter().filter(|path| inside(path)).collect();
        let there = fence.protected.iter().filter(|path| path.exists());
        let unprotected: Vec<_> = there.filter(|path| inside(path)).collect();
        let needs_wrapper =
            !unhidable.is_empty() || !unprotected.is_empty() || support.landlock == 0;
        if needs_wrapper && let Some(bubblewrap) = &support.bubblewrap {
            let wrapper = bubblewrap::arguments(&fence);
            let means = vec!["bubblewrap".to_owned()];
            let mut gaps = bubblewrap::gaps(&fence);
            gaps.extend(not_there);
            return Ok(Self {
                boundaries: Boundaries { fence, means, gaps },
                ruleset: None,
                filter: Vec::new(),
                wrapper: Some((bubblewrap.clone(), wrapper)),
            });
        }
        if support.landlock == 0 {
            return Err(SandboxError::Unsupported {
                kind: "local",
                what: "confine programs: the kernel has no Landlock (Linux 5.13, enabled at boot) \
                       and bubblewrap is not installed or may not make user namespaces",
            });
        }
        if !support.seccomp {
            return Err(SandboxError::Unsupported {
                kind: "local",
                what: "confine programs: the kernel filters no system calls (CONFIG_SECCOMP_FILTER)",
            });
        }
        // Neither Landlock nor the filter keeps a program from reading the environment of
        // another of the same user, where keys may be; this does.
        let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let mut gaps = rules::gaps(&fence, support.landlock);
        if hidden.is_err() {
            gaps.push("the environment of this process can be read".to_owned());
        }
        gaps.push("the environment of other processes of this user can be read".to_owned());
        gaps.extend(unhidable.iter().map(|path| {
            format!(
                "{} lies where files may be changed, so it can be read: Landlock cannot hide it; \
                 install bubblewrap",
                path.display()
            )
        }));
        gaps.extend(unprotected.iter().map(|path| {
            format!(
                "{} lies where files may be changed, so it can be changed: Landlock cannot take \
                 that back; install bubblewrap",
                path.display()
            )
        }));
        gaps.extend(not_there);
        let ruleset = rules::build(&fence, support.landlock)?;
        let filter = filter::build(fence.network)?;
        let means = vec![format!("landlock {}", support.landlock), "seccomp".to_owned()];
        Ok(Self {
            boundaries: Boundaries { fence, means, gaps },
            ruleset: Some(ruleset),
            filter,
            wrapper: None,
        })
    }
}

/// The fence in the names the kernel goes by. What must be hidden but is not there is nothing to
/// hide; a root that is not there cannot be written.
#[cfg(target_os = "linux")]
fn canonical(mut fence: Fence) -> Result<Fence, SandboxError> {
    for root in &mut fence.writable {
        *root = root.canonicalize().map_err(|error| SandboxError::Failed {
            action: "fence in",
            path: root.clone(),
            message: error.to_string(),
        })?;
    }
    for paths in [&mut fence.hidden, &mut fence.shown] {
        *paths = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    }
    for path in &mut fence.protected {
        // Tools of ours do not make it either where it is not there.
        *path = OsPaths.canonical(path).unwrap_or_else(|| path.clone());
    }
    Ok(fence)
}

/// What is to be kept from change and is not there: whoever may write to its folder can make it.
#[cfg(target_os = "linux")]
fn not_there(fence: &Fence) -> Vec<String> {
    let missing = fence.protected.iter().filter(|path| path.canonicalize().is_err());
    missing.map(|path| format!("{} is not there, so it can be made", path.display())).collect()
}
