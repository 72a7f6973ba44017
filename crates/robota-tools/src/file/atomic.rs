//! Writing a file so that it has the old or the new content at any time, never a mix, and so
//! that nobody else's writing is lost without a word.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Who writes faster than we can swap back that often has the last word.
const MOST_SWAPS: usize = 8;

/// How the names of new files end, until they are in their place.
const SUFFIX: &str = ".robota-swap";

/// Removes what processes left in a folder that died while they were writing. Whoever lives holds
/// the folder's lock for as long as such files are there; where there are no locks nothing is
/// removed.
pub(super) fn sweep(folder: &Path) {
    let Ok(held) = File::open(folder) else { return };
    if held.lock().is_err() {
        return;
    }
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours =
            name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(SUFFIX));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Keeps others like us from swapping in these folders meanwhile: of three who swap back at
/// once, one would lose. Where a disk knows no locks there are none.
pub(super) fn lock_folders<'a>(targets: impl Iterator<Item = &'a Path>) -> Vec<File> {
    let mut folders: Vec<&Path> = targets.filter_map(Path::parent).collect();
    // In one order for all, so that nobody waits for each other.
    folders.sort();
    folders.dedup();
    let lock = |folder: &Path| {
        let folder = File::open(folder).ok()?;
        folder.lock().ok()?;
        Some(folder)
    };
    folders.into_iter().filter_map(lock).collect()
}

/// New content next to the file it will replace, on the disk.
pub(super) struct Prepared {
    target: PathBuf,
    temp: NamedTempFile,
}

/// The new content is there; what was there before is kept until this is dropped.
pub(super) struct Swapped {
    target: PathBuf,
    /// What was there; absent if nothing was, or if the disk cannot swap.
    old: Option<NamedTempFile>,
    new: bool,
}

/// Why the new content is not there.
pub(super) enum NotSwapped {
    /// Somebody else wrote meanwhile; theirs is there.
    Changed,
    /// The system refused.
    Io(io::Error),
}

impl From<io::Error> for NotSwapped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Prepared {
    /// Writes and syncs new content for `target` with the mode and, where we may, the owner of
    /// what is there. `target` itself must not be a link: the link would be replaced.
    pub(super) fn new(target: &Path, content: &[u8], like: Option<&Metadata>) -> io::Result<Self> {
        let dir = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(SUFFIX);
        #[cfg(unix)]
        if like.is_none() {
            use std::os::unix::fs::PermissionsExt as _;
            // What any new file gets, less what the user's mask takes away.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        // Else made readable for nobody; only then written, only then given its mode.
        let mut temp = builder.tempfile_in(dir)?;
        temp.write_all(content)?;
        if let Some(like) = like {
            take_after(temp.as_file(), like)?;
        }
        temp.as_file().sync_all()?;
        Ok(Self { target: target.to_owned(), temp })
    }

    /// Puts it in the place of `old`, which must still be what is there.
    pub(super) fn swap(self, old: Option<&[u8]>, content: &[u8]) -> Result<Swapped, NotSwapped> {
        let Self { target, temp } = self;
        let Some(old) = old else {
            return match temp.persist_noclobber(&target) {
                Ok(_) => Ok(Swapped { target, old: None, new: true }),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(NotSwapped::Changed)
                }
                Err(error) => Err(error.error.into()),
            };
        };
        match exchange(temp.path(), &target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(NotSwapped::Changed);
            }
            Err(_) => {
                // A disk that cannot swap: look as late as possible, then replace.
                if std::fs::read(&target)? != old {
                    return Err(NotSwapped::Changed);
                }
                temp.persist(&target).map_err(|error| error.error)?;
                return Ok(Swapped { target, old: None, new: false });
            }
        }
        // What came out is what was there in that very moment.
        if std::fs::read(temp.path())? != old {
            // Theirs goes back, and whatever they wrote while ours was there stays too.
            for _ in 0..MOST_SWAPS {
                exchange(temp.path(), &target)?;
                if std::fs::read(temp.path())? == *content {
                    break;
                }
            }
            return Err(NotSwapped::Changed);
        }
        Ok(Swapped { target, old: Some(temp), new: false })
    }
}

impl Swapped {
    /// Makes the change last, and says what is there.
    pub(super) fn settle(&self) -> io::Result<Metadata> {
        // The rename itself lives in the directory. Not all systems can sync one.
        if let Some(dir) = self.target.parent()
            && let Ok(dir) = File::open(dir)
        {
            let _ = dir.sync_all();
        }
        self.target.metadata()
    }

    /// Puts back what was there. Best effort: it is called when something else failed.
    pub(super) fn undo(self) {
        match (&self.old, self.new) {
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

fn take_after(file: &File, like: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            // Only root may give files away; others keep what they wrote.
            let _ = fchown(file, Some(like.uid()), Some(like.gid()));
        }
    }
    // After the owner, whose change may clear mode bits.
    file.set_permissions(like.permissions())
}
