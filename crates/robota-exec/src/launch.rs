//! A program to start, as plain data, and the one function that starts it. Both the supervisor
//! (without a reaper) and the reaper use it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::Signal;

/// The program to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Whether its standard input is a terminal that becomes its controlling terminal.
    pub(crate) terminal: bool,
    /// The compiled seccomp filter; empty for none.
    pub(crate) filter: Vec<BpfInstruction>,
}

/// One instruction of a seccomp filter (`struct sock_filter`), as bytes.
pub(crate) type BpfInstruction = [u8; 8];

/// The file descriptors that a child is started with.
pub(crate) struct ChildStreams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// The Landlock rule set that restricts it.
    pub(crate) ruleset: Option<OwnedFd>,
    /// The socket over which it sends the notification descriptor of its seccomp filter.
    pub(crate) notify: Option<OwnedFd>,
}

impl Launch {
    /// Starts the program as the leader of a new session. On Linux it is killed when the calling
    /// thread ends. Closes this process's copies of the descriptors.
    pub(crate) fn start(&self, streams: ChildStreams) -> std::io::Result<Child> {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.cwd).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
        let terminal = self.terminal;
        #[cfg(target_os = "linux")]
        let parent = rustix::process::getpid();
        #[cfg(target_os = "linux")]
        let sandbox = crate::enter_sandbox::PreparedSandbox::new(
            streams.ruleset,
            &self.filter,
            streams.notify,
        );
        let in_child = move || {
            rustix::process::setsid()?;
            if terminal {
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
            #[cfg(target_os = "linux")]
            {
                use rustix::process::{getppid, set_parent_process_death_signal};
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // If the parent died before that call, the signal never arrives.
                if getppid() != Some(parent) {
                    return Err(rustix::io::Errno::SRCH.into());
                }
                sandbox.enter()?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec the closure only makes system calls; it allocates nothing,
        // takes no lock and accesses no memory except its captured values.
        #[expect(unsafe_code, reason = "std offers no safe way to set the parent-death signal")]
        unsafe {
            command.pre_exec(in_child);
        }
        command.spawn()
    }
}
