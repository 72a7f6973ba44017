//! Subscriptions: the events in the journal, then those that follow, without gaps or duplicates.
//!
//! A reader has a position in the journal. A published event is only a hint that there is more. A
//! reader that receives it in order uses it directly. A reader that started late, is slow or lost
//! its queue reads the journal from its position.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use robota_core::backoff::Backoff;
use robota_core::error::Diagnose as _;
use robota_core::event::{Cursor, Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::error::SessionError;
use crate::event_kind::{EventFilter, EventKind};
use crate::hub::{SessionHub, Unreachable};

/// How many events are read from the journal at a time.
// A page is held in memory for each subscriber that catches up.
const PAGE: usize = 256;

/// How long a reader waits for a store that has not answered for a whole lease.
const UNREACHABLE_GRACE: Duration = Duration::from_secs(1);

/// The waits between retries of a failed read.
const READ_RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Where a subscription starts in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartAt {
    /// With the events from now on.
    #[default]
    Now,
    /// With the first event of the journal.
    Start,
    /// With the events after this one.
    After(Cursor),
}

impl From<Cursor> for StartAt {
    fn from(cursor: Cursor) -> Self {
        Self::After(cursor)
    }
}

/// Holds an event of the journal, with its kinds for this subscriber.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEvent {
    /// The kinds of the event that the subscriber asked for.
    pub kinds: Vec<EventKind>,
    /// The event with its sequence number, epoch, time and turn.
    pub envelope: Arc<Envelope>,
}

impl SessionEvent {
    /// Returns the event's position; pass it to [`StartAt::After`] to continue there later.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.envelope.cursor()
    }

    /// Returns the event without its envelope.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.envelope.event
    }
}

/// What a subscriber receives: an event, or the notice that its cursor was lost.
#[derive(Debug, Clone, PartialEq)]
pub enum SubscriptionItem {
    /// An event of the journal, in order and without gaps.
    Event(SessionEvent),
    /// The subscriber's cursor refers to events that a power failure removed, or that never
    /// existed. Events that the subscriber saw after `valid` are void; the events after `valid`
    /// come next.
    CursorReset {
        /// The cursor that the subscriber asked for, or had reached.
        asked: Cursor,
        /// The last event before it that still exists; none if there is none.
        valid: Option<Cursor>,
    },
}

/// Receives the events of a session as a stream. It ends when the session is shut down or lost.
pub struct Subscription {
    inner: BoxStream<'static, Result<SubscriptionItem, SessionError>>,
    store: Arc<dyn JournalStore>,
    session: SessionId,
    starts_after: u64,
}

impl Subscription {
    /// Returns the sequence number of the last event before the subscription; 0 if it starts with the
    /// first one.
    #[must_use]
    pub fn starts_after(&self) -> u64 {
        self.starts_after
    }

