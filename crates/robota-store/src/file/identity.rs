//! `session.json`: the session that a folder contains, and who created it. It is written once, when
//! the session starts to exist; a folder without it contains no session.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use serde::{Deserialize, Serialize};

use super::Files;
use super::replace::{SyncMode, replace};
use crate::disk::{CreateMode, Disk};

/// More than any id needs; the file is not read further.
const LIMIT: u64 = 64 * 1024;

/// The session that a folder contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The session's id; the folder's name may be a hash of it.
    pub(super) session: SessionId,
    /// The time of the session's first event; part of the seal.
    pub(super) created: Timestamp,
    /// A keyed hash over id and creation time, made with the owner's secret. None if the store had
    /// no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<String>,
}

/// The identity of a folder, and the user that owns the file.
pub(super) struct StoredIdentity {
    pub(super) identity: Identity,
    pub(super) user_id: u32,
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("session.json")
}

/// Reads the identity of a folder; none if the folder contains no session.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Result<Option<StoredIdentity>, JournalError> {
    let place = || path(folder).display().to_string();
    let file = match disk.open_read(&path(folder)) {
        Ok(file) => file,
        // A file in place of the root is reported when a write fails.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(JournalError::io("open", place(), &error)),
    };
    let fail = |error: io::Error| JournalError::io("read", place(), &error);
    let user_id = file.info().map_err(fail)?.user_id;
    let mut bytes = Vec::with_capacity(512);
    file.take(LIMIT).read_to_end(&mut bytes).map_err(fail)?;
    if !bytes.ends_with(b"}\n") {
        // A power failure kept the name but not the content: nothing was acknowledged yet.
        return Ok(None);
    }
    let identity =
        serde_json::from_slice(&bytes).map_err(|error| JournalError::damaged(place(), error))?;
    Ok(Some(StoredIdentity { identity, user_id }))
}

impl Files {
    /// Returns the identity for a session that starts now.
    pub(super) fn identify(&self, session: &SessionId, created: Timestamp) -> Identity {
        let seal = self.key.as_ref().map(|key| key.seal(session, created));
        Identity { session: session.clone(), created, seal }
    }

    /// Returns whether another user created the session.
    pub(super) fn is_foreign(&self, stored: &StoredIdentity) -> bool {
        let Identity { session, created, seal } = &stored.identity;
        let sealed = self.key.as_ref().is_none_or(|key| {
            seal.as_ref().is_some_and(|seal| key.verify(session, *created, seal))
        });
        stored.user_id != self.disk.user_id() || !sealed
    }

    /// Writes `session.json`, which makes the folder a session. The caller syncs the folder, and the
    /// content if this does not wait for it.
    pub(super) fn write_identity(
        &self,
        folder: &Path,
        identity: &Identity,
        wait: SyncMode,
    ) -> Result<(), JournalError> {
        let place = path(folder);
        let fail =
            |error: &io::Error| JournalError::io("write", place.display().to_string(), error);
        let mut bytes = serde_json::to_vec(identity).map_err(|error| fail(&error.into()))?;
        bytes.push(b'\n');
        replace(&*self.disk, &place, &bytes, wait).map_err(|error| fail(&error))
    }

    /// Waits until the content of `session.json` survives a power failure. The caller syncs the folder.
    pub(super) fn sync_identity(&self, folder: &Path) -> io::Result<()> {
        self.disk.open_append(&path(folder), CreateMode::Never)?.sync()
    }

    /// Returns how files that a session depends on are written.
    pub(super) fn sync_mode(&self) -> SyncMode {
        match self.level {
            crate::DurabilityLevel::Relaxed => SyncMode::No,
            crate::DurabilityLevel::Strict | crate::DurabilityLevel::Barrier => SyncMode::Content,
        }
    }

    /// Reads the identity of a session's folder, and checks that it is that session's.
    pub(super) fn identity(&self, session: &SessionId) -> Result<StoredIdentity, JournalError> {
        let folder = self.folder(session);
        let stored =
            read(&*self.disk, &folder)?.ok_or_else(|| JournalError::NotFound(session.clone()))?;
        if stored.identity.session == *session {
            return Ok(stored);
        }
        // A user copied or renamed the folder.
        let reason = format!("it belongs to session `{}`", stored.identity.session);
        Err(JournalError::damaged(path(&folder).display().to_string(), reason))
    }
}
