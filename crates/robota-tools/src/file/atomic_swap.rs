//! Replaces the content of a file atomically: at any time it has the old or the new content, never a
//! mix. A concurrent change by another program is detected and kept. All access goes through the open
//! folder of the file, so that a link put in its path has no effect.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use robota_exec::LinkFreeDir;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, statat, unlinkat};

/// How often a swap is undone while another program keeps writing the file.
const MAX_SWAPS: usize = 8;

/// How many names are tried for a temporary file.
const MAX_NAMES: usize = 1_000;

/// The suffix of temporary files with new content.
const SUFFIX: &str = ".robota-swap";

/// Deletes the temporary files that crashed processes left in a folder. A live process holds the lock
/// of the folder while it has such files. On disks without locks nothing is deleted.
pub(super) fn remove_leftovers(folder: &Path) {
    let Ok(dir) = LinkFreeDir::open(folder, false) else { return };
    let Some(lock) = lock(&dir) else { return };
    let Ok(entries) = Dir::read_from(&lock) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let leftover =
            name.to_str().is_ok_and(|name| name.starts_with('.') && name.ends_with(SUFFIX));
        let is_file = || {
            statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
        };
        if leftover && is_file() {
            let _ = unlinkat(&dir, name, AtFlags::empty());
        }
    }
}

/// The open folder and the name of a file that is about to change.
pub(super) struct Place {
    dir: Arc<LinkFreeDir>,
    name: OsString,
}

impl Place {
    /// Opens the folder of a canonical path. With `create_missing`, creates missing folders.
    pub(super) fn open(target: &Path, create_missing: bool) -> io::Result<Self> {
        let (dir, name) = LinkFreeDir::of_file(target, create_missing)?;
        Ok(Self { dir: Arc::new(dir), name: name.to_owned() })
    }

    /// Fails if this user may not write the file, although replacing it needs only the folder.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        // NONBLOCK, because a pipe with this name would wait for a reader.
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(&self.dir, &self.name, flags, Mode::empty())?;
        Ok(())
    }

    /// Reads at most `max` bytes of the file.
    pub(super) fn read(&self, max: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.dir.open_file(Path::new(&self.name))?.take(max).read_to_end(&mut content)?;
        Ok(content)
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.dir.open_file(Path::new(&self.name))?.metadata()
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.dir, &self.name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self) -> io::Result<()> {
        Ok(unlinkat(&self.dir, &self.name, AtFlags::REMOVEDIR)?)
    }

    /// Creates a folder. Its owner can enter it until its final mode is set.
    pub(super) fn make_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.dir, &self.name, Mode::from_raw_mode(0o777))?)
    }

    /// Creates a symbolic link.
    pub(super) fn make_link(&self, target: &str) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.dir, &self.name)?)
    }

    /// Returns the target of a symbolic link.
    pub(super) fn read_link(&self) -> io::Result<Option<String>> {
        let target = rustix::fs::readlinkat(&self.dir, &self.name, Vec::new())?;
        Ok(target.into_string().ok())
    }

    /// Returns the kind and the permission bits of what is there, without following a link.
    pub(super) fn kind(&self) -> io::Result<(rustix::fs::FileType, u32)> {
        let stat = statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((rustix::fs::FileType::from_raw_mode(stat.st_mode), stat.st_mode & 0o7777))
    }

    /// Sets the permission bits of a folder.
    pub(super) fn set_folder_mode(&self, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(&self.dir, &self.name, flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(folder, Mode::from_raw_mode(mode))?)
    }

    /// Opens the file for reading.
    pub(super) fn open_file(&self) -> io::Result<File> {
        self.dir.open_file(Path::new(&self.name))
    }

    /// Syncs the folder, so that a change of its entries survives a power failure.
    pub(super) fn sync_folder(&self) {
        // Not all systems can sync a directory.
        if let Ok(dir) = readable(&self.dir) {
            let _ = dir.sync_all();
        }
    }
}

/// Locks the folders of these files against other processes of this program: if three processes undo
/// a swap at the same time, one of the contents would be lost. Without effect on disks without locks.
pub(super) fn lock_folders<'a>(places: impl Iterator<Item = (&'a Path, &'a Place)>) -> Vec<File> {
    let mut folders: Vec<_> = places.map(|(path, place)| (path.parent(), &place.dir)).collect();
    // All processes lock in the same order, so there is no deadlock.
    folders.sort_by_key(|(path, _)| *path);
    folders.dedup_by_key(|(path, _)| *path);
    folders.into_iter().filter_map(|(_, dir)| lock(dir)).collect()
}

fn lock(dir: &LinkFreeDir) -> Option<File> {
    let folder = readable(dir).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Opens a folder that was opened for lookups only, to lock, list or sync it.
fn readable(dir: &LinkFreeDir) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(dir, ".", flags, Mode::empty())?.into())
}

/// A temporary file in the folder of the file that it will replace. Deleted when dropped.
struct TempEntry {
    dir: Arc<LinkFreeDir>,
    name: OsString,
}

