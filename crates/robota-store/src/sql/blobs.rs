//! Blobs in a database.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;
use tokio::sync::Semaphore;

use super::{BlobLock, Database, Long, Query, Tx, Value};
use crate::DurabilityLevel;
use crate::failpoint::failpoint;

/// The size from which storing a blob may take long on a slow network.
const LARGE: usize = 1024 * 1024;

pub(super) struct SqlBlobs<D> {
    pub(super) database: Arc<D>,
    pub(super) session: SessionId,
    pub(super) level: DurabilityLevel,
    /// One permit for each blob that is being stored.
    pub(super) writes: Arc<Semaphore>,
}

async fn put(
    tx: &mut dyn Tx,
    session: &SessionId,
    hash: &str,
    bytes: &[u8],
) -> Result<(), JournalError> {
    tx.lock_blobs(BlobLock::Refer).await?;
    let add_ref =
        "INSERT INTO robota_refs (session, sha256) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.execute(add_ref, vec![Value::text(session.as_str()), Value::text(hash)]).await?;
    // A blob that is stored already is not sent again.
    let exists = "SELECT 1 FROM robota_blobs WHERE sha256 = $1";
    if !tx.query(exists, vec![Value::text(hash)]).await?.is_empty() {
        return Ok(());
    }
    if bytes.len() > LARGE {
        tx.allow_long_statements(Long::LargeValue).await?;
    }
    let insert = "INSERT INTO robota_blobs (sha256, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.execute(insert, vec![Value::text(hash), Value::Bytes(bytes.to_vec())]).await?;
    failpoint!("store.sql.blob.before_commit");
    Ok(())
}

async fn get(tx: &mut dyn Query, hash: &str) -> Result<Option<Vec<u8>>, JournalError> {
    // A small query first: it detects a broken connection, with its short timeout, before a large
    // answer is expected.
    let exists = "SELECT 1 FROM robota_blobs WHERE sha256 = $1";
    if tx.query(exists, vec![Value::text(hash)]).await?.is_empty() {
        return Ok(None);
    }
    let sql = "SELECT bytes FROM robota_blobs WHERE sha256 = $1";
    let row = tx.first(sql, vec![Value::text(hash)]).await?;
    row.map(|mut row| row.bytes()).transpose()
}

#[async_trait::async_trait]
impl<D: Database> Blobs for SqlBlobs<D> {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let (session, hash, bytes) = (self.session.clone(), blob.sha256.clone(), bytes.to_vec());
        let durable = self.level != DurabilityLevel::Relaxed;
        let put =
            super::work(move |tx| Box::pin(async move { put(tx, &session, &hash, &bytes).await }));
        // The semaphore is never closed.
        let _permit = self.writes.acquire().await;
        self.database.write(durable, put).await?;
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        let hash = blob.sha256.clone();
        let get = super::query(move |tx| Box::pin(async move { get(tx, &hash).await }));
        let bytes = self.database.read(get).await?;
        match bytes {
            Some(bytes) if BlobRef::of(&bytes).sha256 != blob.sha256 => {
                let place = format!("blob {} in {}", blob.sha256, self.database.place());
                Err(JournalError::damaged(place, "its content does not match its hash"))
            }
            bytes => Ok(bytes),
        }
    }
}
