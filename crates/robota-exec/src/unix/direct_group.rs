//! A direct child of this process and its process group, for systems and programs without a reaper.
//!
//! The leader is reaped only after the last signal to the group. Until then the system cannot reuse
//! its id, which is the id of the group, so no signal can reach an unrelated process.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use robota_core::process::ProcessIdentity;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use crate::error::ExecError;
use crate::outcome::Exit;

/// How often the members that are left are listed while the group ends.
#[cfg(target_os = "linux")]
const CHECK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(2);

pub(super) struct DirectGroup {
    program: PathBuf,
    id: Pid,
    identity: Option<ProcessIdentity>,
    /// `None` after it was reaped.
    leader: Option<Child>,
}

impl DirectGroup {
    pub(super) fn new(program: &Path, child: Child) -> Result<Self, ExecError> {
        let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            let source = io::Error::other("no process id");
            return Err(ExecError::Wait { program: program.to_owned(), source });
        };
        #[cfg(target_os = "linux")]
        let identity = crate::linux::proc_table::identity(id.as_raw_nonzero().get());
        #[cfg(not(target_os = "linux"))]
        let identity = None;
        Ok(Self { program: program.to_owned(), id, identity, leader: Some(child) })
    }

    pub(super) fn identity(&self) -> Option<&ProcessIdentity> {
        self.identity.as_ref()
    }

    /// Resolves when the leader has exited. It stays a zombie, which keeps the id of the group.
    pub(super) fn leader_exited(&self) -> impl Future<Output = ()> + use<> {
        let id = self.id;
        let waiter = tokio::task::spawn_blocking(move || {
            // NOWAIT leaves the leader unreaped: after it was reaped its id could name another
            // group, and a signal would hit other processes.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(id), options) {}
        });
        async move {
            // The task neither panics nor is cancelled.
            let _ = waiter.await;
        }
    }

    /// Sends SIGTERM to the group, also to members that are started while others end. Resolves when
    /// none is left.
    #[cfg(target_os = "linux")]
    pub(super) fn terminate(&self) -> impl Future<Output = ()> + use<> {
        let group = self.id.as_raw_nonzero().get();
        async move {
            let mut terminated = crate::linux::tree::Terminated::default();
            loop {
                let members = crate::linux::proc_table::members(group);
                if members.is_empty() {
                    return;
                }
                terminated.terminate(members);
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        }
    }

    /// Sends SIGTERM to the group, and once more when the leader has exited, because a member may
    /// have been started in between. Which members are left is unknown here, so this resolves then.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn terminate(&self) -> impl Future<Output = ()> + use<> {
        let (group, exited) = (self.id, self.leader_exited());
        let signal = move || {
            for signal in [Signal::TERM, Signal::CONT] {
                let _ = kill_process_group(group, signal);
            }
        };
        async move {
            signal();
            exited.await;
            signal();
        }
    }

    /// Resolves when no member of the group is left; on systems other than Linux, which cannot list
    /// the members, immediately.
    pub(super) fn cleared(&self) -> impl Future<Output = ()> + use<> {
        // Once the leader was reaped, its id names a group only as long as the group has members.
        let empty = self.leader.is_none() && test_kill_process_group(self.id).is_err();
        let group = self.id.as_raw_nonzero().get();
        async move {
            #[cfg(target_os = "linux")]
            while !empty && !crate::linux::proc_table::members(group).is_empty() {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
            #[cfg(not(target_os = "linux"))]
            let _ = (empty, group);
        }
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.leader.is_some() {
            // Fails only if no process of the group is left.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Returns how the leader ended. To be called once, after it has exited.
    pub(super) fn reap(&mut self) -> Result<Exit, ExecError> {
        let unknown = |source| ExecError::Wait { program: self.program.clone(), source };
        let Some(leader) = &mut self.leader else {
            return Err(unknown(io::Error::other("the process was already reaped")));
        };
        let status = leader.wait().map_err(unknown)?;
        self.leader = None;
        match (status.code(), status.signal()) {
            (Some(code), _) => Ok(Exit::Code(code)),
            (None, Some(signal)) => Ok(Exit::Signal(signal)),
            (None, None) => Err(unknown(io::Error::other(format!("unexpected status {status}")))),
        }
    }

    /// Reaps the leader if it has exited. Does not wait.
    pub(super) fn try_reap(&mut self) {
        if let Some(leader) = &mut self.leader
            && matches!(leader.try_wait(), Ok(Some(_)))
        {
            self.leader = None;
        }
    }
}

impl Drop for DirectGroup {
    fn drop(&mut self) {
        self.kill();
        self.try_reap();
        if let Some(mut leader) = self.leader.take() {
            // Still alive: a separate thread reaps it, so that the supervisor's thread does not block.
            let _ = std::thread::Builder::new()
                .name("robota-reap".to_owned())
                .spawn(move || leader.wait());
        }
    }
}
