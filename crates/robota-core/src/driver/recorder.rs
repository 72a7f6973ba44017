//! The one writer of a session: numbers events, folds them, appends them, and passes them to
//! observers once they are written.
//!
//! An event gets its sequence number and time once. Until the journal has acknowledged it, the
//! recorder keeps the same envelope, so that it can repeat an append whose answer was lost: the
//! journal skips the events that it already has. A repeated append with other content would be
//! refused as out of order.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use crate::clock::Clock;
use crate::error::Diagnose as _;
use crate::event::{Closed, Cursor, Durability, Envelope, Event};
use crate::guard::{Guarded, guarded, guarded_async};
use crate::ids::TurnId;
use crate::journal::{Journal, JournalError};
use crate::state::State;
use crate::telemetry::{append_span, record_error};

/// Receives every event, in order, once it is written.
pub type Observer = Arc<dyn Fn(&Arc<Envelope>) + Send + Sync>;

/// The recorder writes a snapshot of the state after about this many events. It limits how many
/// events a resume reads after the snapshot.
pub const SNAPSHOT_EVERY: u64 = 250;

/// The recorder waits this long before each retry of a failed append, unless the configuration says
/// otherwise. After the last retry the append fails.
pub const APPEND_RETRIES: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_millis(2_000),
];

/// After this many unsynced events the next append is synced. It limits how many events the
/// recorder keeps for a store that loses unsynced events.
const SYNC_EVERY: usize = 1_024;

/// Owns a session's journal and the state that its events fold to.
pub struct Recorder {
    journal: Box<dyn Journal>,
    clock: Arc<dyn Clock>,
    state: State,
    epoch: u32,
    next_seq: u64,
    observers: Vec<Guarded<Observer>>,
    /// The sequence number of the last event that observers received.
    last_observed: u64,
    /// Events that the journal has not acknowledged.
    unwritten: Vec<Arc<Envelope>>,
    /// Events that the journal acknowledged, but may lose in a power failure.
    unsynced: Vec<Arc<Envelope>>,
    /// Why the last append failed; `None` if it succeeded.
    failure: Option<JournalError>,
    retries: Vec<Duration>,
}

impl Recorder {
    /// Creates a recorder that continues after `state`, in a new epoch.
    pub fn new(journal: Box<dyn Journal>, clock: Arc<dyn Clock>, state: State) -> Self {
        let (epoch, next_seq) =
            state.cursor.map_or((1, 1), |cursor| (cursor.epoch + 1, cursor.seq + 1));
        Self {
            journal,
            clock,
            state,
            epoch,
            next_seq,
            observers: Vec::new(),
            // Observers of a resumed session get the events from now on; the stored ones are read
            // from the journal.
            last_observed: next_seq - 1,
            unwritten: Vec::new(),
            unsynced: Vec::new(),
            failure: None,
            retries: APPEND_RETRIES.to_vec(),
        }
    }

    /// Creates a recorder that continues after `state` in the same epoch, on a journal that is
    /// open.
    pub fn continuing(journal: Box<dyn Journal>, clock: Arc<dyn Clock>, state: State) -> Self {
        let epoch = state.cursor.map_or(1, |cursor| cursor.epoch);
        Self { epoch, ..Self::new(journal, clock, state) }
    }

    /// Sets the waits before the retries of a failed append.
    #[must_use]
    pub fn with_retries(self, retries: Vec<Duration>) -> Self {
        Self { retries, ..self }
    }

