//! What one host chose: the resources that it subscribed to, and its log level.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::LogLevel;

/// How many resources one host can subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// The choices of one host.
#[derive(Default)]
pub(super) struct Choices {
    level: Mutex<Option<LogLevel>>,
    subscriptions: Arc<Mutex<HashSet<String>>>,
    /// Ends the task that announces changes. It is started with the first subscription.
    announcing: Mutex<Option<DropGuard>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Choices {
    pub(super) fn level(&self) -> LogLevel {
        lock(&self.level).unwrap_or_default()
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        *lock(&self.level) = Some(level);
    }

    /// Announces the changes of a resource from now on. Returns false if there are too many.
    pub(super) fn subscribe(
        &self,
        uri: String,
        peer: Peer<RoleServer>,
        changes: broadcast::Receiver<String>,
    ) -> bool {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains(&uri) {
            return false;
        }
        subscriptions.insert(uri);
        drop(subscriptions);
        let mut announcing = lock(&self.announcing);
        if announcing.is_none() {
            let ended = CancellationToken::new();
            let wanted = self.subscriptions.clone();
            tokio::spawn(ended.clone().run_until_cancelled_owned(announce(wanted, peer, changes)));
            *announcing = Some(ended.drop_guard());
        }
        true
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        lock(&self.subscriptions).remove(uri);
    }
}

async fn announce(
    wanted: Arc<Mutex<HashSet<String>>>,
    peer: Peer<RoleServer>,
    mut changes: broadcast::Receiver<String>,
) {
    while let Some(changed) = next(&mut changes).await {
        let of_host: Vec<String> = match changed {
            Changed::One(uri) => lock(&wanted).get(&uri).cloned().into_iter().collect(),
            Changed::Any => lock(&wanted).iter().cloned().collect(),
        };
        for uri in of_host {
            let params = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(params).await.is_err() {
                return;
            }
        }
    }
}

/// What changed since the last look of one receiver.
pub(super) enum Changed {
    /// The resource with this address.
    One(String),
    /// More resources than were remembered for this receiver.
    Any,
}

/// Waits for the next change; none when there will be no more.
pub(super) async fn next(changes: &mut broadcast::Receiver<String>) -> Option<Changed> {
    match changes.recv().await {
        Ok(uri) => Some(Changed::One(uri)),
        Err(broadcast::error::RecvError::Lagged(_)) => Some(Changed::Any),
        Err(broadcast::error::RecvError::Closed) => None,
    }
}
