//! What happens in the session, on its way to the thread that draws. Pieces of text that follow each
//! other are joined, so that the queue does not grow with the number of pieces.

use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use robota_sdk::InteractiveEvent;

use crate::terminal::event::Event;

/// How much output of a call waits at most; only its end is shown.
const OUTPUT_LIMIT: usize = 256 * 1024;

/// The queue. Clones are the same queue.
#[derive(Clone)]
pub(crate) struct Mailbox(Arc<Shared>);

struct Shared {
    events: Mutex<VecDeque<Event>>,
    /// A byte waits in the pipe if the queue is not empty.
    // A pipe, because the thread waits for it and for the terminal with one `poll`.
    wake: PipeWriter,
    woken: PipeReader,
}

impl Mailbox {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// If the system has no file descriptors left.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (woken, wake) = std::io::pipe()?;
        Ok(Self(Arc::new(Shared { events: Mutex::default(), wake, woken })))
    }

    /// Adds an event, or joins it with the last one. Does not wait.
    pub(crate) fn send(&self, event: Event) {
        let mut events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = events.is_empty();
        if let Some(event) = join(events.back_mut(), event) {
            events.push_back(event);
        }
        if was_empty {
            // One byte fits into an empty pipe.
            let _ = (&self.0.wake).write_all(&[1]);
        }
    }

    /// Takes all events.
    pub(crate) fn drain(&self) -> VecDeque<Event> {
        let mut events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        if !events.is_empty() {
            // Under the lock: the pipe has a byte exactly while the queue is not empty.
            let _ = (&self.0.woken).read(&mut [0]);
        }
        std::mem::take(&mut *events)
    }

    /// Returns what becomes readable when the queue is not empty.
    #[cfg(unix)]
    pub(crate) fn readable(&self) -> &PipeReader {
        &self.0.woken
    }
}

/// Joins an event with the last one of the queue. Returns it if that is not possible.
fn join(last: Option<&mut Event>, event: Event) -> Option<Event> {
    match (last, event) {
        (
            Some(Event::Session(InteractiveEvent::TextDelta { text })),
            Event::Session(InteractiveEvent::TextDelta { text: more }),
        ) => {
            text.push_str(&more);
            None
        }
        (
            Some(Event::Session(InteractiveEvent::ToolOutput { call, text })),
            Event::Session(InteractiveEvent::ToolOutput { call: same, text: more }),
        ) if *call == same => {
            text.push_str(&more);
            // Lines that will not be shown are dropped.
            if text.len() > OUTPUT_LIMIT {
                // Down to a half, so that not every further piece moves the text in memory.
                let from = text.len() - OUTPUT_LIMIT / 2;
                let from = text[..].char_indices().map(|(at, _)| at).find(|at| *at >= from);
                text.drain(..from.unwrap_or(0));
            }
            None
        }
        (_, event) => Some(event),
    }
}

#[cfg(test)]
mod tests;
