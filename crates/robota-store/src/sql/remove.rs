//! Deletes sessions, and blobs that no session refers to.

use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::chain::drop_journal;
use super::ended_leases::EndedLeases;
use super::lease::lock_session_row;
use super::{BlobLock, Long, Tx, Value};
use crate::failpoint::failpoint;

/// What refers to the blobs of deleted sessions until they are swept. No session can have this name.
const DELETED: &str = "(deleted)";

/// What a deletion found.
pub(super) struct Deletion {
    pub(super) existed: bool,
    /// Whether the session referred to blobs, which [`sweep`] deletes unless others refer to them.
    pub(super) had_blobs: bool,
}

/// Deletes a session. Its blobs are swept in a transaction of their own: that needs a lock which clients
/// that store a blob keep for as long as that takes them, and the deletion must not wait for all of them.
pub(super) async fn delete(
    tx: &mut dyn Tx,
    session: &SessionId,
    ended: &EndedLeases,
) -> Result<Deletion, JournalError> {
    let none = Deletion { existed: false, had_blobs: false };
    let Some(row) = lock_session_row(tx, session).await? else { return Ok(none) };
    let now = tx.now().await?;
    row.check_free(session, now, ended)?;
    // A long session has hundreds of thousands of events.
    tx.allow_long_statements(Long::ManyRows).await?;
    let id = || vec![Value::text(session.as_str())];
    tx.execute("DELETE FROM robota_sessions WHERE session = $1", id()).await?;
    drop_journal(tx, row.journal).await?;
    let refs = "SELECT 1 FROM robota_refs WHERE session = $1 LIMIT 1";
    let had_blobs = !tx.query(refs, id()).await?.is_empty();
    if had_blobs {
        tx.lock_blobs(BlobLock::Refer).await?;
        // In order: two deletions that insert the same references wait for each other only one way.
        let sql = "INSERT INTO robota_refs (session, sha256) \
                   SELECT $2, sha256 FROM robota_refs WHERE session = $1 ORDER BY sha256 \
                   ON CONFLICT DO NOTHING";
        tx.execute(sql, vec![Value::text(session.as_str()), Value::text(DELETED)]).await?;
        tx.execute("DELETE FROM robota_refs WHERE session = $1", id()).await?;
    }
    failpoint!("store.sql.delete.before_commit");
    Ok(Deletion { existed: row.last.is_some(), had_blobs })
}

/// Deletes the blobs of deleted sessions that no other session refers to, also those that an earlier
/// sweep could not delete.
pub(super) async fn sweep(tx: &mut dyn Tx) -> Result<(), JournalError> {
    tx.lock_blobs(BlobLock::Sweep).await?;
    tx.allow_long_statements(Long::ManyRows).await?;
    let deleted = || vec![Value::text(DELETED)];
    let sql = "DELETE FROM robota_blobs WHERE sha256 IN (\
                  SELECT sha256 FROM robota_refs WHERE session = $1) \
               AND NOT EXISTS (\
                  SELECT 1 FROM robota_refs other \
                  WHERE other.sha256 = robota_blobs.sha256 AND other.session <> $1)";
    tx.execute(sql, deleted()).await?;
    tx.execute("DELETE FROM robota_refs WHERE session = $1", deleted()).await?;
    Ok(())
}
