//! Handles to the sessions of a pool.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use futures::Stream;
use robota_core::ids::{InputId, SessionId};
use robota_core::message::Content;
use robota_session::{
    EventFilter, SendOptions, Session, SessionError, StartAt, Subscription, SubscriptionItem,
};

use super::registry::Entry;
use super::{Inner, Pool, PoolError};

/// Refers to a session of a pool, live or passive. Its methods open it if it is passive.
#[derive(Clone)]
pub struct PoolAgent {
    pool: Pool,
    id: SessionId,
}

impl PoolAgent {
    pub(super) fn new(pool: Pool, id: SessionId) -> Self {
        Self { pool, id }
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the open session. It stays open while the answer exists.
    ///
    /// # Errors
    /// If the pool no longer has the session, is closing, has no room for it, or it cannot
    /// be opened.
    pub async fn session(&self) -> Result<PooledSession, PoolError> {
        self.pool.inner().pin(&self.id).await
    }

    /// Sends an input. Returns as soon as it is stored.
    ///
    /// # Errors
    /// As [`PoolAgent::session`], and when the input could not be stored.
    pub async fn send(&self, content: impl Into<Content>) -> Result<InputId, PoolError> {
        Ok(self.session().await?.send(content).await?)
    }

    /// Sends an input with options.
    ///
    /// # Errors
    /// As [`PoolAgent::send`].
    pub async fn send_with(
        &self,
        content: impl Into<Content>,
        options: impl Into<SendOptions>,
    ) -> Result<InputId, PoolError> {
        Ok(self.session().await?.send_with(content, options).await?)
    }

    /// Sends an input and waits for the answer.
    ///
    /// # Errors
    /// As [`PoolAgent::send`], and when the turn failed.
    pub async fn run(&self, content: impl Into<Content>) -> Result<String, PoolError> {
        Ok(self.session().await?.run(content).await?)
    }

    /// Follows the session, which stays open while the subscription exists. `robota_session::follow`
    /// follows a session without opening it.
    ///
    /// # Errors
    /// As [`PoolAgent::session`], and when the journal cannot be read.
    pub async fn subscribe(
        &self,
        since: impl Into<StartAt>,
        kinds: impl Into<EventFilter>,
    ) -> Result<PooledSubscription, PoolError> {
        let session = self.session().await?;
        let events = session.subscribe(since, kinds).await?;
        Ok(PooledSubscription { events, _session: session })
    }
}

/// Keeps a session of a pool open. It stays open while this exists.
pub struct PooledSession {
    inner: Arc<Inner>,
    session: Session,
    entry: Arc<Entry>,
}

impl PooledSession {
    /// Counts a user of an open session. The caller holds the slot.
    pub(super) fn new(inner: Arc<Inner>, session: Session, entry: Arc<Entry>) -> Self {
        // While the slot is held, so that `passivate` sees either the pin or an unused session.
        entry.pins.fetch_add(1, Ordering::AcqRel);
        Self { inner, session, entry }
    }
}

impl std::ops::Deref for PooledSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        // Before the count falls: a session whose last user leaves was used until now.
        self.inner.touch(&self.entry);
        self.entry.pins.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Receives the events of a session of a pool.
pub struct PooledSubscription {
    events: Subscription,
    _session: PooledSession,
}

impl Stream for PooledSubscription {
    type Item = Result<SubscriptionItem, SessionError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.get_mut().events).poll_next(cx)
    }
}
