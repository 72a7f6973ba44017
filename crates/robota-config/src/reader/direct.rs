//! Opens paths that have no links in them with one system call. Resolving links needs one for each
//! folder of a path, and a session that starts opens many files of few folders.

use std::fs::File;
use std::path::Path;

/// What is at a path.
pub(super) enum Direct {
    /// An open file or folder. The path has no links.
    Open(File),
    /// Nothing is at the path.
    Missing,
    /// There are links in the path, or the system cannot check this. The path must be resolved.
    Unknown,
}

/// How a path is opened.
#[derive(Clone, Copy)]
pub(super) enum Access {
    /// To read it. Does not wait for a pipe.
    Read,
    /// To inspect its metadata; it is not opened for reading.
    Inspect,
}

/// Opens a path if none of its parts is a link.
#[cfg(target_os = "linux")]
pub(super) fn open(path: &Path, access: Access) -> Direct {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    // `..` and `.` would not be part of the canonical path that the caller gets.
    if !is_normal(path) {
        return Direct::Unknown;
    }
    let flags = match access {
        Access::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
        Access::Inspect => OFlags::PATH,
    };
    let flags = flags | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(opened) => Direct::Open(File::from(opened)),
        Err(Errno::NOENT | Errno::NOTDIR) => Direct::Missing,
        // Also if the call is forbidden, as in some containers: then links are resolved the slow
        // way.
        Err(_) => Direct::Unknown,
    }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn open(_: &Path, _: Access) -> Direct {
    Direct::Unknown
}

/// Returns whether a path is its own canonical path if it has no links.
#[cfg(target_os = "linux")]
fn is_normal(path: &Path) -> bool {
    use std::path::Component;

    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
}
