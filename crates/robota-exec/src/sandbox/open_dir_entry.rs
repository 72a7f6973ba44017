//! Accesses a file without following links, so that a link that another process creates between the
//! permission check and the access has no effect.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, renameat, unlinkat,
};

/// An open folder and the name of an entry in it.
pub(super) struct OpenDirEntry {
    dir: OwnedFd,
    name: PathBuf,
}

impl OpenDirEntry {
    /// Opens the folder of a canonical path. With `create_dirs`, creates missing folders.
    pub(super) fn open(path: &Path, create_dirs: bool) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut dir = rustix::fs::open(
            "/",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        for part in parent.components().skip(1) {
            let part = Path::new(part.as_os_str());
            dir = match open_subdir(&dir, part) {
                Err(rustix::io::Errno::NOENT) if create_dirs => {
                    match mkdirat(&dir, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    open_subdir(&dir, part)?
                }
                other => other?,
            };
        }
        Ok(Self { dir, name: Path::new(name).to_owned() })
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut file = File::from(openat(&self.dir, &self.name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
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

fn open_subdir(dir: &OwnedFd, part: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(dir, part, flags, Mode::empty(), resolve) {
        // Linux before 5.6 has no openat2. `part` is one component, so NOFOLLOW is enough.
        Err(rustix::io::Errno::NOSYS) => openat(dir, part, flags | OFlags::NOFOLLOW, Mode::empty()),
        other => other,
    }
}
