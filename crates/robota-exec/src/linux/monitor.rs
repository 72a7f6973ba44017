//! The monitor: the process between the reaper and one program. It is a child subreaper, so every
//! process that the program starts stays its descendant, also after `setsid` or a double fork. It
//! ends all of them when the supervisor commands it, and when the supervisor's process dies.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitStatus, getpid, pidfd_open, set_child_subreaper};

use super::proc_table;
use super::tree::{self, Terminated};
use super::wire::{LaunchRequest, MonitorCommand, Notice};
use crate::launch::ChildStreams;
use crate::reaper::{ReaperRecord, RecordedExit};

/// How often ended orphans are reaped while nothing else happens.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// How often processes that are being ended are checked, for the first [`FAST_CHECKS`] checks and after that.
const FAST_INTERVAL: Duration = Duration::from_millis(2);
const SLOW_INTERVAL: Duration = Duration::from_millis(100);

const FAST_CHECKS: u32 = 50;

/// Starts the program and returns when the program and all its descendants have ended.
pub(super) fn run_monitor(request: LaunchRequest, descriptors: Vec<OwnedFd>) {
    let mut descriptors = descriptors.into_iter();
    let (Some(control), Some(stdin), Some(stdout), Some(stderr)) =
        (descriptors.next(), descriptors.next(), descriptors.next(), descriptors.next())
    else {
        return;
    };
    let control = UnixStream::from(control);
    send(&control, Notice::Taken);
    // Cannot fail on a supported Linux. Without it the monitor could still end the leader.
    let _ = set_child_subreaper(Some(getpid()));
    let (ruleset, notify) = (descriptors.next(), descriptors.next());
    let streams = ChildStreams { stdin, stdout, stderr, ruleset, notify };
    let leader = match request.launch.start(streams) {
        Ok(child) => i32::try_from(child.id()).unwrap_or_default(),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            send(&control, Notice::Failed { errno });
            return;
        }
    };
    // The leader is not reaped yet, so it has an entry even if it has already exited.
    let start_time = proc_table::entry(leader).map_or(0, |entry| entry.start_time);
    send(&control, Notice::Started { pid: leader, start_time });
    let leader_pidfd =
        Pid::from_raw(leader).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let mut monitor =
        Monitor { request, leader, start_time, leader_pidfd, exit: None, no_children: false };
    if monitor.serve(&control) {
        return;
    }
    // The supervisor's process has died.
    drop(control);
    monitor.clean_up_after_crash();
}

struct Monitor {
    request: LaunchRequest,
    leader: i32,
    start_time: u64,
    /// Becomes readable when the leader ends. `None` after that, or if it could not be opened.
    leader_pidfd: Option<OwnedFd>,
    exit: Option<RecordedExit>,
    /// Whether the last [`reap`](Self::reap) found no child left.
    no_children: bool,
}

