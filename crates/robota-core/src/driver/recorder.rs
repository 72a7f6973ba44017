//! The one writer of a session: numbers events, folds them, appends them, and shows them once
//! they are written.
//!
//! An event is numbered and stamped once. Until the journal has acknowledged it, the recorder
//! keeps that same envelope, so that an append whose answer was lost can be repeated: the
//! journal skips what it already has.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use crate::clock::Clock;
use crate::error::Diagnose as _;
use crate::event::{Closed, Cursor, Durability, Envelope, Event};
use crate::ids::TurnId;
use crate::journal::{Journal, JournalError};
use crate::state::State;
use crate::telemetry::{append_span, record_error};

/// Receives every event, in order, once it is written.
pub type Observer = Arc<dyn Fn(&Arc<Envelope>) + Send + Sync>;

/// A snapshot of the state is recorded about every so many events, so that a resume reads no more
/// than these.
pub const SNAPSHOT_EVERY: u64 = 2_000;

/// By default an append that failed is tried again after each of these, then reported as failed.
pub const APPEND_RETRIES: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_millis(2_000),
];

/// After this many events without a sync the next append is synced: what the recorder keeps for
/// a store that forgets unsynced events stays bounded.
const SYNC_EVERY: usize = 1_024;

/// Owns a session's journal and the state its events fold to.
pub struct Recorder {
    journal: Box<dyn Journal>,
    clock: Arc<dyn Clock>,
    state: State,
    epoch: u32,
    next_seq: u64,
    observers: Vec<Observer>,
    /// The number of the last event that observers received.
    last_observed: u64,
    /// Events that the journal has not acknowledged.
    unwritten: Vec<Arc<Envelope>>,
    /// Events that it has acknowledged, but may lose if its machine fails.
    unsynced: Vec<Arc<Envelope>>,
    /// Why the last append failed.
    failure: Option<JournalError>,
    retries: Vec<Duration>,
}

