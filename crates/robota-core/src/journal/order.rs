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
}

/// Checks that events follow on each other and on what is there: numbers grow by one, epochs never
/// fall. Returns where the journal ends with them.
///
/// # Errors
/// [`JournalError::OutOfOrder`] for the first that does not follow.
pub fn follows<'a>(
    session: &SessionId,
    order: Order,
    events: impl IntoIterator<Item = &'a Envelope>,
) -> Result<Order, JournalError> {
    let mut order = order;
    for event in events {
        let found = event.cursor();
        let fits = match order {
            Order::Empty => found.seq > 0,
            Order::After(last) => {
                last.seq.checked_add(1) == Some(found.seq) && last.epoch <= found.epoch
            }
        };
        // The last number of all could not be followed.
        if !fits || found.seq == u64::MAX {
            let last = order.last();
            return Err(JournalError::OutOfOrder { session: session.clone(), found, last });
        }
        order = Order::After(found);
    }
    Ok(order)
}
