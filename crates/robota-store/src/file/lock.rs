//! One writer per session: a kernel lock that ends with the process, however it ends.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::disk;

/// The most of a lock file that is shown; it is another process' text.
const OWNER_LIMIT: u64 = 200;

/// Held for the writer's life. Its file is never deleted: whoever waits for a deleted file
/// and whoever makes a new one would both have "the" lock.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Takes the lock of a session's folder, or says who has it.
    pub(super) fn take(folder: &Path, session: &SessionId) -> Result<Self, JournalError> {
        let path = folder.join("lock");
        let io = |action, error: &std::io::Error| {
            JournalError::io(action, path.display().to_string(), error)
        };
        let mut file = disk::open_or_create(&path).map_err(|error| io("open", &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Locked { session: session.clone(), owner: owner(file) });
            }
            Err(TryLockError::Error(error)) => return Err(io("lock", &error)),
        }
        let text = format!("pid {}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()))
            .map_err(|error| io("write", &error))?;
        Ok(Self { _file: file })
    }
}

/// Who wrote the lock file. The owner may be about to write it, so nothing is certain.
fn owner(file: File) -> String {
    let mut text = Vec::new();
    let _ = file.take(OWNER_LIMIT).read_to_end(&mut text);
    let text: String =
        String::from_utf8_lossy(&text).trim().chars().filter(|c| !c.is_control()).collect();
    if text.is_empty() { "owner unknown".to_owned() } else { text }
}
