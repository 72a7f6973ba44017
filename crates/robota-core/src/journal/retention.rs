//! Which sessions to keep: one rule for all stores.

use jiff::{SignedDuration, Timestamp};

use super::{JournalError, JournalStore, SessionFilter, SessionHead};
use crate::ids::SessionId;

/// Which sessions to keep. Fields that are `None` have no effect; an empty policy keeps everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionPolicy {
    /// The number of newest sessions that are always kept. If it is the only field, all others are
    /// deleted.
    pub keep_last: Option<usize>,
    /// Deletes sessions without an event for this long.
    pub older_than: Option<SignedDuration>,
    /// Deletes the oldest sessions until the others take at most this many bytes.
    pub max_bytes: Option<u64>,
}

/// A session that the policy does not keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruned {
    /// The id of the session that is, or would be, deleted.
    pub session: SessionId,
    /// Its size in bytes before it was deleted.
    pub bytes: u64,
    /// Why it was not deleted, if it was not: it is open, or the deletion failed.
    pub kept: Option<JournalError>,
}

/// Deletes the sessions that a policy does not keep, oldest first, or only lists them. Sessions of
/// other users and open sessions are not deleted.
///
/// # Errors
/// When the store cannot be read. A session that cannot be deleted is reported, not an error.
pub async fn prune(
    store: &dyn JournalStore,
    policy: RetentionPolicy,
    now: Timestamp,
    dry_run: bool,
) -> Result<Vec<Pruned>, JournalError> {
    let sessions = store.list(&SessionFilter::default()).await?.sessions;
    let mut sized = Vec::with_capacity(sessions.len());
    for head in sessions.into_iter().filter(|head| !head.foreign) {
        match store.bytes(&head.session).await {
            Ok(bytes) => sized.push((head, bytes)),
            // Another process deleted it meanwhile.
            Err(JournalError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut pruned = Vec::new();
    for (session, bytes) in choose(&sized, policy, now) {
        // One by one: a session that cannot be deleted must not keep the others.
        let kept = if dry_run { None } else { store.delete(&session).await.err() };
        pruned.push(Pruned { session, bytes, kept });
    }
    Ok(pruned)
}

/// Selects the sessions to delete, oldest first, from a list that is newest first.
fn choose(
    sessions: &[(SessionHead, u64)],
    policy: RetentionPolicy,
    now: Timestamp,
) -> Vec<(SessionId, u64)> {
    let RetentionPolicy { keep_last, older_than, max_bytes } = policy;
    let only_count = keep_last.is_some() && older_than.is_none() && max_bytes.is_none();
    let limit = older_than.and_then(|age| now.checked_sub(age).ok());
    let mut left: u64 = sessions.iter().map(|(_, bytes)| bytes).sum();
    let mut chosen = Vec::new();
    // Oldest first, so that `max_bytes` deletes as few recent sessions as possible.
    for (head, bytes) in sessions.iter().skip(keep_last.unwrap_or(0)).rev() {
        let old = limit.is_some_and(|limit| head.updated < limit);
        let too_much = max_bytes.is_some_and(|max| left > max);
        if only_count || old || too_much {
            left -= bytes;
            chosen.push((head.session.clone(), *bytes));
        }
    }
    chosen
}

#[cfg(test)]
mod tests;
