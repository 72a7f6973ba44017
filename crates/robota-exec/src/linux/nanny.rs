//! The process between us and one program: a child subreaper, so that whatever the program
//! starts, and however it hides, stays below it. It ends all of that when told to, and when we
//! are gone.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitStatus, getpid, pidfd_open, set_child_subreaper};

use super::wire::{Notice, Order, Word};
use super::{table, tree};
use crate::launch::Streams;
use crate::reaper::{ReaperRecord, RecordedExit};

/// How often orphans that ended are collected, and how long a wait for anything may take.
const CALM: Duration = Duration::from_secs(1);
/// How often those who were sent KILL are looked at, at first and later.
const URGENT: Duration = Duration::from_millis(2);
const STUBBORN: Duration = Duration::from_millis(100);

/// Starts the program and stays until nothing is left of it.
pub(super) fn attend(order: Order, descriptors: Vec<OwnedFd>) {
    let mut descriptors = descriptors.into_iter();
    let (Some(control), Some(stdin), Some(stdout), Some(stderr)) =
        (descriptors.next(), descriptors.next(), descriptors.next(), descriptors.next())
    else {
        return;
    };
    let control = UnixStream::from(control);
    say(&control, Notice::Taken);
    // Cannot fail on any Linux we run on; without it we would still be one who ends the leader.
    let _ = set_child_subreaper(Some(getpid()));
    let (ruleset, notify) = (descriptors.next(), descriptors.next());
    let streams = Streams { stdin, stdout, stderr, ruleset, notify };
    let leader = match order.launch.start(streams) {
        Ok(child) => i32::try_from(child.id()).unwrap_or_default(),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            say(&control, Notice::Failed { errno });
            return;
        }
    };
    // Not collected yet, so it is in the table whatever it did.
    let start_time = table::entry(leader).map_or(0, |entry| entry.start_time);
    say(&control, Notice::Started { pid: leader, start_time });
    let held = Pid::from_raw(leader).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let mut nanny = Nanny { order, leader, start_time, held, exit: None, alone: false };
    if nanny.serve(&control) {
        return;
    }
    // Nobody is there any more.
    drop(control);
    nanny.mourn();
}

struct Nanny {
    order: Order,
    leader: i32,
    start_time: u64,
    /// Tells when the leader ends.
    held: Option<OwnedFd>,
    exit: Option<RecordedExit>,
    /// Whether no child is left.
    alone: bool,
}

impl Nanny {
    /// Does as told; returns whether it was released.
    fn serve(&mut self, control: &UnixStream) -> bool {
        let mut told = false;
        let mut killing: Option<u32> = None;
        loop {
            self.collect();
            if !told && let Some(exit) = self.exit {
                told = true;
                let alone = self.alone;
                say(
                    control,
                    match exit {
                        RecordedExit::Code(code) => Notice::Exited { code, alone },
                        RecordedExit::Signal(signal) => Notice::Signalled { signal, alone },
                    },
                );
            }
            let patience = match &mut killing {
                None => CALM,
                Some(_) if self.alone => {
                    say(control, Notice::Clear);
                    killing = None;
                    CALM
                }
                Some(times) => {
                    tree::kill(own());
                    *times += 1;
                    if *times < 50 { URGENT } else { STUBBORN }
                }
            };
            if !self.wait(Some(control), patience) {
                continue;
            }
            let mut word = [0];
            let mut from = control;
            match from.read(&mut word) {
                Ok(1) => match Word::read(word[0]) {
                    Some(Word::Ask) => tree::ask(own()),
                    Some(Word::Kill) => killing = Some(0),
                    Some(Word::Release) => {
                        self.clear();
                        return true;
                    }
                    None => {}
                },
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// We died: what must not live on is ended, and how the program ended is written down.
    fn mourn(&mut self) {
        let by_itself = self.exit.is_some() || self.order.lives_on;
        self.record(false);
        if self.order.lives_on {
            while self.exit.is_none() && !self.alone {
                self.wait(None, CALM);
                self.collect();
            }
        } else {
            tree::ask(own());
            let end = Instant::now() + Duration::from_millis(self.order.grace_ms);
            self.collect();
            while !self.alone && Instant::now() < end {
                self.wait(None, URGENT);
                self.collect();
            }
        }
        self.clear();
        self.record(!by_itself);
    }

    /// Ends whatever is left.
    fn clear(&mut self) {
        self.collect();
        let mut times = 0_u32;
        while !self.alone {
            tree::kill(own());
            self.wait(None, if times < 50 { URGENT } else { STUBBORN });
            times += 1;
            self.collect();
        }
    }

    fn collect(&mut self) {
        loop {
            match tree::collect() {
                Ok(Some((pid, status))) if pid == self.leader && self.exit.is_none() => {
                    self.exit = Some(exit_of(status));
                    self.held = None;
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.alone = false;
                    return;
                }
                Err(_) => {
                    self.alone = true;
                    return;
                }
            }
        }
    }

    /// Waits for a word, the end of the leader, or time; says whether there is a word.
    fn wait(&self, control: Option<&UnixStream>, patience: Duration) -> bool {
        let mut watched = Vec::with_capacity(2);
        if let Some(control) = control {
            watched.push(PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN));
        }
        if let Some(held) = &self.held {
            watched.push(PollFd::from_borrowed_fd(held.as_fd(), PollFlags::IN));
        }
        // Without a descriptor of the leader nothing but looking tells that it ended.
        let patience = if self.held.is_none() && self.exit.is_none() { URGENT } else { patience };
        let patience = Timespec::try_from(patience).unwrap_or_default();
        let ready = poll(&mut watched, Some(&patience)).unwrap_or(0);
        ready > 0
            && control.is_some()
            && watched.first().is_some_and(|control| !control.revents().is_empty())
    }

    fn record(&self, ended: bool) {
        if self.order.records.as_os_str().is_empty() {
            return;
        }
        let record = ReaperRecord {
            call: self.order.call.clone(),
            pid: u32::try_from(self.leader).unwrap_or_default(),
            start_time: self.start_time,
            boot_id: table::boot_id().to_owned(),
            exit: self.exit,
            ended,
        };
        // Nobody is left to tell that the disk is full.
        let _ = record.write(&self.order.records);
    }
}

fn say(control: &UnixStream, notice: Notice) {
    let mut to = control;
    // Whoever does not listen any more has closed the stream, which is seen when it is read.
    let _ = to.write_all(&notice.to_bytes());
}

fn own() -> i32 {
    getpid().as_raw_nonzero().get()
}

fn exit_of(status: WaitStatus) -> RecordedExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => RecordedExit::Code(code),
        (None, Some(signal)) => RecordedExit::Signal(signal),
        // Not asked for, so never told.
        (None, None) => RecordedExit::Signal(0),
    }
}
