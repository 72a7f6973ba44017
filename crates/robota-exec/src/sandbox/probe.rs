//! Finds out which sandbox mechanisms this system supports.

use std::path::PathBuf;

use crate::env::Environment;
#[cfg(target_os = "linux")]
use crate::{spec::CommandSpec, supervisor::Supervisor};

/// The sandbox mechanisms that this system supports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSupport {
    /// The Landlock ABI version of the kernel; 0 if it has no Landlock.
    pub landlock: u32,
    /// Whether the kernel supports seccomp filters.
    pub seccomp: bool,
    /// The path of bubblewrap, if it is installed and works.
    pub bubblewrap: Option<PathBuf>,
}

impl SandboxSupport {
    /// Returns the mechanisms of the kernel alone. Starts no process.
    #[must_use]
    pub fn of_kernel() -> Self {
        #[cfg(target_os = "linux")]
        {
            let seccomp = std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists();
            Self { landlock: landlock_version(), seccomp, bubblewrap: None }
        }
        #[cfg(not(target_os = "linux"))]
        {
            Self::default()
        }
    }
}

/// Probes the system. Bubblewrap is searched in the `PATH` of the environment and started once to
/// see whether it works.
pub async fn probe(env: &Environment) -> SandboxSupport {
    #[cfg(target_os = "linux")]
    let bubblewrap = bubblewrap(env).await;
    #[cfg(not(target_os = "linux"))]
    let bubblewrap = {
        let _ = env;
        None
    };
    SandboxSupport { bubblewrap, ..SandboxSupport::of_kernel() }
}

#[cfg(target_os = "linux")]
fn landlock_version() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no attributes, accesses no memory and returns an integer.
    #[expect(unsafe_code, reason = "no library offers this query")]
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// Starts bubblewrap, because an installed bubblewrap may not work: many systems do not allow
/// ordinary users to create user namespaces.
#[cfg(target_os = "linux")]
async fn bubblewrap(env: &Environment) -> Option<PathBuf> {
    let path = env.find_program(std::ffi::OsStr::new("bwrap"))?;
    let args = ["--ro-bind", "/", "/", "--unshare-net", "--unshare-pid", "--proc", "/proc", "true"];
    let spec = CommandSpec::new(&path, "/").args(args).env(env.clone());
    let spec = spec.timeout(std::time::Duration::from_secs(5));
    let result = Supervisor::new().run(spec, &tokio_util::sync::CancellationToken::new()).await;
    result.is_ok_and(|outcome| outcome.exit.is_success()).then_some(path)
}
