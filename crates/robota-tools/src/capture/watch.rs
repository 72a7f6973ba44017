//! Asks the kernel which paths change between two comparisons, so that the next one inspects only
//! those. Linux only: elsewhere there is no watch, and every comparison inspects all files.
//!
//! What the kernel does not announce: writes to a file through a hard link outside of the workspace,
//! and writes to a mapped file before it is closed. See `docs/checkpoints.md`.

use std::collections::BTreeSet;
#[cfg(not(target_os = "linux"))]
use std::path::Path;

#[cfg(target_os = "linux")]
pub(super) use linux::FolderWatch;

/// A watch, where the system has none.
#[cfg(not(target_os = "linux"))]
pub(super) struct FolderWatch(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl FolderWatch {
    pub(super) fn new(_: &Path) -> Option<Self> {
        None
    }

    pub(super) fn add(&mut self, _: &Path, _: &str) {
        match self.0 {}
    }

    pub(super) fn expect_device(&mut self, _: u64) {
        match self.0 {}
    }

    pub(super) fn forget(&mut self, _: &BTreeSet<String>) {
        match self.0 {}
    }

    pub(super) fn discard(&mut self) {
        match self.0 {}
    }

    pub(super) fn announced(&mut self) -> Option<BTreeSet<String>> {
        match self.0 {}
    }

    pub(super) fn is_complete(&self) -> bool {
        match self.0 {}
    }
}

/// Returns the path of an entry of a folder.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns whether a path or a folder around it is one of the given paths.
pub(super) fn is_at_or_below_any(path: &str, paths: &BTreeSet<String>) -> bool {
    let mut end = Some(path.len());
    while let Some(at) = end {
        if paths.contains(&path[..at]) {
            return true;
        }
        end = path[..at].rfind('/');
    }
    false
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeSet, HashMap};
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rustix::fs::inotify::{
        CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
    };
    use rustix::io::Errno;

    use super::{is_at_or_below_any, joined};

    /// The most watches of this process. A user has 128 for all programs by default.
    const MAX_WATCHES: usize = 16;
    /// The most folders of a watch. Each needs about 1 KB of the kernel's memory.
    const MAX_FOLDERS: usize = 4096;
    /// The types of file systems that announce every change: all changes are made by this kernel.
    /// ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs.
    const LOCAL: [u64; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
    ];

    static WATCHES: AtomicUsize = AtomicUsize::new(0);

    /// The folders of a workspace that are watched.
    pub(in crate::capture) struct FolderWatch {
        /// None only while it is dropped.
        fd: Option<OwnedFd>,
        /// The folders by their number.
        folders: HashMap<i32, String>,
        /// The file system of the workspace.
        device: Option<u64>,
        /// Whether a folder could not be watched.
        incomplete: bool,
    }

    impl FolderWatch {
        /// Creates a watch without folders. `None` if the file system may change without an
        /// announcement, or there are too many watches.
        pub(in crate::capture) fn new(root: &Path) -> Option<Self> {
            let kind = rustix::fs::statfs(root).ok()?.f_type;
            if !LOCAL.contains(&(u64::try_from(kind).ok()? & 0xffff_ffff)) {
                return None;
            }
            let taken = WATCHES.fetch_add(1, Ordering::Relaxed);
            // From here on `drop` gives the place back.
            let mut watch =
                Self { fd: None, folders: HashMap::new(), device: None, incomplete: false };
            if taken >= MAX_WATCHES {
                return None;
            }
            watch.fd = Some(init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?);
            Some(watch)
        }

        /// Watches a folder. Must be called before the folder is inspected.
        pub(in crate::capture) fn add(&mut self, root: &Path, folder: &str) {
            let Some(fd) = &self.fd else { return };
            // CLOSE_WRITE too: writes to a mapped file are announced only when it is closed.
            let flags = WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVE
                | WatchFlags::DONT_FOLLOW
                | WatchFlags::ONLYDIR;
            match add_watch(fd, root.join(folder), flags) {
                // The same folder has the same number, also after it was renamed.
                Ok(number) => {
                    self.folders.insert(number, folder.to_owned());
                    self.incomplete |= self.folders.len() > MAX_FOLDERS;
                }
                // It was deleted since, or it is not covered, because it cannot be read. The folder around
                // it announces changes of both.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) if !folder.is_empty() => {}
                Err(_) => self.incomplete = true,
            }
        }

        /// Notes the file system of a folder. Of a second one it is not known whether it announces
        /// every change.
        pub(in crate::capture) fn expect_device(&mut self, device: u64) {
            self.incomplete |= *self.device.get_or_insert(device) != device;
        }

        /// Ends the watch of folders that are no longer in the workspace, and of those below them.
        pub(in crate::capture) fn forget(&mut self, folders: &BTreeSet<String>) {
            let Some(fd) = self.fd.as_ref().filter(|_| !folders.is_empty()) else { return };
            self.folders.retain(|number, path| {
                let keep = !is_at_or_below_any(path, folders);
                if !keep {
                    // It fails if the folder was deleted, which ends the watch as well.
                    let _ = remove_watch(fd, *number);
                }
                keep
            });
        }

        /// Discards all announcements: everything is about to be inspected.
        pub(in crate::capture) fn discard(&mut self) {
            let _ = self.announced();
        }

        /// Returns the paths that changed since the last call. `None` if some are not known.
        pub(in crate::capture) fn announced(&mut self) -> Option<BTreeSet<String>> {
            let fd = self.fd.as_ref()?;
            let mut buffer = vec![MaybeUninit::uninit(); 16 * 1024];
            let mut reader = Reader::new(fd, &mut buffer);
            let (mut paths, mut complete) = (BTreeSet::new(), true);
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => continue,
                    Err(_) => return None,
                };
                let what = event.events();
                if what.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                    complete = false;
                } else if what.contains(ReadFlags::IGNORED) {
                    self.folders.remove(&event.wd());
                } else if let (Some(folder), Some(name)) =
                    (self.folders.get(&event.wd()), event.file_name())
                {
                    match name.to_str() {
                        Ok(name) => drop(paths.insert(joined(folder, name))),
                        Err(_) => complete = false,
                    }
                }
            }
            Some(paths).filter(|_| complete)
        }

        /// Returns whether every folder that was added is watched.
        pub(in crate::capture) fn is_complete(&self) -> bool {
            !self.incomplete
        }
    }

    impl Drop for FolderWatch {
        fn drop(&mut self) {
            WATCHES.fetch_sub(1, Ordering::Relaxed);
            if let Some(fd) = self.fd.take() {
                // The kernel takes up to 25 ms to end a watch. If there is no thread, it ends here.
                let _ = std::thread::Builder::new().spawn(move || drop(fd));
            }
        }
    }
}
