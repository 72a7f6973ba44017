//! Blobs in a database.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;

use super::chain::lineage;
use super::{Columns, Database, Exclude, Tx, Value};
use crate::Level;
use crate::failpoint::failpoint;

/// The blobs of a session.
pub(super) struct SqlBlobs<D> {
    pub(super) database: Arc<D>,
    pub(super) session: SessionId,
    pub(super) level: Level,
}

async fn put(
    tx: &mut dyn Tx,
    session: &SessionId,
    hash: &str,
    bytes: &[u8],
) -> Result<(), JournalError> {
    tx.exclude(Exclude::Keeping).await?;
    let refer = "INSERT INTO robota_refs (session, sha256) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.execute(refer, vec![Value::text(session.as_str()), Value::text(hash)]).await?;
    // Not sent again when it is there.
    let there = "SELECT 1 FROM robota_blobs WHERE sha256 = $1";
    if !tx.query(there, vec![Value::text(hash)]).await?.is_empty() {
        return Ok(());
    }
    let keep = "INSERT INTO robota_blobs (sha256, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.execute(keep, vec![Value::text(hash), Value::Bytes(bytes.to_vec())]).await?;
    failpoint!("store.sql.blob.before_commit");
    Ok(())
}

async fn journal_of(tx: &mut dyn Tx, session: &SessionId) -> Result<Option<i64>, JournalError> {
    let sql = "SELECT journal FROM robota_sessions WHERE session = $1";
    let rows = tx.query(sql, vec![Value::text(session.as_str())]).await?;
    rows.into_iter().next().map(|row| Columns::of(row).int()).transpose()
}

async fn put_loose(
    tx: &mut dyn Tx,
    session: &SessionId,
    hash: &str,
    bytes: &[u8],
) -> Result<(), JournalError> {
    let missing = || JournalError::NotFound(session.clone());
    let journal = journal_of(tx, session).await?.ok_or_else(missing)?;
    let sql = "INSERT INTO robota_raw (journal, sha256, bytes) VALUES ($1, $2, $3) \
               ON CONFLICT DO NOTHING";
    let values = vec![Value::Int(journal), Value::text(hash), Value::Bytes(bytes.to_vec())];
    tx.execute(sql, values).await?;
    Ok(())
}

async fn get(
    tx: &mut dyn Tx,
    session: &SessionId,
    hash: &str,
) -> Result<Option<Vec<u8>>, JournalError> {
    let sql = "SELECT bytes FROM robota_blobs WHERE sha256 = $1";
    if let Some(row) = tx.query(sql, vec![Value::text(hash)]).await?.into_iter().next() {
        return Columns::of(row).bytes().map(Some);
    }
    let Some(journal) = journal_of(tx, session).await? else { return Ok(None) };
    let sql = "SELECT bytes FROM robota_raw WHERE journal = $1 AND sha256 = $2";
    for piece in lineage(tx, journal).await?.into_iter().rev() {
        let values = vec![Value::Int(piece.journal), Value::text(hash)];
        if let Some(row) = tx.query(sql, values).await?.into_iter().next() {
            return Columns::of(row).bytes().map(Some);
        }
    }
    Ok(None)
}

#[async_trait::async_trait]
impl<D: Database> Blobs for SqlBlobs<D> {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let (session, hash, bytes) = (self.session.clone(), blob.sha256.clone(), bytes.to_vec());
        let durable = self.level != Level::Relaxed;
        let work: super::Work<()> =
            Box::new(move |tx| Box::pin(async move { put(tx, &session, &hash, &bytes).await }));
        self.database.write(durable, work).await?;
        Ok(blob)
    }

    async fn put_loose(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let (session, hash, bytes) = (self.session.clone(), blob.sha256.clone(), bytes.to_vec());
        let work: super::Work<()> = Box::new(move |tx| {
            Box::pin(async move { put_loose(tx, &session, &hash, &bytes).await })
        });
        self.database.write(false, work).await?;
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        let (session, hash) = (self.session.clone(), blob.sha256.clone());
        let work: super::Work<Option<Vec<u8>>> =
            Box::new(move |tx| Box::pin(async move { get(tx, &session, &hash).await }));
        let found = self.database.read(work).await?;
        match found {
            Some(bytes) if BlobRef::of(&bytes).sha256 != blob.sha256 => {
                Err(JournalError::Damaged {
                    place: format!("blob {} in {}", blob.sha256, self.database.place()),
                    reason: "its content is not what its name says".to_owned(),
                })
            }
            found => Ok(found),
        }
    }
}
