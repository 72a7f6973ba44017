//! What may follow what in a journal: one rule for every store.

use super::JournalError;
use crate::event::{Cursor, Envelope};
use crate::ids::SessionId;

/// Where a journal ends, and so what may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It has no events: any may come first. A fork keeps its numbers.
    Empty,
    /// This is the last one.
    After(Cursor),
}

impl Order {
    /// The last event; zeros when there is none.
    #[must_use]
    pub fn last(self) -> Cursor {
        match self {
            Self::Empty => Cursor { epoch: 0, seq: 0 },
            Self::After(last) => last,
        }
    }

    /// The error for an event that cannot be appended here.
    #[must_use]
    pub fn refuse(self, session: &SessionId, found: Cursor) -> JournalError {
        JournalError::OutOfOrder { session: session.clone(), found, last: self.last() }
    }
}

/// Checks that new events can be appended to a journal that ends there: sequence numbers grow by
/// one, epochs never fall.
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

/// As [`follows`], for an append that may repeat an earlier one. Returns how many of the events,
/// from the first, have numbers that are stored already. The store compares those with what it
/// holds, skips them when they are the same, and answers with [`Order::refuse`] when they are not.
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
            // The first of those that are not stored follows on what is.
            (_, Order::After(last)) if found.seq == last.seq + 1 => {
                after(last) && before.is_none_or(after)
            }
            (Some(before), _) => after(before),
            (None, Order::Empty) => found.seq > 0,
            (None, Order::After(_)) => stored && found.seq > 0,
        };
        // Nothing could follow the last number of all.
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
