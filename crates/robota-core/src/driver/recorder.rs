//! The one writer: numbers events, appends them, folds them, and only then shows them.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::event::{Closed, Delivery, Durability, Envelope, Event, InputAccepted};
use crate::ids::{Ids, InputId, TurnId};
use crate::journal::{Journal, JournalError};
use crate::message::Block;
use crate::state::State;

/// Is shown every event, in order, after it was appended.
pub type Observer = Arc<dyn Fn(&Arc<Envelope>) + Send + Sync>;

/// Owns a session's journal and the state its events fold to.
pub struct Recorder {
    journal: Box<dyn Journal>,
    clock: Arc<dyn Clock>,
    state: State,
    epoch: u32,
    next_seq: u64,
    observers: Vec<Observer>,
    /// Events that happened and could not be appended: the next append tries them first.
    owed: Vec<Arc<Envelope>>,
}

/// A snapshot of the state follows about every so many events: a resume reads no more.
pub const SNAPSHOT_EVERY: u64 = 2_000;

impl Recorder {
    /// A writer that goes on after `state`, in a new epoch.
    pub fn new(journal: Box<dyn Journal>, clock: Arc<dyn Clock>, state: State) -> Self {
        let (epoch, next_seq) =
            state.cursor.map_or((1, 1), |cursor| (cursor.epoch + 1, cursor.seq + 1));
        Self { journal, clock, state, epoch, next_seq, observers: Vec::new(), owed: Vec::new() }
    }

    /// A writer that goes on after `state` in the same epoch: its journal was handed over open.
    pub fn going_on(journal: Box<dyn Journal>, clock: Arc<dyn Clock>, state: State) -> Self {
        let epoch = state.cursor.map_or(1, |cursor| cursor.epoch);
        Self { epoch, ..Self::new(journal, clock, state) }
    }

    /// Is cancelled when somebody else took the session over.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        self.journal.lost()
    }

    /// What the events so far fold to, those still owed included.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The epoch of this writer.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Shows every further event to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer);
    }

    /// Shows further events to these observers and no others; returns those of before.
    pub fn swap_observers(&mut self, observers: Vec<Observer>) -> Vec<Observer> {
        std::mem::replace(&mut self.observers, observers)
    }

    /// Appends events, as durable as the strictest of them asks; folds and shows them then.
    ///
    /// # Errors
    /// When the journal cannot be written: nothing of it happened, as far as anybody can tell.
    pub async fn append(
        &mut self,
        turn: Option<&TurnId>,
        events: Vec<Event>,
    ) -> Result<(), JournalError> {
        self.settle().await?;
        let durability = events.iter().map(Event::durability).max().unwrap_or(Durability::Written);
        let envelopes = self.number(turn, events);
        self.journal.append(&envelopes, durability).await?;
        self.next_seq += envelopes.len() as u64;
        for envelope in &envelopes {
            self.fold(envelope)?;
        }
        self.show(&envelopes);
        if self.next_seq - self.state.sources.snapshot.unwrap_or(0) > SNAPSHOT_EVERY {
            self.snapshot().await;
        }
        Ok(())
    }

    /// Journals what the state is made of, where it can be told.
    async fn snapshot(&mut self) {
        let Some(snapshot) = self.state.snapshot() else { return };
        let envelopes = self.number(None, vec![snapshot.into()]);
        // Nobody needs it: when it fails, so will the next event, and that one is told.
        if self.journal.append(&envelopes, Durability::Written).await.is_ok() {
            self.next_seq += 1;
            for envelope in &envelopes {
                // Numbered by us just now, so it follows.
                let _ = self.fold(envelope);
            }
            self.show(&envelopes);
        }
    }

    /// Says that this writer is done: the last events, synced.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn close(&mut self, reason: &str) -> Result<(), JournalError> {
        self.settle().await?;
        self.snapshot().await;
        self.append(None, vec![Closed { reason: reason.to_owned() }.into()]).await
    }

    /// Keeps events that could not be appended; they are folded, and shown once they are safe.
    pub fn owe(&mut self, turn: Option<&TurnId>, events: Vec<Event>) {
        let envelopes = self.number(turn, events);
        self.next_seq += envelopes.len() as u64;
        for envelope in &envelopes {
            // Numbered by us one line above, so it follows.
            let _ = self.fold(envelope);
        }
        self.owed.extend(envelopes);
    }

    /// Appends what is owed, if anything is.
    ///
    /// # Errors
    /// When the journal still cannot be written; the events stay owed.
    pub async fn settle(&mut self) -> Result<(), JournalError> {
        if self.owed.is_empty() {
            return Ok(());
        }
        self.journal.append(&self.owed, Durability::Synced).await?;
        let owed = std::mem::take(&mut self.owed);
        self.show(&owed);
        Ok(())
    }

    /// Accepts an input: when this returns it is safe.
    ///
    /// # Errors
    /// When the journal cannot be written; the input is then not accepted.
    pub async fn accept(
        &mut self,
        ids: &dyn Ids,
        delivery: Delivery,
        content: Vec<Block>,
    ) -> Result<InputId, JournalError> {
        let input = InputId::mint(ids);
        let metadata = serde_json::Map::new();
        let event = InputAccepted { input: input.clone(), delivery, content, metadata };
        self.append(None, vec![event.into()]).await?;
        Ok(input)
    }

    fn number(&self, turn: Option<&TurnId>, events: Vec<Event>) -> Vec<Arc<Envelope>> {
        let ts = self.clock.now();
        (self.next_seq..)
            .zip(events)
            .map(|(seq, event)| {
                let (epoch, turn) = (self.epoch, turn.cloned());
                Arc::new(Envelope { seq, epoch, ts, turn, event, min_reader: None })
            })
            .collect()
    }

    fn fold(&mut self, envelope: &Envelope) -> Result<(), JournalError> {
        self.state.apply(envelope).map_err(|error| JournalError::Damaged {
            place: "the session's state".to_owned(),
            reason: error.to_string(),
        })
    }

    fn show(&self, envelopes: &[Arc<Envelope>]) {
        for envelope in envelopes {
            for observer in &self.observers {
                observer(envelope);
            }
        }
    }
}
