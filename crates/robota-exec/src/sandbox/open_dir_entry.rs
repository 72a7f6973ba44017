//! Accesses a file without following links, so that a link that another process creates between the
//! permission check and the access has no effect.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

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
        let temporary = PathBuf::from(format!(".{}.robota-new", std::process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = openat(&self.dir, &temporary, flags, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(fd);
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let done = written.and_then(|()| {
            // A rename replaces a link and never follows it.
            Ok(renameat(&self.dir, &temporary, &self.dir, &self.name)?)
        });
        if done.is_err() {
            let _ = unlinkat(&self.dir, &temporary, AtFlags::empty());
        }
        done
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.dir, &self.name, AtFlags::empty())?)
    }
}
