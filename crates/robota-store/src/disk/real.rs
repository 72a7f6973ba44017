//! The disk of the operating system.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::OFlags;

use super::{AppendFile, CreateMode, Disk, FileInfo, LockGuard, LockMode, ReadFile};

/// How much of a lock file is shown, in bytes: another process wrote its text.
const MAX_NOTE: u64 = 200;

/// The maximum number of attempts to take a lock whose file is being deleted.
const MAX_TRIES: usize = 100;

/// File systems that other machines may write to at the same time, by their magic numbers
/// (`statfs(2)`). FUSE and 9p are not listed: most are local, and nothing says which.
const NETWORK_FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x0000_6969, "NFS"),
    (0x0000_517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0000_564c, "NCP"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
];

/// Uses the files of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl ReadFile for File {
    fn info(&self) -> io::Result<FileInfo> {
        let metadata = self.metadata()?;
        // An inode number may be reused for a new file; its creation time then differs.
        let created =
            metadata.created().ok().and_then(|created| created.duration_since(UNIX_EPOCH).ok());
        let created = created
            .map_or(0, |created| created.as_secs() << 30 | u64::from(created.subsec_nanos()));
        let id = metadata.ino().rotate_left(48) ^ created;
        Ok(FileInfo { len: metadata.len(), user_id: metadata.uid(), id })
    }
}

impl AppendFile for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // One system call, unless the disk accepts only a part. `write_all` then tries the rest,
        // and that call returns the reason, such as a full disk.
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// Sets flags so that links are not followed and pipes do not block: a checked-out repository may
/// contain either where a session's file is expected.
fn open_options(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.custom_flags(flags.bits().cast_signed()).mode(0o600)
}

fn require_regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Replaces an empty path by `.`: a relative path of one component has an empty parent.
fn or_current(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn lock_file(path: &Path) -> io::Result<File> {
    open_options(OpenOptions::new().read(true).write(true).create(true).truncate(false))
        .open(path)
        .and_then(require_regular)
}

/// Returns whether the path still leads to that file. Deleting a session deletes its lock file; a
/// lock on the deleted file protects nothing.
fn is_same_file(path: &Path, file: &File) -> io::Result<bool> {
    let ours = file.metadata()?;
    match path.symlink_metadata() {
        Ok(current) => Ok((current.dev(), current.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_note(file: File) -> String {
    let mut text = Vec::new();
    // The owner may not have written its note yet, so a failed or empty read is not an error.
    let _ = file.take(MAX_NOTE).read_to_end(&mut text);
    let text: String =
        String::from_utf8_lossy(&text).trim().chars().filter(|c| !c.is_control()).collect();
    if text.is_empty() { "owner unknown".to_owned() } else { text }
}

impl Disk for RealDisk {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        let file =
            open_options(OpenOptions::new().read(true)).open(path).and_then(require_regular)?;
        Ok(Box::new(file))
    }

    fn open_append(&self, path: &Path, create: CreateMode) -> io::Result<Box<dyn AppendFile>> {
        let mut options = OpenOptions::new();
        options.append(true);
        match create {
            CreateMode::Never => {}
            CreateMode::IfMissing => _ = options.create(true),
            CreateMode::Always => _ = options.create_new(true),
        }
        Ok(Box::new(open_options(&mut options).open(path).and_then(require_regular)?))
    }

    fn make_folder(&self, path: &Path) -> io::Result<bool> {
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

    fn is_folder(&self, path: &Path) -> bool {
        or_current(path).is_dir()
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(or_current(path))? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(or_current(path))?.sync_all()
    }

    fn try_lock(&self, path: &Path, text: &str) -> io::Result<Result<LockGuard, String>> {
        for _ in 0..MAX_TRIES {
            let mut file = lock_file(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(read_note(file))),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if is_same_file(path, &file)? {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                file.write_all(text.as_bytes())?;
                return Ok(Ok(Box::new(HeldLock(file))));
            }
        }
        Ok(Err("a process that keeps deleting the lock file".to_owned()))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<LockGuard> {
        let file = lock_file(path)?;
        match mode {
            LockMode::Exclusive => file.lock()?,
            LockMode::Shared => file.lock_shared()?,
        }
        Ok(Box::new(HeldLock(file)))
    }

    fn network_file_system(&self, path: &Path) -> io::Result<Option<&'static str>> {
        #[cfg(target_os = "linux")]
        {
            let kind = rustix::fs::statfs(or_current(path))?.f_type;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "32 bits of magic"
            )]
            let magic = kind as u32;
            Ok(network_name(magic))
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = path;
            Ok(None)
        }
    }

    fn user_id(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }
}

/// A lock that ends when this is dropped. Closing the file alone is not enough: a child process that
/// was forked meanwhile and has not yet run its program has the file open too, and with it the lock.
struct HeldLock(File);

impl Drop for HeldLock {
    fn drop(&mut self) {
        // If this fails, the lock ends when all copies of the descriptor are closed.
        let _ = self.0.unlock();
    }
}

/// Returns the name of the network file system with that magic number.
fn network_name(magic: u32) -> Option<&'static str> {
    NETWORK_FILE_SYSTEMS.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests;
