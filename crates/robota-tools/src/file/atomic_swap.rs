//! Replaces the content of a file atomically: at any time it has the old or the new content, never a
//! mix. A concurrent change by another program is detected and kept.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// How often a swap is undone while another program keeps writing the file.
const MAX_SWAPS: usize = 8;

/// The suffix of temporary files with new content.
const SUFFIX: &str = ".robota-swap";

/// Deletes the temporary files that crashed processes left in a folder. A live process holds the lock
/// of the folder while it has such files. On disks without locks nothing is deleted.
pub(super) fn remove_leftovers(folder: &Path) {
    let Ok(lock) = File::open(folder) else { return };
    if lock.lock().is_err() {
        return;
    }
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let leftover =
            name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(SUFFIX));
        if leftover && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Locks the folders of these files against other processes of this program: if three processes undo
/// a swap at the same time, one of the contents would be lost. Without effect on disks without locks.
pub(super) fn lock_folders<'a>(targets: impl Iterator<Item = &'a Path>) -> Vec<File> {
    let mut folders: Vec<&Path> = targets.filter_map(Path::parent).collect();
    // All processes lock in the same order, so there is no deadlock.
    folders.sort();
    folders.dedup();
    let lock = |folder: &Path| {
        let folder = File::open(folder).ok()?;
        folder.lock().ok()?;
        Some(folder)
    };
    folders.into_iter().filter_map(lock).collect()
}

/// New content in a temporary file next to the file that it will replace.
pub(super) struct PreparedFile {
    target: PathBuf,
    temp: NamedTempFile,
}

/// A file with new content. The old content is kept until this is dropped.
pub(super) struct SwappedFile {
    target: PathBuf,
    /// The old content; `None` if the file is new, or if the disk cannot swap files.
    old: Option<NamedTempFile>,
    /// Whether the file did not exist before.
    created: bool,
}

/// Why a file was not replaced.
pub(super) enum SwapError {
    /// Another program changed the file in the meantime; its content is kept.
    Changed,
    /// The system reported an error.
    Io(io::Error),
}

impl From<io::Error> for SwapError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl PreparedFile {
    /// Writes and syncs new content for `target`, with the mode and, if permitted, the owner of
    /// `like`. `target` must not be a link, because the link would be replaced.
    pub(super) fn new(target: &Path, content: &[u8], like: Option<&Metadata>) -> io::Result<Self> {
        let dir = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(SUFFIX);
        #[cfg(unix)]
        if like.is_none() {
            use std::os::unix::fs::PermissionsExt as _;
            // The default mode of a new file, which the umask reduces.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        // Otherwise the file is created with mode 0600 and gets its final mode after it was written.
        let mut temp = builder.tempfile_in(dir)?;
        temp.write_all(content)?;
        if let Some(like) = like {
            copy_owner_and_mode(temp.as_file(), like)?;
        }
        temp.as_file().sync_all()?;
        Ok(Self { target: target.to_owned(), temp })
    }

    /// Replaces the target, whose content must still be `old`. `content` is the new content.
    pub(super) fn swap(self, old: Option<&[u8]>, content: &[u8]) -> Result<SwappedFile, SwapError> {
        let Self { target, temp } = self;
        let Some(old) = old else {
            return match temp.persist_noclobber(&target) {
                Ok(_) => Ok(SwappedFile { target, old: None, created: true }),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(SwapError::Changed)
                }
                Err(error) => Err(error.error.into()),
            };
        };
        match exchange(temp.path(), &target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SwapError::Changed);
            }
            Err(_) => {
                // The disk cannot swap files: check as late as possible, then replace.
                if std::fs::read(&target)? != old {
                    return Err(SwapError::Changed);
                }
                temp.persist(&target).map_err(|error| error.error)?;
                return Ok(SwappedFile { target, old: None, created: false });
            }
        }
        // The temporary file now has the content that the target had at the moment of the swap.
        if std::fs::read(temp.path())? != old {
            // Swap back. If the other program wrote again in the meantime, its last content is kept.
            for _ in 0..MAX_SWAPS {
                exchange(temp.path(), &target)?;
                if std::fs::read(temp.path())? == *content {
                    break;
                }
            }
            return Err(SwapError::Changed);
        }
        Ok(SwappedFile { target, old: Some(temp), created: false })
    }
}

impl SwappedFile {
    /// Syncs the folder, so that the change survives a power failure, and returns the metadata.
    pub(super) fn sync(&self) -> io::Result<Metadata> {
        // The rename is recorded in the directory. Not all systems can sync a directory.
        if let Some(dir) = self.target.parent()
            && let Ok(dir) = File::open(dir)
        {
            let _ = dir.sync_all();
        }
        self.target.metadata()
    }

    /// Restores the old content. Best effort: it is called when another change has failed.
    pub(super) fn undo(self) {
        match (&self.old, self.created) {
            (Some(old), _) => drop(exchange(old.path(), &self.target)),
            (None, true) => drop(std::fs::remove_file(&self.target)),
            (None, false) => {}
        }
    }
}

#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_a: &Path, _b: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn copy_owner_and_mode(file: &File, like: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            // Only root may change the owner; for others the file keeps its own.
            let _ = fchown(file, Some(like.uid()), Some(like.gid()));
        }
    }
    // After the owner, because changing the owner may clear mode bits.
    file.set_permissions(like.permissions())
}
