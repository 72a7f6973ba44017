//! What this system can enforce.

use std::path::PathBuf;

use crate::env::Environment;
#[cfg(target_os = "linux")]
use crate::{spec::CommandSpec, supervisor::Supervisor};

/// What this system can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Support {
    /// Which version of Landlock the kernel has; zero is none.
    pub landlock: u32,
    /// Whether the kernel filters system calls.
    pub seccomp: bool,
    /// A bubblewrap that works.
    pub bubblewrap: Option<PathBuf>,
}

/// Finds out. Bubblewrap is looked for in the `PATH` of the environment, and tried.
pub async fn probe(env: &Environment) -> Support {
    #[cfg(target_os = "linux")]
    {
        Support {
            landlock: landlock_version(),
            seccomp: std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
            bubblewrap: bubblewrap(env).await,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = env;
        Support::default()
    }
}

#[cfg(target_os = "linux")]
fn landlock_version() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no attributes, touches no memory and answers a number.
    #[expect(unsafe_code, reason = "no library offers the bare question")]
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// Being installed is not enough: many systems keep ordinary users from user namespaces.
#[cfg(target_os = "linux")]
async fn bubblewrap(env: &Environment) -> Option<PathBuf> {
    let path = env.find_program(std::ffi::OsStr::new("bwrap"))?;
    let args = ["--ro-bind", "/", "/", "--unshare-net", "--unshare-pid", "--proc", "/proc", "true"];
    let spec = CommandSpec::new(&path, "/").args(args).env(env.clone());
    let spec = spec.timeout(std::time::Duration::from_secs(5));
    let tried = Supervisor::new().run(spec, &tokio_util::sync::CancellationToken::new()).await;
    tried.is_ok_and(|outcome| outcome.exit.is_success()).then_some(path)
}
