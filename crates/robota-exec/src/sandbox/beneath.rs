//! Files below a folder, whatever is put in their way meanwhile: no link is followed between
//! looking and doing.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, renameat, unlinkat,
};

/// A folder that is open, and the name of something in it.
pub(super) struct Spot {
    dir: OwnedFd,
    name: PathBuf,
}

impl Spot {
    /// The place of a canonical path; the folders on the way are made if asked for.
    pub(super) fn open(path: &Path, make: bool) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut dir = rustix::fs::open(
            "/",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        for part in parent.components().skip(1) {
            let part = Path::new(part.as_os_str());
            dir = match step(&dir, part) {
                Err(rustix::io::Errno::NOENT) if make => {
                    match mkdirat(&dir, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    step(&dir, part)?
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
            return Err(io::Error::other("it is not a file"));
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
            // A rename replaces a link, it never follows one.
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

fn step(dir: &OwnedFd, part: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(dir, part, flags, Mode::empty(), resolve) {
        // Before Linux 5.6: one name at a time, and no link.
        Err(rustix::io::Errno::NOSYS) => openat(dir, part, flags | OFlags::NOFOLLOW, Mode::empty()),
        other => other,
    }
}
