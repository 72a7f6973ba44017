//! Restores one path to an earlier state. All access goes through the open folder of the path, so a
//! symbolic link in the path makes it fail instead of changing another file.

use std::io::{self, Read as _};
use std::path::Path;

use robota_core::blob::BLOB_LIMIT;
use robota_core::checkpoint::{FileContent, FileDelta, NotSaved, PathState};
use robota_core::message::BlobRef;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::atomic_swap::{Place, PreparedFile, SwapError, lock_folders};

/// Returns what is at a path, and the content of a file.
pub(crate) fn read_current(path: &Path) -> (PathState, Option<Vec<u8>>) {
    let unsaved = |reason| (PathState::Unsaved { reason }, None);
    let place = match Place::open(path, false) {
        Ok(place) => place,
        Err(error) => return (absent(path, &error), None),
    };
    let (kind, mode) = match place.kind() {
        Ok(found) => found,
        Err(error) => return (absent(path, &error), None),
    };
    match kind {
        FileType::Directory => (PathState::Folder { mode: Some(mode) }, None),
        FileType::Symlink => match place.read_link() {
            Ok(Some(target)) => (PathState::Link { target }, None),
            Ok(None) => unsaved(NotSaved::BadName),
            Err(_) => unsaved(NotSaved::Unreadable),
        },
        FileType::RegularFile => {
            let mut content = Vec::new();
            let read = place
                .open_file()
                // More cannot be stored in a blob, so it cannot have been saved.
                .and_then(|file| file.take(BLOB_LIMIT as u64 + 1).read_to_end(&mut content));
            match read {
                Ok(len) if len > BLOB_LIMIT => unsaved(NotSaved::TooLarge),
                Ok(_) => {
                    let hash = BlobRef::of(&content).sha256;
                    let identity = FileContent { hash, saved: None };
                    (PathState::File { content: identity, mode: Some(mode) }, Some(content))
                }
                Err(_) => unsaved(NotSaved::Unreadable),
            }
        }
        _ => unsaved(NotSaved::Special),
    }
}

/// Returns the state of a path that cannot be opened.
fn absent(path: &Path, error: &io::Error) -> PathState {
    let is_link = |folder: &Path| folder.symlink_metadata().is_ok_and(|it| it.is_symlink());
    match error.kind() {
        // Not all systems say that a link is the reason.
        io::ErrorKind::NotADirectory if path.ancestors().skip(1).any(is_link) => {
            PathState::Unsaved { reason: NotSaved::LinkInPath }
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => PathState::Missing,
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            PathState::Unsaved { reason: NotSaved::LinkInPath }
        }
        _ => PathState::Unsaved { reason: NotSaved::Unreadable },
    }
}

/// Makes one change, if `before` or nothing is there. `content` is the content of the file that the
/// change restores. Does nothing if the change was made already. The mode of a folder is set later,
/// with [`set_folder_mode`].
///
/// # Errors
/// The reason why nothing was changed.
pub(crate) fn restore_one(change: &FileDelta, content: Option<&[u8]>) -> Result<(), String> {
    let path = Path::new(&change.path);
    let (now, old) = read_current(path);
    // The modes of folders are set at the end: one that is not writable could not be filled.
    let both_folders =
        matches!((&now, &change.after), (PathState::Folder { .. }, PathState::Folder { .. }));
    if now.same_as(&change.after) || both_folders {
        return Ok(());
    }
    // A crash between the removal of the old and the creation of the new leaves nothing. What could
    // not be read is replaced only on request, and then `before` says so.
    let unknown = |state: &PathState| matches!(state, PathState::Unsaved { .. });
    let as_before = now.same_as(&change.before) || (unknown(&now) && unknown(&change.before));
    if !as_before && now != PathState::Missing {
        return Err("something else changed it in the meantime".to_owned());
    }
    apply(path, &now, old.as_deref(), &change.after, content).map_err(|error| match error {
        SwapError::Changed => "something else changed it in the meantime".to_owned(),
        SwapError::Io(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            "the folder contains other files".to_owned()
        }
        SwapError::Io(error) => error.to_string(),
    })
}

fn apply(
    path: &Path,
    now: &PathState,
    old: Option<&[u8]>,
    after: &PathState,
    content: Option<&[u8]>,
) -> Result<(), SwapError> {
    let place = Place::open(path, *after != PathState::Missing)?;
    let remove = || match now {
        PathState::Missing => Ok(()),
        PathState::Folder { .. } => place.remove_folder(),
        PathState::File { .. } | PathState::Link { .. } | PathState::Unsaved { .. } => {
            place.remove()
        }
    };
    match after {
        PathState::Missing => remove()?,
        PathState::Folder { .. } => {
            remove()?;
            place.make_folder()?;
        }
        PathState::Link { target } => {
            remove()?;
            place.make_link(target)?;
        }
        PathState::File { mode, .. } => {
            let Some(content) = content else {
                return Err(io::Error::other("its saved content is missing").into());
            };
            let _locks = lock_folders(std::iter::once((path, &place)));
            let like = match now {
                PathState::File { .. } => Some(place.metadata()?),
                _ => None,
            };
            let prepared = PreparedFile::new(&place, content, like.as_ref())?;
            if let Some(mode) = mode {
                prepared.set_mode(*mode)?;
            }
            // A file is replaced by the swap; anything else has to give way first.
            if like.is_none() {
                remove()?;
            }
            prepared.swap(old.filter(|_| like.is_some()), content)?.sync()?;
            return Ok(());
        }
        PathState::Unsaved { reason } => return Err(io::Error::other(reason.to_string()).into()),
    }
    place.sync_folder();
    Ok(())
}

/// Sets the mode of a restored folder.
///
/// # Errors
/// The reason why it was not set.
pub(crate) fn set_folder_mode(path: &Path, mode: u32) -> Result<(), String> {
    let place = Place::open(path, false).map_err(|error| error.to_string())?;
    match place.kind() {
        Ok((FileType::Directory, now)) if now == mode => Ok(()),
        _ => place.set_folder_mode(mode).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests;
