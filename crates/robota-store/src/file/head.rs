//! The head of a session: its id, which the name of its folder may only hint at.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use serde::{Deserialize, Serialize};

use super::disk;

/// More than any id; a head is not read further.
const LIMIT: u64 = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Head {
    session: SessionId,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("head.json")
}

/// Writes the head of a new session. It is replaced whole: a reader sees all of it or none.
pub(super) fn write(folder: &Path, session: &SessionId) -> Result<(), JournalError> {
    let fresh = folder.join("head.json.new");
    let fail = |error: std::io::Error| JournalError::io("write", place(folder), &error);
    let text = serde_json::to_string(&Head { session: session.clone() })
        .map_err(|error| fail(error.into()))?;
    // What a writer left that died here.
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    disk::create_new(&fresh, format!("{text}\n").as_bytes()).map_err(fail)?;
    disk::open_append(&fresh, false).and_then(|file| file.sync_data()).map_err(fail)?;
    std::fs::rename(&fresh, path(folder)).map_err(fail)
}

/// Refuses a folder that holds another session: one that was copied or renamed by hand.
pub(super) fn check(folder: &Path, session: &SessionId) -> Result<(), JournalError> {
    let damaged = |reason: String| JournalError::Damaged { place: place(folder), reason };
    let file = disk::open_read(&path(folder))
        .map_err(|error| JournalError::io("open", place(folder), &error))?;
    let mut text = String::new();
    file.take(LIMIT)
        .read_to_string(&mut text)
        .map_err(|error| JournalError::io("read", place(folder), &error))?;
    let head: Head = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    if head.session == *session {
        Ok(())
    } else {
        Err(damaged(format!("it belongs to session `{}`", head.session)))
    }
}

fn place(folder: &Path) -> String {
    path(folder).display().to_string()
}

/// The ids of the sessions below a root.
pub(super) fn all(root: &Path) -> Result<Vec<SessionId>, JournalError> {
    let fail = |error: &std::io::Error| JournalError::io("list", root.display().to_string(), error);
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(&error)),
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let folder = entry.map_err(|error| fail(&error))?.path();
        let Ok(file) = disk::open_read(&path(&folder)) else { continue };
        if let Ok(head) = serde_json::from_reader::<_, Head>(file.take(LIMIT)) {
            sessions.push(head.session);
        }
    }
    Ok(sessions)
}
