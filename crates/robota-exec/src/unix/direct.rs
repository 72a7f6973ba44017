//! A child of our own and its process group: for systems and embedders without a reaper.
//!
//! The leader is reaped only after the last signal to the group. Until then its id, which is
//! the group's, cannot be given to anybody else, so that no signal of ours can hit a stranger.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use robota_core::process::ProcessIdentity;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::error::ExecError;
use crate::outcome::Exit;

pub(super) struct Direct {
    program: PathBuf,
    id: Pid,
    identity: Option<ProcessIdentity>,
    /// Absent once it is reaped.
    leader: Option<Child>,
}

impl Direct {
    pub(super) fn new(program: &Path, child: Child) -> Result<Self, ExecError> {
        let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            let source = io::Error::other("no process id");
            return Err(ExecError::Wait { program: program.to_owned(), source });
        };
        #[cfg(target_os = "linux")]
        let identity = crate::linux::table::identity(id.as_raw_nonzero().get());
        #[cfg(not(target_os = "linux"))]
        let identity = None;
        Ok(Self { program: program.to_owned(), id, identity, leader: Some(child) })
    }

    pub(super) fn identity(&self) -> Option<&ProcessIdentity> {
        self.identity.as_ref()
    }

    /// Resolves when the leader has exited; it stays a zombie, and the group's id ours.
    pub(super) fn leader_exited(&self) -> impl Future<Output = ()> + use<> {
        let id = self.id;
        let waiter = tokio::task::spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(id), options) {}
        });
        async move {
            // It neither panics nor is cancelled.
            let _ = waiter.await;
        }
    }

    pub(super) fn ask(&self) {
        self.signal(Signal::TERM);
        // A stopped process cannot see TERM.
        self.signal(Signal::CONT);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.leader.is_some() {
            // It fails only if nobody is left who could get it.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// How the leader ended. To be called when it has.
    pub(super) fn reap(&mut self) -> Result<Exit, ExecError> {
        let lost = |source| ExecError::Wait { program: self.program.clone(), source };
        let Some(leader) = &mut self.leader else {
            return Err(lost(io::Error::other("asked twice")));
        };
        let status = leader.wait().map_err(lost)?;
        self.leader = None;
        match (status.code(), status.signal()) {
            (Some(code), _) => Ok(Exit::Code(code)),
            (None, Some(signal)) => Ok(Exit::Signal(signal)),
            (None, None) => Err(lost(io::Error::other(format!("status {status}")))),
        }
    }

    /// Reaps the leader if it has exited; never waits.
    pub(super) fn try_reap(&mut self) {
        if let Some(leader) = &mut self.leader
            && matches!(leader.try_wait(), Ok(Some(_)))
        {
            self.leader = None;
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.kill();
        self.try_reap();
        if let Some(mut leader) = self.leader.take() {
            // Not dead at once: somebody has to collect it, but not the thread that serves all.
            let _ = std::thread::Builder::new()
                .name("robota-reap".to_owned())
                .spawn(move || leader.wait());
        }
    }
}
