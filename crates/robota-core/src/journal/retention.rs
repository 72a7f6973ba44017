//! Which sessions to keep: one rule for every store.

use jiff::{SignedDuration, Timestamp};

use super::{JournalError, JournalStore, SessionFilter, SessionHead};
use crate::ids::SessionId;

/// Which sessions to keep. What is not set does not matter; an empty policy keeps everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionPolicy {
    /// The newest so many stay, whatever else is said. Alone: all others go.
    pub keep_last: Option<usize>,
    /// Those in which nothing happened for this long go.
    pub older_than: Option<SignedDuration>,
    /// The oldest go until the others take no more than this many bytes.
    pub max_bytes: Option<u64>,
}

/// A session that retention chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruned {
    /// Which.
    pub session: SessionId,
    /// How many bytes it took.
    pub bytes: u64,
    /// Why it is still there, if it is: somebody has it open, or it could not be deleted.
    pub kept: Option<JournalError>,
}

/// Deletes the sessions that a policy does not keep, oldest first, or only names them. Sessions
/// that somebody else wrote or that are open stay.
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
            // Somebody deleted it meanwhile.
            Err(JournalError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut pruned = Vec::new();
    for (session, bytes) in choose(&sized, policy, now) {
        let kept = if dry_run { None } else { store.delete(&session).await.err() };
        pruned.push(Pruned { session, bytes, kept });
    }
    Ok(pruned)
}

/// The sessions to delete, oldest first, of those given newest first.
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
