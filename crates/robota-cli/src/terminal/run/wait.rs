//! Waits for keys, for the session or for a time, without a timer while nothing moves.

use std::time::Duration;

use super::Mailbox;

/// Why the wait ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ready {
    /// The terminal has input.
    pub(super) input: bool,
    /// The terminal was closed.
    pub(super) closed: bool,
}

/// Waits until the terminal has input, the mailbox has events, or the time has passed. A terminal that
/// was closed (`open` is false) is not watched.
#[cfg(unix)]
pub(super) fn wait(mailbox: &Mailbox, open: bool, timeout: Option<Duration>) -> Ready {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = std::io::stdin();
    let mut waiting =
        [PollFd::new(mailbox.readable(), PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    // The terminal is the last one, so that the slice can leave it out: a closed one would end every
    // wait at once.
    let watched = if open { 2 } else { 1 };
    // A signal ends the wait early, which does no harm.
    let _ = poll(&mut waiting[..watched], timeout.as_ref());
    let flags = waiting[1].revents();
    let input = flags.contains(PollFlags::IN);
    let closed = flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    Ready { input, closed }
}

/// Waits for input, and looks at the mailbox from time to time.
#[cfg(not(unix))]
pub(super) fn wait(_: &Mailbox, _: bool, timeout: Option<Duration>) -> Ready {
    const STEP: Duration = Duration::from_millis(15);
    let step = timeout.map_or(STEP, |timeout| timeout.min(STEP));
    let input = crossterm::event::poll(step).unwrap_or(false);
    Ready { input, closed: false }
}

/// Lets the system report again that there is input: it does so when the modes of the terminal are set,
/// even to what they are.
#[cfg(unix)]
pub(super) fn report_again() {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let stdin = std::io::stdin();
    if let Ok(modes) = tcgetattr(&stdin) {
        // Without it, the input is read with the next key.
        let _ = tcsetattr(&stdin, OptionalActions::Now, &modes);
    }
}

#[cfg(not(unix))]
pub(super) fn report_again() {}

/// Returns whether input waits. Before the terminal gives single keys, these are whole lines.
pub(super) fn has_input() -> bool {
    #[cfg(unix)]
    return rustix::io::ioctl_fionread(std::io::stdin()).is_ok_and(|bytes| bytes > 0);
    #[cfg(not(unix))]
    false
}