impl TempEntry {
    fn create(dir: &Arc<LinkFreeDir>, mode: u32) -> io::Result<(Self, File)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for _ in 0..MAX_NAMES {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            // The process id keeps the names of two processes apart.
            let name = OsString::from(format!(".{}-{number}{SUFFIX}", std::process::id()));
            match openat(dir, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(fd) => return Ok((Self { dir: Arc::clone(dir), name }, fd.into())),
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.dir.open_file(Path::new(&self.name))?.read_to_end(&mut content)?;
        Ok(content)
    }

    fn exchange(&self, name: &OsStr) -> io::Result<()> {
        exchange(&self.dir, &self.name, name)
    }

    /// Renames the file; nothing is left to delete.
    fn rename(mut self, name: &OsStr, replace: bool) -> io::Result<()> {
        if replace {
            renameat(&self.dir, &self.name, &self.dir, name)?;
        } else {
            rename_new(&self.dir, &self.name, name)?;
        }
        self.name.clear();
        Ok(())
    }
}

impl Drop for TempEntry {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = unlinkat(&self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// New content in a temporary file next to the file that it will replace.
pub(super) struct PreparedFile<'a> {
    place: &'a Place,
    temp: TempEntry,
    file: File,
}

/// A file with new content. The old content is kept until this is dropped.
pub(super) struct SwappedFile<'a> {
    place: &'a Place,
    /// The open file with the new content.
    file: File,
    /// The old content; `None` if the file is new, or if the disk cannot swap files.
    old: Option<TempEntry>,
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

impl<'a> PreparedFile<'a> {
    /// Writes and syncs new content for a file, with the mode and, if permitted, the owner of `like`.
    pub(super) fn new(
        place: &'a Place,
        content: &[u8],
        like: Option<&Metadata>,
    ) -> io::Result<Self> {
        // A new file gets the default mode, which the umask reduces. Otherwise the file is created
        // for its owner alone and gets its final mode after it was written.
        let mode = if like.is_none() { 0o666 } else { 0o600 };
        let (temp, mut file) = TempEntry::create(&place.dir, mode)?;
        file.write_all(content)?;
        if let Some(like) = like {
            // Before the sync, so that the file never has the wrong owner after a crash.
            copy_owner_and_mode(&file, like)?;
        }
        file.sync_all()?;
        Ok(Self { place, temp, file })
    }

    /// Sets the permission bits.
    pub(super) fn set_mode(&self, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        self.file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        self.file.sync_all()
    }

    /// Replaces the file, whose content must still be `old`. `content` is the new content.
    pub(super) fn swap(
        self,
        old: Option<&[u8]>,
        content: &[u8],
    ) -> Result<SwappedFile<'a>, SwapError> {
        let Self { place, temp, file } = self;
        let name = place.name.as_os_str();
        let Some(old) = old else {
            return match temp.rename(name, false) {
                Ok(()) => Ok(SwappedFile { place, file, old: None, created: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(SwapError::Changed)
                }
                Err(error) => Err(error.into()),
            };
        };
        // An exchange and not a rename: what the other program may have written meanwhile stays in
        // reach.
        match temp.exchange(name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SwapError::Changed);
            }
            Err(_) => {
                // The disk cannot swap files: check as late as possible, then replace.
                if place.read(u64::MAX)? != old {
                    return Err(SwapError::Changed);
                }
                temp.rename(name, true)?;
                return Ok(SwappedFile { place, file, old: None, created: false });
            }
        }
        // The temporary file now has the content that the target had at the moment of the swap. It
        // cannot be read if the target was replaced by something that is not a file.
        if temp.content().ok().as_deref() != Some(old) {
            // Swap back. If the other program wrote again in the meantime, its last content is kept.
            for _ in 0..MAX_SWAPS {
                temp.exchange(name)?;
                if temp.content().ok().as_deref() == Some(content) {
                    break;
                }
            }
            return Err(SwapError::Changed);
        }
        Ok(SwappedFile { place, file, old: Some(temp), created: false })
    }
}

impl SwappedFile<'_> {
    /// Syncs the folder, so that the change survives a power failure, and returns the metadata.
    pub(super) fn sync(&self) -> io::Result<Metadata> {
        self.place.sync_folder();
        self.file.metadata()
    }

    /// Restores the old content. Best effort: it is called when another change has failed.
    pub(super) fn undo(self) {
        match (&self.old, self.created) {
            (Some(old), _) => drop(old.exchange(&self.place.name)),
            (None, true) => drop(self.place.remove()),
            (None, false) => {}
        }
    }
}

#[cfg(target_os = "linux")]
fn exchange(dir: &LinkFreeDir, a: &OsStr, b: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    Ok(renameat_with(dir, a, dir, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_dir: &LinkFreeDir, _a: &OsStr, _b: &OsStr) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file to a name that must not exist.
fn rename_new(dir: &LinkFreeDir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
            // The disk cannot do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return Ok(other?),
        }
    }
    // A hard link fails if the name exists, unlike a rename.
    rustix::fs::linkat(dir, from, dir, to, AtFlags::empty())?;
    let _ = unlinkat(dir, from, AtFlags::empty());
    Ok(())
}

fn copy_owner_and_mode(file: &File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        // Only root may change the owner; for others the file keeps its own.
        let _ = fchown(file, Some(like.uid()), Some(like.gid()));
    }
    // After the owner, because changing the owner may clear mode bits.
    file.set_permissions(like.permissions())
}
