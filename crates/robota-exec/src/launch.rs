//! A program about to start, as plain data: the same whether we start it ourselves or the reaper
//! does.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::Signal;

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Whether its input is a terminal that is to be its own.
    pub(crate) terminal: bool,
    /// What the kernel is told to refuse it: a compiled filter of system calls.
    pub(crate) filter: Vec<Instruction>,
}

/// One instruction of a filter.
pub(crate) type Instruction = [u8; 8];

/// Its three streams, and the files it may reach.
pub(crate) struct Streams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// A Landlock rule set to live under.
    pub(crate) ruleset: Option<OwnedFd>,
    /// Where it hands over who is asked about what its filter refuses.
    pub(crate) notify: Option<OwnedFd>,
}

impl Launch {
    /// Starts it as the leader of a session of its own, bound to die with the thread that calls.
    /// Our copies of the streams are closed when this returns.
    pub(crate) fn start(&self, streams: Streams) -> std::io::Result<Child> {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.cwd).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
        let terminal = self.terminal;
        #[cfg(target_os = "linux")]
        let parent = rustix::process::getpid();
        #[cfg(target_os = "linux")]
        let confine = crate::confine::Prepared::new(streams.ruleset, &self.filter, streams.notify);
        let in_child = move || {
            rustix::process::setsid()?;
            if terminal {
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
            #[cfg(target_os = "linux")]
            {
                use rustix::process::{getppid, set_parent_process_death_signal};
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // Had we died before that call, no signal would ever come.
                if getppid() != Some(parent) {
                    return Err(rustix::io::Errno::SRCH.into());
                }
                confine.enter()?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes plain system calls only; it allocates
        // nothing, takes no lock and touches no memory of ours but what it was given.
        #[expect(unsafe_code, reason = "std offers no safe way to set the parent-death signal")]
        unsafe {
            command.pre_exec(in_child);
        }
        command.spawn()
    }
}
