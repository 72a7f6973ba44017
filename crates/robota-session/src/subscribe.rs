//! Subscriptions: what is in the journal joined to what happens, with no gap and no duplicate.
//!
//! A reader has a place in the journal. What is published is only a hint that there is more: a
//! reader who got it in order takes it, and everybody else (who comes late, is slow, or lost
//! its queue) reads the journal from its place.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use robota_core::event::{Cursor, Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::error::SessionError;
use crate::event_kind::{EventFilter, EventKind};
use crate::hub::SessionHub;

/// Events read from the journal at a time.
const PAGE: usize = 256;

/// Where a subscriber begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartAt {
    /// With what happens from now on.
    #[default]
    Now,
    /// With the first event.
    Start,
    /// With what follows this one.
    After(Cursor),
}

impl From<Cursor> for StartAt {
    fn from(cursor: Cursor) -> Self {
        Self::After(cursor)
    }
}

/// An event of the journal, and what it is to this subscriber.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEvent {
    /// The kinds of it that were asked for.
    pub kinds: Vec<EventKind>,
    /// The event.
    pub envelope: Arc<Envelope>,
}

impl SessionEvent {
    /// Its place: what to come back with.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.envelope.cursor()
    }

    /// What happened.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.envelope.event
    }
}

/// What a subscriber gets.
#[derive(Debug, Clone, PartialEq)]
pub enum SubscriptionItem {
    /// Something happened.
    Event(SessionEvent),
    /// The cursor the subscriber came with is of events that a loss of power took back, or that
    /// never were. What it saw after `valid` did not happen; what follows `valid` comes next.
    CursorReset {
        /// The cursor it came with.
        asked: Cursor,
        /// The last event of its journal that is still there; none when there is none.
        valid: Option<Cursor>,
    },
}

/// A stream of what happens. It ends when the session is shut down or lost.
pub struct Subscription {
    inner: BoxStream<'static, Result<SubscriptionItem, SessionError>>,
}

impl Subscription {
    /// Only the events, for those who begin at a place they just got.
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

impl Stream for Subscription {
    type Item = Result<SubscriptionItem, SessionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.inner.poll_next_unpin(context)
    }
}

/// Follows a session that need not be open here: another process may write to it. What is in the
/// journal after `since` comes first, then what the writer appends, as the store notices it.
///
/// # Errors
/// When there is no such session, or its journal cannot be read. The stream ends with an error
/// when the session is deleted.
pub async fn follow(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    since: impl Into<StartAt>,
    kinds: impl Into<EventFilter>,
) -> Result<Subscription, SessionError> {
    let last = store.head(session).await?.last.seq;
    start(store, session, Source::Store, last, since.into(), kinds.into()).await
}

/// Follows a session that is open here.
pub(crate) async fn subscribe(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    hub: &SessionHub,
    since: StartAt,
    kinds: EventFilter,
) -> Result<Subscription, SessionError> {
    // First the queue, then the place: nothing can fall between.
    let source = Source::Live { queue: hub.subscribe(), ended: hub.ended.clone() };
    let last = hub.status().last.map_or(0, |cursor| cursor.seq);
    start(store, session, source, last, since, kinds).await
}

async fn start(
    store: Arc<dyn JournalStore>,
    session: &SessionId,
    source: Source,
    last: u64,
    since: StartAt,
    kinds: EventFilter,
) -> Result<Subscription, SessionError> {
    let (at, reset) = match since {
        StartAt::Now => (last, None),
        StartAt::Start => (0, None),
        StartAt::After(cursor) => place(&*store, session, cursor).await?,
    };
    let feed = Feed {
        store,
        session: session.clone(),
        source,
        kinds,
        at,
        epoch: None,
        behind: at < last,
        closing: false,
        reset,
        ready: VecDeque::new(),
    };
    let inner = futures::stream::unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        match feed.next().await? {
            Ok(observed) => Some((Ok(observed), Some(feed))),
            // What cannot be read now is not skipped: the subscriber comes back with its cursor.
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(Subscription { inner: inner.boxed() })
}

/// Where a cursor leads: the number to go on after, and the reset to tell.
async fn place(
    store: &dyn JournalStore,
    session: &SessionId,
    asked: Cursor,
) -> Result<(u64, Option<SubscriptionItem>), JournalError> {
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
    // Epochs only grow: the last event of its epoch, or of one before, is found by halving.
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

/// What says that there is more.
enum Source {
    /// The session is open here.
    Live { queue: broadcast::Receiver<Arc<Envelope>>, ended: CancellationToken },
    /// The store notices what another process appends.
    Store,
}

struct Feed {
    store: Arc<dyn JournalStore>,
    session: SessionId,
    source: Source,
    kinds: EventFilter,
    /// The last event that was looked at.
    at: u64,
    /// Its epoch, once one was looked at.
    epoch: Option<u32>,
    /// Whether the journal has more than what was looked at.
    behind: bool,
    /// Whether nothing more will be published.
    closing: bool,
    reset: Option<SubscriptionItem>,
    ready: VecDeque<Arc<Envelope>>,
}

impl Feed {
    /// Whether what follows belongs to another history: a writer begins its epoch with `opened`,
    /// so that was among numbers this reader has seen as something else. A crash of the store took
    /// those back.
    fn was_replaced(&self, page: &[Envelope]) -> bool {
        let (Some(epoch), Some(first)) = (self.epoch, page.first()) else { return false };
        first.epoch > epoch && !matches!(first.event, Event::Opened(_) | Event::SessionCreated(_))
    }

    /// Goes back to the last event that is still there.
    async fn rewind(&mut self) -> Result<Option<SubscriptionItem>, JournalError> {
        let epoch = self.epoch.take().unwrap_or_default();
        let seen = Cursor { epoch, seq: self.at };
        let (at, reset) = place(&*self.store, &self.session, seen).await?;
        self.at = at;
        Ok(reset)
    }

    async fn next(&mut self) -> Option<Result<SubscriptionItem, SessionError>> {
        if let Some(reset) = self.reset.take() {
            return Some(Ok(reset));
        }
        loop {
            while let Some(envelope) = self.ready.pop_front() {
                (self.at, self.epoch) = (envelope.seq, Some(envelope.epoch));
                if let Some(kinds) = self.kinds.wanted(&envelope.event) {
                    return Some(Ok(SubscriptionItem::Event(SessionEvent { kinds, envelope })));
                }
            }
            if self.behind {
                match self.store.read(&self.session, self.at, PAGE).await {
                    Ok(page) if self.was_replaced(&page) => match self.rewind().await {
                        Ok(Some(reset)) => return Some(Ok(reset)),
                        Ok(None) => {}
                        Err(error) => return Some(Err(error.into())),
                    },
                    Ok(page) => {
                        self.behind = page.len() == PAGE;
                        self.ready.extend(page.into_iter().map(Arc::new));
                    }
                    Err(error) => return Some(Err(error.into())),
                }
                continue;
            }
            if self.closing {
                return None;
            }
            match &mut self.source {
                Source::Live { queue, ended } => tokio::select! {
                    biased;
                    published = queue.recv() => match published {
                        Ok(envelope) if envelope.seq <= self.at => {}
                        Ok(envelope) if envelope.seq == self.at + 1 => {
                            self.ready.push_back(envelope);
                        }
                        Ok(_) | Err(RecvError::Lagged(_)) => self.behind = true,
                        Err(RecvError::Closed) => self.closing = true,
                    },
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
