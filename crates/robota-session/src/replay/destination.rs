//! Where an import is stored.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use robota_core::event::{Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::BlobRef;

use super::blobs::blob_refs;

static NOTHING: LazyLock<HashMap<String, Vec<u8>>> = LazyLock::new(HashMap::new);

/// Where an import is stored, and the blobs that came with it.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    /// The store that receives the session.
    pub store: &'a dyn JournalStore,
    /// The id of the new session; none keeps the id of the export.
    pub id: Option<&'a SessionId>,
    /// The exported blobs, by their hash.
    pub blobs: &'a HashMap<String, Vec<u8>>,
}

impl<'a> Destination<'a> {
    /// Imports into that store, under the exported id.
    #[must_use]
    pub fn new(store: &'a dyn JournalStore) -> Self {
        Self { store, id: None, blobs: &NOTHING }
    }

    /// Sets the id of the imported session; without one the import chooses it.
    #[must_use]
    pub fn with_id(self, id: Option<&'a SessionId>) -> Self {
        Self { id, ..self }
    }

    /// Adds the blobs that came with the export, by hash.
    #[must_use]
    pub fn with_blobs(self, blobs: &'a HashMap<String, Vec<u8>>) -> Self {
        Self { blobs, ..self }
    }

    /// Creates the session with these events, all of them or none. Returns the hashes of blobs that
    /// the events refer to and that are neither given nor stored.
    pub(super) async fn write(
        &self,
        session: &SessionId,
        events: &[Arc<Envelope>],
    ) -> Result<Vec<String>, JournalError> {
        let blobs = self.store.blobs(session);
        let mut missing = Vec::new();
        for blob in events.iter().flat_map(|event| blob_refs(event)) {
            let exported = self.blobs.get(&blob.sha256).filter(|bytes| BlobRef::of(bytes) == blob);
            match exported {
                Some(bytes) => {
                    blobs.put(bytes).await?;
                }
                None if blobs.get(&blob).await?.is_some() => {}
                None if missing.contains(&blob.sha256) => {}
                None => missing.push(blob.sha256),
            }
        }
        let mut journal = self.store.create(session).await?;
        journal.append(events, Durability::Synced).await?;
        Ok(missing)
    }
}
