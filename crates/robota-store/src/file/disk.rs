//! The few things done to files. Everything the store does to a disk goes through here, so
//! that a disk which fails, fills up or loses what was not synced can be put in its place.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The end of a file that grows.
pub(super) trait Tail: Send {
    /// Appends all of it. May leave a part behind when it fails.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until what was written survives the loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts off what is beyond that length.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

impl Tail for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // One system call, unless the disk takes less than it is offered: then what follows
        // says why, which is what people need to know.
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// Links are not followed and pipes not waited for: a checkout may hold either where a
/// session's file is expected.
fn careful(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.custom_flags(flags.bits().cast_signed()).mode(0o600)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Opens a file for reading.
pub(super) fn open_read(path: &Path) -> io::Result<File> {
    careful(OpenOptions::new().read(true)).open(path).and_then(regular)
}

/// Opens a file for appending, creating it when asked.
pub(super) fn open_append(path: &Path, create: bool) -> io::Result<File> {
    careful(OpenOptions::new().append(true).create(create)).open(path).and_then(regular)
}

/// Opens a file for reading and writing, creating it if need be, content kept.
pub(super) fn open_or_create(path: &Path) -> io::Result<File> {
    careful(OpenOptions::new().read(true).write(true).create(true).truncate(false))
        .open(path)
        .and_then(regular)
}

/// Creates a file that must not be there yet, with this content.
pub(super) fn create_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = careful(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(content)
}

/// Makes a folder only its owner may enter. Returns whether it was missing.
pub(super) fn make_folder(path: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if path.symlink_metadata()?.is_dir() {
                Ok(false)
            } else {
                Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"))
            }
        }
        Err(error) => Err(error),
    }
}

/// The ancestors of a path that do not exist, the outermost first.
pub(super) fn missing_ancestors(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<_> = path
        .ancestors()
        .skip(1)
        .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
        .map(Path::to_path_buf)
        .collect();
    missing.reverse();
    missing
}

/// Makes the names in a folder survive the loss of power.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}