    /// Returns a token that is cancelled when this process lost the session: another process took
    /// it over, it was deleted, or its lease could not be renewed.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        // Without a token the session still ends: each append fails when the session is lost.
        guarded("the journal", || self.journal.lost()).unwrap_or_default()
    }

    /// Returns how the session was lost, once [`Recorder::lost`] is cancelled.
    #[must_use]
    pub fn lost_error(&self) -> Option<JournalError> {
        guarded("the journal", || self.journal.lost_error()).flatten()
    }

    /// Returns the fold of all events so far, including those not yet written.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the epoch in which this recorder writes.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns why the last append failed, or `None` if it succeeded.
    #[must_use]
    pub fn failure(&self) -> Option<&JournalError> {
        self.failure.as_ref()
    }

    /// Passes every further event to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(Guarded::new("an observer", observer));
    }

    /// Passes every further event to these observers, and to no earlier ones.
    pub fn set_observers(&mut self, observers: Vec<Observer>) {
        self.observers.clear();
        observers.into_iter().for_each(|observer| self.observe(observer));
    }

    /// Records events and writes them, as durable as the strictest of them requires. Cancel safe:
    /// if the future is dropped, the events stay recorded and the next append writes them first.
    ///
    /// # Errors
    /// When the journal cannot be written. The events stay recorded: the journal may already have
    /// them, and the next append writes them first. [`JournalError::Unencodable`] when no journal can
    /// store one of them; then none of them is recorded.
    pub async fn append(
        &mut self,
        turn: Option<&TurnId>,
        events: Vec<Event>,
    ) -> Result<(), JournalError> {
        // Before the events are folded: one that cannot be stored would make every later append fail.
        events.iter().try_for_each(Event::check_storable)?;
        self.record(turn, events);
        self.flush().await?;
        // Counted from the last snapshot in the journal, so that a session that is resumed often
        // gets snapshots too.
        if self.next_seq - self.state.sources.snapshot.unwrap_or(0) > SNAPSHOT_EVERY
            && self.record_snapshot()
        {
            // A snapshot is optional. If writing it fails, the next append fails too and reports
            // it.
            let _ = self.flush().await;
        }
        Ok(())
    }

    /// Numbers, stamps and folds events. The next [`Recorder::flush`] writes them.
    pub fn record(&mut self, turn: Option<&TurnId>, events: Vec<Event>) {
        let ts = self.clock.now();
        for event in events {
            let (seq, epoch, turn) = (self.next_seq, self.epoch, turn.cloned());
            let envelope = Arc::new(Envelope { seq, epoch, ts, turn, event, min_reader: None });
            self.next_seq += 1;
            // The numbers are assigned here, one after the other, so the fold accepts them.
            if let Err(error) = self.state.apply(&envelope) {
                tracing::error!(%error, "an event does not follow the one before it");
            }
            // Kept until the journal has acknowledged it, with its number and time: a repeated
            // append has to be equal byte by byte.
            self.unwritten.push(envelope);
        }
    }

    /// Writes all events that are recorded and not written. Cancel safe.
    ///
    /// # Errors
    /// When the journal cannot be written after all retries; the events stay recorded.
    pub async fn flush(&mut self) -> Result<(), JournalError> {
        self.flush_with(self.retries.clone()).await
    }

    /// Does the same as [`Recorder::flush`], without retries: for a caller that plans the next
    /// attempt itself.
    ///
    /// # Errors
    /// When the journal cannot be written; the events stay recorded.
    pub async fn flush_once(&mut self) -> Result<(), JournalError> {
        self.flush_with(Vec::new()).await
    }

    async fn flush_with(&mut self, retries: Vec<Duration>) -> Result<(), JournalError> {
        let result = self.write_unwritten(retries).await;
        self.failure = result.as_ref().err().cloned();
        result
    }

    async fn write_unwritten(&mut self, retries: Vec<Duration>) -> Result<(), JournalError> {
        let mut delays = retries.into_iter();
        while !self.unwritten.is_empty() {
            let durability = self.durability();
            let span = append_span(&Span::current(), self.unwritten.len(), durability);
            let append = self.journal.append(&self.unwritten, durability);
            let appended = guarded_async("the journal", append.instrument(span.clone())).await;
            let appended = appended.unwrap_or_else(|| Err(panicked()));
            if let Err(error) = &appended {
                record_error(&span, error.kind().code());
            }
            match appended {
                Ok(()) => self.on_written(durability),
                // Without a delay: the journal works, it only has to get the older events first.
                Err(JournalError::OutOfOrder { last, .. }) if self.requeue_after(last) => {
                    tracing::warn!(%last, "the journal forgot unsynced events; writing them again");
                }
                Err(error) if error.retryable() => match delays.next() {
                    Some(delay) => {
                        tracing::warn!(%error, ?delay, "an append failed and is tried again");
                        tokio::time::sleep(delay).await;
                    }
                    // The last delay is used up. The events stay in `unwritten`, for the next
                    // flush.
                    None => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a snapshot and `closed`, synced.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn close(&mut self, end: impl Into<Closed>) -> Result<(), JournalError> {
        self.record_snapshot();
        self.append(None, vec![end.into().into()]).await
    }

    /// Lets other processes open the session; returns when they can.
    pub async fn release(self) {
        guarded_async("the journal", self.journal.release()).await;
    }

    /// Records a snapshot, unless an answer or a compaction is unfinished; returns whether it did.
    fn record_snapshot(&mut self) -> bool {
        let snapshot = self.state.snapshot();
        let taken = snapshot.is_some();
        self.record(None, snapshot.into_iter().map(Event::from).collect());
        taken
    }

    fn durability(&self) -> Durability {
        // After a sync the journal cannot lose them, so they need not be kept any longer.
        if self.unsynced.len() >= SYNC_EVERY {
            return Durability::Synced;
        }
        let strictest = self.unwritten.iter().map(|envelope| envelope.event.durability()).max();
        strictest.unwrap_or(Durability::Written)
    }

    fn on_written(&mut self, durability: Durability) {
        let written = std::mem::take(&mut self.unwritten);
        // Events that were written again after a crash of a database were shown before.
        for envelope in written.iter().filter(|envelope| envelope.seq > self.last_observed) {
            for observer in &self.observers {
                // The event is written, so a panicking observer must not fail the append or stop
                // others.
                observer.call_shared(|observer| observer(envelope));
            }
        }
        self.last_observed =
            written.last().map_or(self.last_observed, |last| last.seq.max(self.last_observed));
        match durability {
            Durability::Synced => self.unsynced.clear(),
            // Kept until a sync, because a database may lose them and ask for them again.
            Durability::Written => self.unsynced.extend(written),
        }
    }

    /// Queues events again that the journal acknowledged and lost, because they were not synced:
    /// after a power failure it ends with `last`. Returns false if the events are not known.
    fn requeue_after(&mut self, last: Cursor) -> bool {
        let next = last.seq.saturating_add(1);
        let Some(at) = self.unsynced.iter().position(|envelope| envelope.seq == next) else {
            return false;
        };
        // In front of the unwritten ones, since the journal accepts events only in order.
        let mut forgotten = self.unsynced.split_off(at);
        forgotten.append(&mut self.unwritten);
        self.unwritten = forgotten;
        true
    }
}

/// Returns the error of an append that panicked. It is tried again: the envelopes stay the same, as
/// after an append whose answer was lost.
fn panicked() -> JournalError {
    JournalError::io("append to", "the journal", "its code panicked")
}
