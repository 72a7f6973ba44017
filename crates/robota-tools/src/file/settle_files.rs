//! Completes the changes of a crashed process: after that, all files of a call are changed, or
//! none.

use std::io;
use std::path::Path;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{FileChange, FoundFile};
use robota_core::message::BlobRef;

use super::MAX_EDIT_BYTES;
use super::atomic_swap::{Place, PreparedFile, lock_folders, remove_leftovers};

/// Inspects the files that one call was about to change, and returns the state of each. If only some
/// were changed, their old content is restored. Files that something else has changed are not touched.
pub async fn settle_files(files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile> {
    let mut states: Vec<_> = files.iter().map(inspect).collect();
    // Only if some are new and some are old: if all are new, the call was complete.
    if states.contains(&FoundFile::New) && states.contains(&FoundFile::Old) {
        for (file, state) in files.iter().zip(&mut states) {
            if *state != FoundFile::New {
                continue;
            }
            let before = match &file.before {
                None => Some(None),
                Some(blob) => blobs.get(blob).await.ok().flatten().map(Some),
            };
            // If the old content is not available, the file stays changed and is reported so.
            if let Some(before) = before
                && restore(file, before.as_deref()).is_ok()
            {
                *state = FoundFile::PutBack;
            }
        }
    }
    let mut folders: Vec<_> =
        files.iter().filter_map(|file| Path::new(&file.path).parent()).collect();
    folders.sort();
    folders.dedup();
    // Also if nothing was changed: the crash may have been before the first swap.
    folders.into_iter().for_each(remove_leftovers);
    states
}

/// Compares a file with its content before and after the change.
fn inspect(file: &FileChange) -> FoundFile {
    let content =
        // One byte more than a call can write, so that a longer file does not have a hash of its
        // start.
        Place::open(Path::new(&file.path), false).and_then(|place| place.read(MAX_EDIT_BYTES + 1));
    let current = match content {
        Ok(content) => Some(BlobRef::of(&content).sha256),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return FoundFile::Other,
    };
    if current.as_ref() == file.before.as_ref().map(|before| &before.sha256) {
        FoundFile::Old
    } else if current.as_deref() == Some(&file.after_sha256) {
        FoundFile::New
    } else {
        FoundFile::Other
    }
}

/// Restores the old content, if the file still has the new content.
fn restore(file: &FileChange, before: Option<&[u8]>) -> io::Result<()> {
    let path = Path::new(&file.path);
    let place = Place::open(path, false)?;
    let _locks = lock_folders(std::iter::once((path, &place)));
    let after = place.read(MAX_EDIT_BYTES + 1)?;
    if BlobRef::of(&after).sha256 != file.after_sha256 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(before) = before else { return place.remove() };
    let like = place.metadata()?;
    let prepared = PreparedFile::new(&place, before, Some(&like))?;
    let changed = |_| io::Error::from(io::ErrorKind::InvalidData);
    let swapped = prepared.swap(Some(&after), before).map_err(changed)?;
    swapped.sync().map(drop)
}

#[cfg(test)]
mod tests;
