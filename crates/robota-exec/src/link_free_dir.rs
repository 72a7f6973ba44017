//! Opens folders and files without following links. A path that was judged by its canonical name is
//! opened by exactly that name: a link that another process puts in its way makes the access fail.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;

/// An open folder whose path has no links.
#[derive(Debug)]
pub struct LinkFreeDir(OwnedFd);

/// How a folder is opened on the way to a file: for lookups only.
#[cfg(target_os = "linux")]
const LOOKUP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const LOOKUP: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

impl LinkFreeDir {
    /// Opens a folder by its canonical path. With `create_missing`, creates missing folders.
    ///
    /// # Errors
    /// If the path is not absolute, contains `..` or a link, or the folder cannot be opened.
    pub fn open(path: &Path, create_missing: bool) -> io::Result<Self> {
        let below = path.strip_prefix("/").map_err(|_| io::ErrorKind::InvalidInput)?;
        let root = rustix::fs::open("/", LOOKUP, Mode::empty())?;
        if below.as_os_str().is_empty() {
            return Ok(Self(root));
        }
        match open_below(root.as_fd(), below, LOOKUP) {
            Err(Errno::NOENT) if create_missing => Ok(Self(create_below(root, below)?)),
            other => Ok(Self(other?)),
        }
    }

    /// Opens the folder of a file and returns it with the name of the file.
    ///
    /// # Errors
    /// See [`LinkFreeDir::open`].
    pub fn of_file(path: &Path, create_missing: bool) -> io::Result<(Self, &OsStr)> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok((Self::open(parent, create_missing)?, name)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Opens a regular file below the folder for reading. Nothing else is opened: opening a pipe
    /// waits for its other end, and opening a device can have an effect.
    ///
    /// # Errors
    /// If the path contains `..` or a link, is not a regular file, or cannot be opened.
    pub fn open_file(&self, relative: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // Checked before it is opened, because opening a device can already have an effect. This
        // call follows links in parent folders; the open below does not.
        if let Ok(stat) = statat(&self.0, relative, AtFlags::SYMLINK_NOFOLLOW) {
            must_be_file(FileType::from_raw_mode(stat.st_mode))?;
        }
        let file = File::from(open_below(self.0.as_fd(), relative, flags)?);
        // Checked again on the open file, which may be another one.
        must_be_file(FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode))?;
        Ok(file)
    }

    /// Returns whether the path below the folder leads to something without passing through a link.
    /// Its last part may be a link.
    #[must_use]
    pub fn contains(&self, relative: &Path) -> bool {
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return false;
        };
        let found = |dir: BorrowedFd<'_>| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if parent.as_os_str().is_empty() {
            return found(self.0.as_fd());
        }
        open_below(self.0.as_fd(), parent, LOOKUP).is_ok_and(|dir| found(dir.as_fd()))
    }
}

impl AsFd for LinkFreeDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn must_be_file(kind: FileType) -> io::Result<()> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Opens a relative path, with one call where the system can reject links in all its parts.
#[cfg(target_os = "linux")]
fn open_below(dir: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    // The kernel would accept `..` as long as it stays beneath the folder; both ways have to refuse
    // the same paths.
    names(relative)?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(dir, relative, flags | OFlags::NOFOLLOW, Mode::empty(), resolve) {
        // Linux before 5.6 has no openat2; the filter of some containers forbids it.
        Err(Errno::NOSYS | Errno::PERM) => walk_below(dir, relative, flags),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_below(dir: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    walk_below(dir, relative, flags)
}

/// Opens a relative path part by part, since `NOFOLLOW` applies to the last part only.
fn walk_below(dir: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let parts = names(relative)?;
    let (last, parents) = parts.split_last().ok_or(Errno::INVAL)?;
    let mut open = None;
    for part in parents {
        let dir = open.as_ref().map_or(dir, OwnedFd::as_fd);
        open = Some(openat(dir, *part, LOOKUP | OFlags::NOFOLLOW, Mode::empty())?);
    }
    let dir = open.as_ref().map_or(dir, OwnedFd::as_fd);
    openat(dir, *last, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens a relative path part by part and creates the missing folders.
fn create_below(root: OwnedFd, relative: &Path) -> rustix::io::Result<OwnedFd> {
    let mut dir = root;
    for part in names(relative)? {
        let open = |dir: &OwnedFd| openat(dir, part, LOOKUP | OFlags::NOFOLLOW, Mode::empty());
        dir = match open(&dir) {
            Err(Errno::NOENT) => {
                match mkdirat(&dir, part, Mode::from_raw_mode(0o777)) {
                    // EXIST: another process created it meanwhile. It is opened without following
                    // links either way.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                open(&dir)?
            }
            other => other?,
        };
    }
    Ok(dir)
}

/// Returns the parts of a relative path. `..` is rejected, because it could leave the folder.
fn names(relative: &Path) -> rustix::io::Result<Vec<&OsStr>> {
    let name = |part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(Errno::INVAL),
    };
    relative.components().filter(|part| *part != Component::CurDir).map(name).collect()
}

#[cfg(test)]
mod tests;
