//! Sends signals to all descendants of a process, in all sessions and groups.
//!
//! Signals are sent through pidfds, not process ids. The pidfd is opened first, and then the start
//! time is compared with the table, so a process that reuses an id never gets the signal.

use std::collections::HashSet;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, pidfd_send_signal, wait,
};

use super::proc_table::{self, Entry};

/// How often the table is read until it has no new processes. Stopped processes cannot fork, so even
/// many forks at the same time end after a few passes.
const MAX_PASSES: usize = 50;

/// Sends a signal to a process if it is still the process of the table entry. Returns whether the
/// signal was sent.
pub(crate) fn signal(pid: i32, entry: Entry, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let same_process = proc_table::entry(pid.as_raw_nonzero().get())
        .is_some_and(|now| now.start_time == entry.start_time);
    same_process && pidfd_send_signal(&pidfd, signal).is_ok()
}

/// The processes that were asked to end. A process may start others while it ends, so the request
/// is repeated until none is left, but a process that handles SIGTERM gets it only once: programs
/// treat a second one as impatience and skip their cleanup.
#[derive(Debug, Default)]
pub(crate) struct Terminated(HashSet<(i32, u64)>);

impl Terminated {
    /// Sends SIGTERM to those of the processes that did not get it yet, or lost it. A shell that
    /// forks resets its traps in the child; a signal that arrives before is forgotten.
    pub(crate) fn terminate(&mut self, processes: impl IntoIterator<Item = (i32, Entry)>) {
        for (pid, entry) in processes {
            let first = self.0.insert((pid, entry.start_time));
            if first || proc_table::ends_by(pid, Signal::TERM) {
                signal(pid, entry, Signal::TERM);
                // A stopped process does not handle SIGTERM before it continues.
                signal(pid, entry, Signal::CONT);
            }
        }
    }
}

/// Sends SIGKILL to all descendants of `root`. All are stopped first, so that none can fork a process
/// that the table does not have yet.
pub(crate) fn kill(root: i32) {
    let mut stopped = HashSet::new();
    for _ in 0..MAX_PASSES {
        let new: Vec<_> = proc_table::descendants(root)
            .into_iter()
            .filter(|(pid, entry)| stopped.insert((*pid, entry.start_time)))
            .collect();
        if new.is_empty() {
            break;
        }
        for (pid, entry) in new {
            signal(pid, entry, Signal::STOP);
        }
    }
    for (pid, entry) in proc_table::descendants(root) {
        signal(pid, entry, Signal::KILL);
    }
}

/// Reaps one child that has ended and returns its id and status. `Ok(None)`: there are children, but
/// none has ended.
///
/// # Errors
/// If there are no children.
pub(crate) fn reap_one() -> rustix::io::Result<Option<(i32, WaitStatus)>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(ended) => {
                return Ok(ended.map(|(pid, status)| (pid.as_raw_nonzero().get(), status)));
            }
        }
    }
}
