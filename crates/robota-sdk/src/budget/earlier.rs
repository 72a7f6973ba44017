//! Counts what earlier processes used of the budget of a session that is resumed.

use robota_core::event::{Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_session::SessionError;

use super::{BudgetGuard, BudgetLimits, State};

/// How many events are read from the journal at a time.
const PAGE: usize = 4_096;

impl BudgetGuard {
    /// Counts the events of the journal. Without a limit of the session nothing is read.
    pub(crate) async fn count_earlier(
        &self,
        store: &dyn JournalStore,
        session: &SessionId,
    ) -> Result<(), SessionError> {
        if self.0.budget.session == BudgetLimits::default() {
            return Ok(());
        }
        let (mut earlier, mut after) = (State::default(), 0);
        loop {
            let page = store.read_without_chunks(session, after, PAGE).await?;
            page.iter().for_each(|envelope| earlier.take_earlier(envelope));
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.seq,
                _ => break,
            }
        }
        let mut state = self.lock();
        for (model, cost) in &earlier.session.models {
            state.session.add_calls(model, cost.usage, cost.calls);
        }
        state.turns += earlier.turns;
        // With the time of a turn that a crash left without an end.
        state.time += earlier.session_use().time;
        Ok(())
    }
}

impl State {
    /// Takes an event that an earlier process wrote. What its agents used was counted while they ran, and
    /// the journal has it where their task ends.
    fn take_earlier(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::TaskChanged(_) => self.session.push(&envelope.event),
            _ => self.take(envelope),
        }
    }
}
