//! Signals for everything below a process, whatever sessions and groups it hides in.
//!
//! No signal goes to a number: each process is held by a descriptor, and only then compared with
//! what the table said, so that a number that was given to somebody else hits nobody.

use std::collections::HashSet;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, pidfd_send_signal, wait,
};

use super::table::{self, Entry};

/// Passes over the table until nothing new is found; a storm of forks is over by then, because
/// who is stopped forks no more.
const PASSES: usize = 50;

/// Sends a signal to a process if it is still the one of the table.
pub(crate) fn signal(pid: i32, entry: Entry, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let still = table::entry(pid.as_raw_nonzero().get())
        .is_some_and(|now| now.start_time == entry.start_time);
    still && pidfd_send_signal(&held, signal).is_ok()
}

/// Asks everything below `root` to end.
pub(crate) fn ask(root: i32) {
    for (pid, entry) in table::descendants(root) {
        signal(pid, entry, Signal::TERM);
        // A stopped process cannot see TERM.
        signal(pid, entry, Signal::CONT);
    }
}

/// Sends KILL to everything below `root`. All are stopped first: a process that is being looked
/// for must not fork away.
pub(crate) fn kill(root: i32) {
    let mut stopped = HashSet::new();
    for _ in 0..PASSES {
        let fresh: Vec<_> = table::descendants(root)
            .into_iter()
            .filter(|(pid, entry)| stopped.insert((*pid, entry.start_time)))
            .collect();
        if fresh.is_empty() {
            break;
        }
        for (pid, entry) in fresh {
            signal(pid, entry, Signal::STOP);
        }
    }
    for (pid, entry) in table::descendants(root) {
        signal(pid, entry, Signal::KILL);
    }
}

/// Collects a child that has ended: its id and how. `Ok(None)`: some live, none has ended.
///
/// # Errors
/// When there are no children.
pub(crate) fn collect() -> rustix::io::Result<Option<(i32, WaitStatus)>> {
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