impl Recorder {
    /// A writer that continues after `state`, in a new epoch.
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
            last_observed: next_seq - 1,
            unwritten: Vec::new(),
            unsynced: Vec::new(),
            failure: None,
            retries: APPEND_RETRIES.to_vec(),
        }
    }

    /// A writer that continues after `state` in the same epoch: its journal was handed over open.
    pub fn continuing(journal: Box<dyn Journal>, clock: Arc<dyn Clock>, state: State) -> Self {
        let epoch = state.cursor.map_or(1, |cursor| cursor.epoch);
        Self { epoch, ..Self::new(journal, clock, state) }
    }

    /// The same writer; an append that failed is tried again after each of these.
    #[must_use]
    pub fn with_retries(self, retries: Vec<Duration>) -> Self {
        Self { retries, ..self }
    }

    /// Cancelled when this writer lost the session: another one took it over, it was deleted, or
    /// its lease could not be renewed.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        self.journal.lost()
    }

    /// How the session was lost, once [`Recorder::lost`] is cancelled.
    #[must_use]
    pub fn lost_error(&self) -> Option<JournalError> {
        self.journal.lost_error()
    }

    /// What all events so far fold to, those not yet written included.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The epoch of this writer.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Why the journal could not be written, while it cannot.
    #[must_use]
    pub fn failure(&self) -> Option<&JournalError> {
        self.failure.as_ref()
    }

    /// Shows every further event to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer);
    }

    /// Shows further events to these observers and no others; returns the previous ones.
    pub fn swap_observers(&mut self, observers: Vec<Observer>) -> Vec<Observer> {
        std::mem::replace(&mut self.observers, observers)
    }

    /// Records events and writes them, as durable as the strictest of them requires. Cancel safe:
    /// events of a future that is dropped stay recorded and are written with the next ones.
    ///
    /// # Errors
    /// When the journal cannot be written. The events stay recorded: they may be in the journal
    /// already, and the next append writes them first.
    pub async fn append(
        &mut self,
        turn: Option<&TurnId>,
        events: Vec<Event>,
    ) -> Result<(), JournalError> {
        self.record(turn, events);
        self.flush().await?;
        if self.next_seq - self.state.sources.snapshot.unwrap_or(0) > SNAPSHOT_EVERY
            && self.record_snapshot()
        {
            // If it fails, so will the next append, which reports it.
            let _ = self.flush().await;
        }
        Ok(())
    }

    /// Numbers, stamps and folds events, to be written by the next [`Recorder::flush`].
    pub fn record(&mut self, turn: Option<&TurnId>, events: Vec<Event>) {
        let ts = self.clock.now();
        for event in events {
            let (seq, epoch, turn) = (self.next_seq, self.epoch, turn.cloned());
            let envelope = Arc::new(Envelope { seq, epoch, ts, turn, event, min_reader: None });
            self.next_seq += 1;
            if let Err(error) = self.state.apply(&envelope) {
                tracing::error!(%error, "an event does not follow the one before it");
            }
            self.unwritten.push(envelope);
        }
    }

    /// Writes what is recorded and not written. Cancel safe.
    ///
    /// # Errors
    /// When the journal still cannot be written after some attempts; the events stay recorded.
    pub async fn flush(&mut self) -> Result<(), JournalError> {
        let result = self.write_unwritten().await;
        self.failure = result.as_ref().err().cloned();
        result
    }

    async fn write_unwritten(&mut self) -> Result<(), JournalError> {
        let mut delays = self.retries.clone().into_iter();
        while !self.unwritten.is_empty() {
            let durability = self.durability();
            let span = append_span(&Span::current(), self.unwritten.len(), durability);
            let append = self.journal.append(&self.unwritten, durability);
            let appended = append.instrument(span.clone()).await;
            if let Err(error) = &appended {
                record_error(&span, error.kind().code());
            }
            match appended {
                Ok(()) => self.on_written(durability),
                Err(JournalError::OutOfOrder { last, .. }) if self.requeue_after(last) => {
                    tracing::warn!(%last, "the journal forgot unsynced events; writing them again");
                }
                Err(error) if error.retryable() => match delays.next() {
                    Some(delay) => {
                        tracing::warn!(%error, ?delay, "an append failed and is tried again");
                        tokio::time::sleep(delay).await;
                    }
                    None => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the last events of this writer, synced.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn close(&mut self, reason: &str) -> Result<(), JournalError> {
        self.record_snapshot();
        self.append(None, vec![Closed { reason: reason.to_owned() }.into()]).await
    }

    /// Records a snapshot, unless an answer or a compaction is unfinished; says whether it did.
    fn record_snapshot(&mut self) -> bool {
        let snapshot = self.state.snapshot();
        let taken = snapshot.is_some();
        self.record(None, snapshot.into_iter().map(Event::from).collect());
        taken
    }

    fn durability(&self) -> Durability {
        if self.unsynced.len() >= SYNC_EVERY {
            return Durability::Synced;
        }
        let strictest = self.unwritten.iter().map(|envelope| envelope.event.durability()).max();
        strictest.unwrap_or(Durability::Written)
    }

    fn on_written(&mut self, durability: Durability) {
        let written = std::mem::take(&mut self.unwritten);
        for envelope in written.iter().filter(|envelope| envelope.seq > self.last_observed) {
            for observer in &self.observers {
                // An observer's panic is its own: the event is written, and others see it.
                let show = AssertUnwindSafe(|| observer(envelope));
                if std::panic::catch_unwind(show).is_err() {
                    tracing::error!(event = envelope.event.kind(), "an observer panicked");
                }
            }
        }
        self.last_observed = written.last().map_or(self.last_observed, |last| last.seq.max(self.last_observed));
        match durability {
            Durability::Synced => self.unsynced.clear(),
            Durability::Written => self.unsynced.extend(written),
        }
    }

    /// The journal ends with `last`, earlier than it acknowledged: its machine failed before the
    /// rest was synced. Queues the rest again; says whether there is any.
    fn requeue_after(&mut self, last: Cursor) -> bool {
        let next = last.seq.saturating_add(1);
        let Some(at) = self.unsynced.iter().position(|envelope| envelope.seq == next) else {
            return false;
        };
        let mut forgotten = self.unsynced.split_off(at);
        forgotten.append(&mut self.unwritten);
        self.unwritten = forgotten;
        true
    }
}
