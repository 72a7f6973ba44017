//! Which events may follow in a journal: one rule for all stores.

use super::JournalError;
use crate::event::{Cursor, Envelope};
use crate::ids::SessionId;

/// The end of a journal, which determines what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The journal has no events. Any may come first, because a fork keeps its parent's numbers.
    Empty,
    /// The position of the last event.
    After(Cursor),
}

impl Order {
    /// Returns the position of the last event; zeros if there is none.
    #[must_use]
    pub fn last(self) -> Cursor {
        match self {
            Self::Empty => Cursor { epoch: 0, seq: 0 },
            Self::After(last) => last,
        }
    }

    /// Creates the error for an event that cannot be appended here.
    #[must_use]
    pub fn refuse(self, session: &SessionId, found: Cursor) -> JournalError {
        JournalError::OutOfOrder { session: session.clone(), found, last: self.last() }
    }
}

/// Checks that new events can be appended to a journal with this end: sequence numbers grow by one,
/// and epochs never decrease.
///
/// # Errors
/// [`JournalError::OutOfOrder`] for the first event that does not follow.
pub fn follows<'a>(
    session: &SessionId,
    order: Order,
    events: impl IntoIterator<Item = &'a Envelope, IntoIter: Clone>,
) -> Result<(), JournalError> {
    let events = events.into_iter();
    match (repeated(session, order, events.clone())?, events.into_iter().next()) {
        (1.., Some(first)) => Err(order.refuse(session, first.cursor())),
        _ => Ok(()),
    }
}

/// Like [`follows`], for an append that may repeat an earlier one. Returns how many of the events,
/// from the first, have sequence numbers that are already stored. The store compares those with the
/// stored events. It skips them if they are equal, and returns [`Order::refuse`] if they are not.
///
/// # Errors
/// [`JournalError::OutOfOrder`] for the first event that does not follow.
pub fn repeated<'a>(
    session: &SessionId,
    order: Order,
    events: impl IntoIterator<Item = &'a Envelope>,
) -> Result<usize, JournalError> {
    let mut overlap = 0;
    let mut before: Option<Cursor> = None;
    for event in events {
        let found = event.cursor();
        let after =
            |last: Cursor| last.seq.checked_add(1) == Some(found.seq) && last.epoch <= found.epoch;
        let stored = matches!(order, Order::After(last) if found.seq <= last.seq);
        let fits = match (before, order) {
            // The first event that is not stored must follow the last stored one.
            (_, Order::After(last)) if found.seq == last.seq + 1 => {
                after(last) && before.is_none_or(after)
            }
            (Some(before), _) => after(before),
            (None, Order::Empty) => found.seq > 0,
            // Neither stored nor the next one: there is a gap before it.
            (None, Order::After(_)) => stored && found.seq > 0,
        };
        // No event could follow the largest sequence number.
        if !fits || found.seq == u64::MAX {
            return Err(order.refuse(session, found));
        }
        overlap += usize::from(stored);
        before = Some(found);
    }
    Ok(overlap)
}

#[cfg(test)]
mod tests;