impl Monitor {
    /// Executes commands until the supervisor releases this monitor (returns true) or closes the
    /// connection (returns false).
    fn serve(&mut self, control: &UnixStream) -> bool {
        let mut exit_reported = false;
        let mut ending: Option<Ending> = None;
        loop {
            self.reap();
            if !exit_reported && let Some(exit) = self.exit {
                exit_reported = true;
                let no_children = self.no_children;
                send(
                    control,
                    match exit {
                        RecordedExit::Code(code) => Notice::Exited { code, no_children },
                        RecordedExit::Signal(signal) => Notice::Signalled { signal, no_children },
                    },
                );
            }
            let interval = match &mut ending {
                None => IDLE_INTERVAL,
                Some(_) if self.no_children => {
                    send(control, Notice::Clear);
                    ending = None;
                    IDLE_INTERVAL
                }
                Some(ending) => ending.step(),
            };
            if !self.wait(Some(control), interval) {
                continue;
            }
            let mut byte = [0];
            let mut from = control;
            match from.read(&mut byte) {
                Ok(1) => match MonitorCommand::read(byte[0]) {
                    Some(MonitorCommand::Terminate) => ending = Some(Ending::terminate()),
                    Some(MonitorCommand::Kill) => ending = Some(Ending::kill()),
                    Some(MonitorCommand::Release) => {
                        self.end_all(Ending::kill(), None);
                        return true;
                    }
                    None => {}
                },
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// Ends the processes after a crash of the supervisor's process, unless the program is meant to
    /// survive it, and writes the record: once now, and once with the exit status.
    fn clean_up_after_crash(&mut self) {
        let ended_by_itself = self.exit.is_some() || self.request.survives_crash;
        self.write_record(false);
        if self.request.survives_crash {
            while self.exit.is_none() && !self.no_children {
                self.wait(None, IDLE_INTERVAL);
                self.reap();
            }
        } else {
            let end = Instant::now() + Duration::from_millis(self.request.grace_ms);
            self.end_all(Ending::terminate(), Some(end));
        }
        self.end_all(Ending::kill(), None);
        self.write_record(!ended_by_itself);
    }

    /// Ends all descendants and waits until none is left, or until that time.
    fn end_all(&mut self, mut ending: Ending, until: Option<Instant>) {
        self.reap();
        while !self.no_children && until.is_none_or(|until| Instant::now() < until) {
            let interval = ending.step();
            self.wait(None, interval);
            self.reap();
        }
    }

    /// Reaps all children that have ended. Orphaned descendants are children too, because this
    /// process is a subreaper.
    fn reap(&mut self) {
        loop {
            match tree::reap_one() {
                Ok(Some((pid, status))) if pid == self.leader && self.exit.is_none() => {
                    self.exit = Some(exit_of(status));
                    self.leader_pidfd = None;
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.no_children = false;
                    return;
                }
                Err(_) => {
                    self.no_children = true;
                    return;
                }
            }
        }
    }

    /// Waits for a command, the end of the leader, or the interval. Returns whether there is a
    /// command (or the end of the connection) to read.
    fn wait(&self, control: Option<&UnixStream>, interval: Duration) -> bool {
        let mut watched = Vec::with_capacity(2);
        if let Some(control) = control {
            watched.push(PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN));
        }
        if let Some(pidfd) = &self.leader_pidfd {
            watched.push(PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN));
        }
        // Without a pidfd the end of the leader is only found by polling.
        let must_poll = self.leader_pidfd.is_none() && self.exit.is_none();
        let interval = if must_poll { FAST_INTERVAL } else { interval };
        let interval = Timespec::try_from(interval).unwrap_or_default();
        let ready = poll(&mut watched, Some(&interval)).unwrap_or(0);
        ready > 0
            && control.is_some()
            && watched.first().is_some_and(|control| !control.revents().is_empty())
    }

    fn write_record(&self, ended: bool) {
        if self.request.records.as_os_str().is_empty() {
            return;
        }
        let record = ReaperRecord {
            call: self.request.call.clone(),
            pid: u32::try_from(self.leader).unwrap_or_default(),
            start_time: self.start_time,
            boot_id: proc_table::boot_id().to_owned(),
            exit: self.exit,
            ended,
        };
        // There is no process left that could receive the error.
        let _ = record.write(&self.request.records);
    }
}

/// The descendants are being ended, until none is left: those that are started meanwhile too.
struct Ending {
    /// The processes that were asked to end; `None` if all are killed.
    terminated: Option<Terminated>,
    /// The number of steps so far.
    steps: u32,
}

impl Ending {
    fn terminate() -> Self {
        Self { terminated: Some(Terminated::default()), steps: 0 }
    }

    fn kill() -> Self {
        Self { terminated: None, steps: 0 }
    }

    /// Signals the descendants that are left; returns the time until the next step.
    fn step(&mut self) -> Duration {
        match &mut self.terminated {
            Some(terminated) => terminated.terminate(proc_table::descendants(own_pid())),
            None => tree::kill(own_pid()),
        }
        self.steps += 1;
        if self.steps < FAST_CHECKS { FAST_INTERVAL } else { SLOW_INTERVAL }
    }
}

fn send(control: &UnixStream, notice: Notice) {
    let mut to = control;
    // Fails if the supervisor closed the socket; the next read finds that out.
    let _ = to.write_all(&notice.to_bytes());
}

fn own_pid() -> i32 {
    getpid().as_raw_nonzero().get()
}

fn exit_of(status: WaitStatus) -> RecordedExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => RecordedExit::Code(code),
        (None, Some(signal)) => RecordedExit::Signal(signal),
        // Stopped and continued children are not requested, so they are never reported.
        (None, None) => RecordedExit::Signal(0),
    }
}