    /// Returns the events up to this sequence number, at least from the start of the turn that runs
    /// there: what a subscriber has to know to understand the events that follow.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn turn_before(
        &self,
        seq: u64,
    ) -> impl Future<Output = Result<Vec<Envelope>, SessionError>> + Send + use<> {
        // Without a reference to the subscription, which threads cannot share.
        let (store, session) = (self.store.clone(), self.session.clone());
        async move {
            let (mut pages, mut end) = (Vec::new(), seq);
            while end > 0 {
                let start = end.saturating_sub(PAGE as u64);
                let count = usize::try_from(end - start).unwrap_or(PAGE);
                let mut page = store.read(&session, start, count).await?;
                page.retain(|envelope| envelope.seq <= end);
                let found = page.iter().any(|envelope| bounds_turn(&envelope.event));
                pages.push(page);
                end = if found { 0 } else { start };
            }
            Ok(pages.into_iter().rev().flatten().collect())
        }
    }

    /// Returns the next event and skips cursor resets. For subscribers that start at a cursor they
    /// just received.
    pub async fn next_event(&mut self) -> Option<Result<SessionEvent, SessionError>> {
        loop {
            match self.inner.next().await? {
                Ok(SubscriptionItem::Event(event)) => return Some(Ok(event)),
                Ok(SubscriptionItem::CursorReset { .. }) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns whether a turn starts or ends with this event.
fn bounds_turn(event: &Event) -> bool {
    matches!(event, Event::TurnStarted(_) | Event::TurnFinished(_))
}

impl Stream for Subscription {
    type Item = Result<SubscriptionItem, SessionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.inner.poll_next_unpin(context)
    }
}

/// Follows a session that need not be open in this process: another process may write to it. The
/// stream starts with the events after `start_at`, then continues with those that the writer
/// appends, when the store notices them.
///
/// # Errors
/// If there is no such session, or its journal cannot be read. The stream ends with an error if the
/// session is deleted.
pub async fn follow(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    start_at: impl Into<StartAt>,
    filter: impl Into<EventFilter>,
) -> Result<Subscription, SessionError> {
    let last = store.head(session).await?.last.seq;
    start(store, session, Source::Store, last, start_at.into(), filter.into()).await
}

/// Follows a session that is open in this process.
pub(crate) async fn subscribe(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    hub: &SessionHub,
    start_at: StartAt,
    filter: EventFilter,
) -> Result<Subscription, SessionError> {
    subscribe_with(store, session, hub, start_at, filter, None).await
}

/// Follows a session that is open in this process. A failed read of the journal is retried for as long
/// as the session lives: the session can recover too, and its reader must not miss what follows.
pub(crate) async fn subscribe_patiently(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    hub: &SessionHub,
    start_at: StartAt,
    filter: EventFilter,
) -> Result<Subscription, SessionError> {
    subscribe_with(store, session, hub, start_at, filter, Some(0)).await
}

async fn subscribe_with(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    hub: &SessionHub,
    start_at: StartAt,
    filter: EventFilter,
    retry: Option<u32>,
) -> Result<Subscription, SessionError> {
    // Subscribe before reading the position, so that no event is missed in between.
    let source = Source::Live {
        queue: hub.subscribe(),
        ended: hub.ended.clone(),
        unreachable: hub.unreachable.clone(),
        retry,
    };
    let last = hub.status().last.map_or(0, |cursor| cursor.seq);
    start(store, session, source, last, start_at, filter).await
}

async fn start(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    source: Source,
    last: u64,
    start_at: StartAt,
    filter: EventFilter,
) -> Result<Subscription, SessionError> {
    let (at, reset) = match start_at {
        StartAt::Now => (last, None),
        StartAt::Start => (0, None),
        StartAt::After(cursor) => resolve(&*store, session, cursor).await?,
    };
    let feed = Feed {
        store: store.clone(),
        session: session.clone(),
        source,
        filter,
        at,
        epoch: None,
        // Live events alone would leave a gap, so the journal is read first.
        behind: at < last,
        closing: false,
        reset,
        ready: VecDeque::new(),
    };
    let inner = futures::stream::unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        match feed.next().await? {
            Ok(item) => Some((Ok(item), Some(feed))),
            // After an error the stream ends. The subscriber can continue from its cursor, so
            // nothing is skipped.
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(Subscription { inner: inner.boxed(), store, session: session.clone(), starts_after: at })
}

/// Resolves a cursor: returns the sequence number to continue after, and a reset if it is needed.
async fn resolve(
    store: &dyn JournalStore,
    session: &SessionId,
    asked: Cursor,
) -> Result<(u64, Option<SubscriptionItem>), JournalError> {
    // The position before the first event exists in every history.
    if asked.seq == 0 {
        return Ok((0, None));
    }
    let last = store.head(session).await?.last;
    let epoch_of = async |seq: u64| -> Result<u32, JournalError> {
        Ok(store.read_events(session, &[seq]).await?.first().map_or(0, |event| event.epoch))
    };
    let most = asked.seq.min(last.seq);
    if most == asked.seq && epoch_of(asked.seq).await? == asked.epoch {
        return Ok((asked.seq, None));
    }
    // Epochs never decrease, so a binary search finds the last event of this epoch or an earlier
    // one.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if epoch_of(middle).await? <= asked.epoch {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let valid = match low {
        0 => None,
        seq => Some(Cursor { epoch: epoch_of(seq).await?, seq }),
    };
    Ok((low, Some(SubscriptionItem::CursorReset { asked, valid })))
}

/// How the subscription learns that there are more events.
enum Source {
    /// The session is open in this process.
    Live {
        queue: broadcast::Receiver<Arc<Envelope>>,
        ended: CancellationToken,
        unreachable: Arc<Unreachable>,
        /// How many reads failed in a row; none if a failed read is not retried.
        retry: Option<u32>,
    },
    /// The store notices what another process appends.
    Store,
}

struct Feed {
    store: Arc<dyn JournalStore>,
    session: SessionId,
    source: Source,
    filter: EventFilter,
    /// The last event that was read.
    at: u64,
    /// Its epoch; none until an event was read.
    epoch: Option<u32>,
    /// Whether the journal has more events than were read.
    behind: bool,
    /// Whether nothing more will be published.
    closing: bool,
    reset: Option<SubscriptionItem>,
    ready: VecDeque<Arc<Envelope>>,
}

impl Feed {
    /// Reads the next page. If the session ended because its store does not answer, this fails soon:
    /// a read would wait for the client's time limit, and the subscriber for the end of the session.
    async fn read_page(&self) -> Result<Result<Vec<Envelope>, JournalError>, SessionError> {
        let page = self.store.read(&self.session, self.at, PAGE);
        match &self.source {
            Source::Live { unreachable, .. } => tokio::select! {
                biased;
                page = page => Ok(page),
                error = unreachable.error_after(UNREACHABLE_GRACE) => Err(error),
            },
            Source::Store => Ok(page.await),
        }
    }

    /// Waits before a failed read is retried.
    ///
    /// # Errors
    /// The error of the read, if it is not retried.
    async fn wait_to_retry(&mut self, error: JournalError) -> Result<(), JournalError> {
        let Source::Live { ended, retry: Some(failures), .. } = &mut self.source else {
            return Err(error);
        };
        if !error.retryable() || ended.is_cancelled() {
            return Err(error);
        }
        *failures = failures.saturating_add(1);
        let delay = READ_RETRY.after(*failures);
        tracing::warn!(%error, ?delay, "a subscription could not read the journal and tries again");
        let _ = tokio::time::timeout(delay, ended.cancelled()).await;
        Ok(())
    }

    /// Returns whether the next events belong to another history. A writer starts its epoch with
    /// `opened`. If that event is missing here, it has a sequence number that this reader saw with
    /// another event, which a crash of the store removed.
    fn was_replaced(&self, page: &[Envelope]) -> bool {
        let (Some(epoch), Some(first)) = (self.epoch, page.first()) else { return false };
        first.epoch > epoch && !matches!(first.event, Event::Opened(_) | Event::SessionCreated(_))
    }

    /// Goes back to the last event that still exists.
    async fn rewind(&mut self) -> Result<Option<SubscriptionItem>, JournalError> {
        let epoch = self.epoch.take().unwrap_or_default();
        let seen = Cursor { epoch, seq: self.at };
        let (at, reset) = resolve(&*self.store, &self.session, seen).await?;
        self.at = at;
        Ok(reset)
    }

    async fn next(&mut self) -> Option<Result<SubscriptionItem, SessionError>> {
        if let Some(reset) = self.reset.take() {
            return Some(Ok(reset));
        }
        loop {
            while let Some(envelope) = self.ready.pop_front() {
                // Also for events that the filter leaves out, so that they are not read again.
                (self.at, self.epoch) = (envelope.seq, Some(envelope.epoch));
                if let Some(kinds) = self.filter.matching(&envelope.event) {
                    return Some(Ok(SubscriptionItem::Event(SessionEvent { kinds, envelope })));
                }
            }
            if self.behind {
                let read = match self.read_page().await {
                    Ok(read) => read,
                    // Everything that was published has been delivered.
                    Err(_) if self.closing => return None,
                    Err(lost) => return Some(Err(lost)),
                };
                match read {
                    Ok(page) if self.was_replaced(&page) => match self.rewind().await {
                        Ok(Some(reset)) => return Some(Ok(reset)),
                        Ok(None) => {}
                        Err(error) => return Some(Err(error.into())),
                    },
                    Ok(page) => {
                        if let Source::Live { retry: Some(failures), .. } = &mut self.source {
                            *failures = 0;
                        }
                        self.behind = page.len() == PAGE;
                        self.ready.extend(page.into_iter().map(Arc::new));
                    }
                    Err(error) => {
                        if let Err(error) = self.wait_to_retry(error).await {
                            return Some(Err(error.into()));
                        }
                    }
                }
                continue;
            }
            if self.closing {
                return None;
            }
            match &mut self.source {
                Source::Live { queue, ended, .. } => tokio::select! {
                    biased;
                    published = queue.recv() => match published {
                        // Read from the journal already: the queue was subscribed to before the
                        // journal was read.
                        Ok(envelope) if envelope.seq <= self.at => {}
                        Ok(envelope) if envelope.seq == self.at + 1 => {
                            self.ready.push_back(envelope);
                        }
                        // A slow subscriber missed some in the queue, which is bounded; the journal
                        // has all of them.
                        Ok(_) | Err(RecvError::Lagged(_)) => self.behind = true,
                        Err(RecvError::Closed) => self.closing = true,
                    },
                    // One more read of the journal: the last events may be in the store and not in
                    // the queue.
                    () = ended.cancelled() => (self.closing, self.behind) = (true, true),
                },
                Source::Store => match self.store.wait_past(&self.session, self.at).await {
                    Ok(()) => self.behind = true,
                    Err(error) => return Some(Err(error.into())),
                },
            }
        }
    }
}
