//! Deletes sessions, and blobs that no session refers to.

use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::chain::drop_journal;
use super::ended_leases::EndedLeases;
use super::lease::lock_session_row;
use super::{BlobLock, Tx, Value};
use crate::failpoint::failpoint;

/// Deletes a session and the blobs that only it refers to; returns whether it existed.
pub(super) async fn delete(
    tx: &mut dyn Tx,
    session: &SessionId,
    ended: &EndedLeases,
) -> Result<bool, JournalError> {
    let Some(row) = lock_session_row(tx, session).await? else { return Ok(false) };
    let now = tx.now().await?;
    row.check_free(session, now, ended)?;
    let existed = row.last.is_some();
    // A long session has hundreds of thousands of events.
    tx.allow_long_statements().await?;
    let id = || vec![Value::text(session.as_str())];
    tx.execute("DELETE FROM robota_sessions WHERE session = $1", id()).await?;
    drop_journal(tx, row.journal).await?;
    tx.lock_blobs(BlobLock::Sweep).await?;
    let sweep = "DELETE FROM robota_blobs WHERE sha256 IN (\
                    SELECT sha256 FROM robota_refs WHERE session = $1) \
                 AND NOT EXISTS (\
                    SELECT 1 FROM robota_refs other \
                    WHERE other.sha256 = robota_blobs.sha256 AND other.session <> $1)";
    tx.execute(sweep, id()).await?;
    tx.execute("DELETE FROM robota_refs WHERE session = $1", id()).await?;
    failpoint!("store.sql.delete.before_commit");
    Ok(existed)
}
