//! `session.json`: which session a folder holds, and whose it is. Written once, when the session
//! begins to exist; a folder without it holds none.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use serde::{Deserialize, Serialize};

use super::Files;
use super::replace::{SyncMode, replace};
use crate::disk::Disk;

/// More than any id; the file is not read further.
const LIMIT: u64 = 64 * 1024;

/// Which session a folder holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Its id, which the name of the folder may only hint at.
    pub(super) session: SessionId,
    /// When it began.
    pub(super) created: Timestamp,
    /// Who began it, as only they can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<String>,
}

/// The identity of a folder, and the user whose file it is.
pub(super) struct StoredIdentity {
    pub(super) identity: Identity,
    pub(super) user_id: u32,
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("session.json")
}

/// What is in a folder; none when it holds no session.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Result<Option<StoredIdentity>, JournalError> {
    let place = || path(folder).display().to_string();
    let file = match disk.open_read(&path(folder)) {
        Ok(file) => file,
        // A file in the way of the root is told by whoever wants to write there.
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
        // Its name survived a loss of power, its content did not: nothing was acknowledged yet.
        return Ok(None);
    }
    let identity =
        serde_json::from_slice(&bytes).map_err(|error| JournalError::damaged(place(), error))?;
    Ok(Some(StoredIdentity { identity, user_id }))
}

impl Files {
    /// The identity a session that begins now gets.
    pub(super) fn identify(&self, session: &SessionId, created: Timestamp) -> Identity {
        let seal = self.key.as_ref().map(|key| key.seal(session, created));
        Identity { session: session.clone(), created, seal }
    }

    /// Whether this user did not begin the session.
    pub(super) fn is_foreign(&self, stored: &StoredIdentity) -> bool {
        let Identity { session, created, seal } = &stored.identity;
        let sealed = self.key.as_ref().is_none_or(|key| {
            seal.as_ref().is_some_and(|seal| key.verify(session, *created, seal))
        });
        stored.user_id != self.disk.user_id() || !sealed
    }

    /// Makes a folder a session. Its name is the caller's to sync.
    pub(super) fn write_identity(
        &self,
        folder: &Path,
        identity: &Identity,
    ) -> Result<(), JournalError> {
        let place = path(folder);
        let fail =
            |error: &io::Error| JournalError::io("write", place.display().to_string(), error);
        let mut bytes = serde_json::to_vec(identity).map_err(|error| fail(&error.into()))?;
        bytes.push(b'\n');
        replace(&*self.disk, &place, &bytes, self.sync_mode()).map_err(|error| fail(&error))
    }

    /// How the files that a session cannot do without are written.
    pub(super) fn sync_mode(&self) -> SyncMode {
        match self.level {
            crate::DurabilityLevel::Relaxed => SyncMode::No,
            crate::DurabilityLevel::Strict | crate::DurabilityLevel::Barrier => SyncMode::Content,
        }
    }

    /// What a folder holds, which must be that session.
    pub(super) fn identity(&self, session: &SessionId) -> Result<StoredIdentity, JournalError> {
        let folder = self.folder(session);
        let stored =
            read(&*self.disk, &folder)?.ok_or_else(|| JournalError::NotFound(session.clone()))?;
        if stored.identity.session == *session {
            return Ok(stored);
        }
        // Copied or renamed by hand.
        let reason = format!("it belongs to session `{}`", stored.identity.session);
        Err(JournalError::damaged(path(&folder).display().to_string(), reason))
    }
}
