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
    /// Whether the program is bubblewrap, which installs the filter itself when its own work is
    /// done.
    pub(crate) wrapped: bool,
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
    /// Starts the program as the leader of a new session. It inherits its three streams and no other
    /// descriptor. On Linux it is killed when the calling thread ends. Closes this process's copies
    /// of the descriptors.
    pub(crate) fn start(&self, streams: ChildStreams) -> std::io::Result<Child> {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
        let mut command = Command::new(&self.program);
        #[cfg(target_os = "linux")]
        let filter_file = match self.wrapped {
            true => Some(crate::enter_sandbox::filter_file(&self.filter)?),
            false => None,
        };
        #[cfg(target_os = "linux")]
        if let Some(file) = &filter_file {
            use std::os::fd::AsRawFd as _;
            command.args(["--seccomp".to_owned(), file.as_raw_fd().to_string()]);
        }
        command.args(&self.args).current_dir(&self.cwd).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
        let terminal = self.terminal;
        #[cfg(target_os = "linux")]
        let parent = rustix::process::getpid();
        #[cfg(target_os = "linux")]
        let sandbox = crate::enter_sandbox::PreparedSandbox::new(
            streams.ruleset,
            if self.wrapped { &[] } else { &self.filter },
            streams.notify,
            self.wrapped,
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
            close_others_on_exec();
            #[cfg(target_os = "linux")]
            if let Some(file) = &filter_file {
                rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
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

/// Makes the system close all descriptors except the three streams when the program starts. This
/// process may have been started with descriptors that are not its own, and a library may open one
/// that is inherited.
fn close_others_on_exec() {
    /// Descriptors above this number are not expected on systems without `close_range`.
    const LAST: u64 = 65_536;
    #[cfg(target_os = "linux")]
    {
        let (first, last) = (3 as libc::c_uint, libc::c_uint::MAX);
        // SAFETY: the call takes three integers and only changes flags of descriptors.
        #[expect(unsafe_code, reason = "no library offers this system call alone")]
        let done =
            unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
        if done == 0 {
            return;
        }
    }
    // Linux before 5.11, and other systems.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let last = i32::try_from(limit.unwrap_or(LAST).min(LAST)).unwrap_or(0);
    for number in 3..last {
        // SAFETY: the descriptor is used only in this statement; a closed one is an error.
        #[expect(unsafe_code, reason = "the open descriptors are only known by their numbers")]
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC);
    }
}
