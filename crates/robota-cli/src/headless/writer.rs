//! Writes lines to standard output, and detects when no process reads it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::ids::{Ids, SessionId};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::line_room;
use super::options::LineMode;
use crate::{Exit, output};
use robota_stream_json::{SessionStateLine, SessionStateText};

/// Prints the lines of one run.
pub(crate) struct LineWriter {
    mode: LineMode,
    session: SessionId,
    /// Line ids are this number plus a counter: a random id per streamed piece would cost more
    /// than the piece.
    first_id: u128,
    ids: AtomicU64,
    /// One line, kept for its memory; with [`LineMode::Collect`] all lines.
    buffer: Mutex<Vec<u8>>,
    closed: CancellationToken,
    /// Counts the starts and ends of writes: it is odd while a write waits for the reader.
    writes: Arc<AtomicU64>,
    states: bool,
    session_state: Mutex<SessionState>,
}

/// What the lines said about the state of the run.
#[derive(Default)]
struct SessionState {
    /// The last state that was printed.
    printed: Option<SessionStateText>,
    /// Whether a turn runs, without the questions that are open.
    base: Option<SessionStateText>,
}

/// The id of a line, as text.
// On the stack, because a streamed answer has thousands of lines.
pub(crate) struct LineId([u8; 36]);

impl LineId {
    fn new(id: u128) -> Self {
        let mut text = [0; 36];
        Uuid::from_u128(id).hyphenated().encode_lower(&mut text);
        Self(text)
    }

    /// Returns the text.
    pub(crate) fn as_str(&self) -> &str {
        // The text is ASCII by construction.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl LineWriter {
    /// Creates a writer. With `states`, it also prints the lines that say whether a turn runs.
    pub(crate) fn new(mode: LineMode, session: SessionId, ids: &dyn Ids, states: bool) -> Self {
        // The counter may use the last 40 bits.
        let first_id = (ids.next().as_u128() >> 40) << 40;
        Self {
            mode,
            session,
            first_id,
            ids: AtomicU64::new(0),
            buffer: Mutex::default(),
            closed: CancellationToken::new(),
            writes: Arc::default(),
            states,
            session_state: Mutex::default(),
        }
    }

    /// Returns whether lines are printed at all.
    pub(crate) fn is_on(&self) -> bool {
        self.mode != LineMode::Off
    }

    /// Returns the session's id.
    pub(crate) fn session(&self) -> &str {
        self.session.as_str()
    }

    /// Returns a new line id.
    pub(crate) fn id(&self) -> LineId {
        LineId::new(self.first_id + u128::from(self.ids.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns a token that is cancelled when standard output is closed.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Watches standard output on a thread of its own: a host that went away is noticed although
    /// there is nothing to print, and a host that reads nothing for `limit` ends the program. The
    /// session can be resumed then, and the reaper ends its commands.
    #[cfg(unix)]
    pub(crate) fn watch(&self, limit: Duration) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let (closed, writes) = (self.closed.clone(), self.writes.clone());
        std::thread::spawn(move || {
            let output = rustix::stdio::stdout();
            let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            let (mut last, mut stuck) = (0, Duration::ZERO);
            loop {
                // No flags: only errors are reported, and a closed pipe is one.
                let mut polled = [PollFd::new(&output, PollFlags::empty())];
                match poll(&mut polled, Some(&second)) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(_) => return,
                }
                if polled[0].revents().intersects(gone) {
                    return closed.cancel();
                }
                // Odd and unchanged for a second: the same write waits for the host.
                let now = writes.load(Ordering::Relaxed);
                let waits = now % 2 == 1 && now == last;
                stuck = if waits { stuck + Duration::from_secs(1) } else { Duration::ZERO };
                last = now;
                if stuck >= limit {
                    output::error("the host reads no output; exiting");
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "the thread of the session waits for the host"
                    )]
                    std::process::exit(Exit::Failure.code().into());
                }
            }
        });
    }

    /// Does nothing: on other systems a closed output is detected at the next line.
    #[cfg(not(unix))]
    pub(crate) fn watch(&self, _limit: Duration) {}

    /// Prints one line.
    pub(crate) fn print(&self, line: &impl Serialize) {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        match self.mode {
            LineMode::Off => return,
            LineMode::Stream => buffer.clear(),
            LineMode::Collect => {
                let before = if buffer.is_empty() { b'[' } else { b',' };
                buffer.push(before);
            }
        }
        // Plain data always serialises.
        // An array is no line, so the limit of lines does not apply to it.
        if serde_json::to_writer(&mut *buffer, line).is_err() || self.mode == LineMode::Collect {
            return;
        }
        line_room::fit_line(&mut buffer);
        buffer.push(b'\n');
        self.writes.fetch_add(1, Ordering::Relaxed);
        if output::try_bytes(&buffer).is_err() {
            self.closed.cancel();
        }
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Prints the collected lines as one array.
    pub(crate) fn finish(&self) {
        if self.mode == LineMode::Collect {
            let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
            buffer.extend_from_slice(b"]\n");
            output::bytes(&buffer);
        }
    }

    /// Prints whether a turn runs, if the host asked for that.
    pub(crate) fn state(&self, state: SessionStateText) {
        self.change_state(|states| {
            if state != SessionStateText::RequiresAction {
                states.base = Some(state);
            }
            state
        });
    }

    /// Prints the state without questions, after the last one has ended. A question can come from
    /// outside of turns: from a server, or about a call that the host itself makes.
    pub(crate) fn state_without_questions(&self) {
        self.change_state(|states| states.base.unwrap_or(SessionStateText::Idle));
    }

    fn change_state(&self, change: impl FnOnce(&mut SessionState) -> SessionStateText) {
        if !self.states {
            return;
        }
        // Held until the line is printed, so that the lines have the order of the changes.
        let mut states = self.session_state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = change(&mut states);
        // The line says what has changed.
        if states.printed.replace(state) != Some(state) {
            self.print(&SessionStateLine {
                kind: Default::default(),
                subtype: Default::default(),
                state,
                sdk_host_only: true,
                session_id: self.session(),
                uuid: self.id().as_str(),
            });
        }
    }
}

/// Returns the id of the line with block number `index` of a message. The lines of a message that
/// has a UUID have consecutive ids, so that `--resume-session-at` finds the message again.
pub(crate) fn block_line_id(message: &str, index: usize) -> Option<LineId> {
    let id = Uuid::try_parse(message).ok()?.as_u128();
    Some(LineId::new(id.wrapping_add(index as u128)))
}
