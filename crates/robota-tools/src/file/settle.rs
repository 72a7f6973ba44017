//! Changes that a dead process had begun: all of them are made, or none is.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use robota_core::blob::Blobs;
use robota_core::checkpoint::{FileChange, FoundFile};
use robota_core::message::BlobRef;

use super::MOST_EDITED;
use super::atomic::{Prepared, lock_folders, sweep};

/// Looks how files are that one call was about to change. Where some were changed and some were
/// not, those that were are put back. What somebody else changed since is left alone.
pub async fn settle(files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile> {
    let mut now: Vec<_> = files.iter().map(look).collect();
    let some = |is: FoundFile| now.contains(&is);
    if some(FoundFile::New) && some(FoundFile::Old) {
        for (file, now) in files.iter().zip(&mut now) {
            if *now != FoundFile::New {
                continue;
            }
            let before = match &file.before {
                None => Some(None),
                Some(blob) => blobs.get(blob).await.ok().flatten().map(Some),
            };
            // Without what was there, it stays changed, and is said to be.
            if let Some(before) = before
                && put_back(file, before.as_deref()).is_ok()
            {
                *now = FoundFile::PutBack;
            }
        }
    }
    let mut folders: Vec<_> =
        files.iter().filter_map(|file| Path::new(&file.path).parent()).collect();
    folders.sort();
    folders.dedup();
    folders.into_iter().for_each(sweep);
    now
}

fn look(file: &FileChange) -> FoundFile {
    let now = match content(Path::new(&file.path)) {
        Ok(content) => Some(BlobRef::of(&content).sha256),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return FoundFile::Other,
    };
    if now.as_ref() == file.before.as_ref().map(|before| &before.sha256) {
        FoundFile::Old
    } else if now.as_deref() == Some(&file.after_sha256) {
        FoundFile::New
    } else {
        FoundFile::Other
    }
}

fn content(path: &Path) -> io::Result<Vec<u8>> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut content = Vec::new();
    File::open(path)?.take(MOST_EDITED + 1).read_to_end(&mut content)?;
    Ok(content)
}

/// Puts back what was there, if what was to be there still is.
fn put_back(file: &FileChange, before: Option<&[u8]>) -> io::Result<()> {
    let path = PathBuf::from(&file.path);
    let _alone = lock_folders(std::iter::once(path.as_path()));
    let after = content(&path)?;
    if BlobRef::of(&after).sha256 != file.after_sha256 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(before) = before else { return std::fs::remove_file(&path) };
    let like = path.metadata()?;
    let ready = Prepared::new(&path, before, Some(&like))?;
    let changed = |_| io::Error::from(io::ErrorKind::InvalidData);
    let swapped = ready.swap(Some(&after), before).map_err(changed)?;
    swapped.settle().map(drop)
}

#[cfg(test)]
mod tests;
