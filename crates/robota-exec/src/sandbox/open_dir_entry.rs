//! Accesses a file without following links, so that a link that another process creates between the
//! permission check and the access has no effect.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::link_free_dir::LinkFreeDir;

/// An open folder and the name of an entry in it.
pub(super) struct OpenDirEntry {
    dir: LinkFreeDir,
    name: OsString,
}

impl OpenDirEntry {
    /// Opens the folder of a canonical path. With `create_dirs`, creates missing folders.
    pub(super) fn open(path: &Path, create_dirs: bool) -> io::Result<Self> {
        let (dir, name) = LinkFreeDir::of_file(path, create_dirs)?;
        Ok(Self { dir, name: name.to_owned() })
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.dir.open_file(Path::new(&self.name))?.read_to_end(&mut content)?;
        Ok(content)
    }

    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let kept = self.permissions();
        // Until it has the mode of the file it replaces, only its owner may read it.
        let created = if kept.is_some() { 0o600 } else { 0o666 };
        let (mut file, temporary) = self.create_temporary(Mode::from_raw_mode(created))?;
        let written = file.write_all(content).and_then(|()| {
            if let Some(mode) = kept {
                fchmod(&file, mode)?;
            }
            file.sync_all()
        });
        let done = written.and_then(|()| {
            // A rename replaces a link and never follows it.
            Ok(renameat(&self.dir, &temporary, &self.dir, &self.name)?)
        });
        if done.is_err() {
            let _ = unlinkat(&self.dir, &temporary, AtFlags::empty());
        }
        done
    }

    /// Returns the permissions of the file, if it exists. Those that give a program the rights of
    /// its owner are for the old content.
    fn permissions(&self) -> Option<Mode> {
        let stat = statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then(|| Mode::from_raw_mode(stat.st_mode & 0o777))
    }

    /// Creates a file with a name that is not in use: other threads may write to the same folder,
    /// and a process that was killed may have left its file.
    fn create_temporary(&self, mode: Mode) -> io::Result<(File, PathBuf)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let name = temporary_name(NUMBER.fetch_add(1, Ordering::Relaxed));
            match openat(&self.dir, &name, flags, mode) {
                Err(Errno::EXIST) => {}
                created => return Ok((File::from(created?), name)),
            }
        }
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.dir, &self.name, AtFlags::empty())?)
    }
}

/// The name of a temporary file, which must be on the file system of the file it replaces.
fn temporary_name(number: u64) -> PathBuf {
    PathBuf::from(format!(".{}-{number}.robota-new", std::process::id()))
}

#[cfg(test)]
mod tests;
