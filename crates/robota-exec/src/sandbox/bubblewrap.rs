//! Translates a fence into arguments of bubblewrap, which gives a program its own view of the file
//! system.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use robota_core::sandbox::{Fence, SandboxLevel};

/// Returns the arguments before the program.
pub(super) fn arguments(fence: &Fence) -> Vec<OsString> {
    let mut args: Vec<OsString> = [
        "--die-with-parent",
        "--new-session",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    ]
    .map(OsString::from)
    .to_vec();
    if !fence.network {
        args.push("--unshare-net".into());
    }
    // `-try`, here and below: the user may have removed the path since the sandbox was prepared. Without it
    // no command would start, and a command cannot remove a mount point itself.
    if fence.level == SandboxLevel::WorkspaceWrite {
        for root in &fence.writable {
            args.extend(["--bind-try".into(), root.into(), root.into()]);
        }
    }
    let protected = fence.protected.iter().filter(|path| path.exists());
    let protected: Vec<_> = protected.collect();
    for folder in folders_above(&protected, &fence.writable) {
        args.extend(["--bind-try".into(), folder.into(), folder.into()]);
    }
    // The order of the arguments is the order of the mounts, and a later mount covers an earlier
    // one.
    for path in protected {
        args.extend(["--ro-bind-try".into(), path.into(), path.into()]);
    }
    // Mounted after the writable folders, so that paths in them are hidden too.
    for path in &fence.hidden {
        if path.is_dir() {
            args.extend(["--tmpfs".into(), path.into()]);
        } else {
            args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
        }
    }
    for path in &fence.shown {
        args.extend(["--ro-bind-try".into(), path.into(), path.into()]);
    }
    args
}

/// Returns the folders between writable folders and protected paths, outermost first. Each becomes a
/// mount point, which cannot be moved: otherwise a program could move the folder together with the
/// protected path and create another one.
fn folders_above<'a>(protected: &[&'a PathBuf], writable: &[PathBuf]) -> BTreeSet<&'a Path> {
    let below = |folder: &Path| {
        writable.iter().any(|root| folder.starts_with(root))
            && !writable.iter().any(|r| r == folder)
    };
    let above = protected.iter().flat_map(|path| path.ancestors().skip(1));
    above.filter(|folder| below(folder)).collect()
}

/// Returns what bubblewrap does not enforce.
pub(super) fn gaps(fence: &Fence) -> Vec<String> {
    let mut gaps = Vec::new();
    if fence.network {
        gaps.push(
            "programs can connect to sockets in the file system, also to those of processes outside the sandbox"
                .to_owned(),
        );
    }
    gaps.push("system calls that the sandbox denies are not reported".to_owned());
    gaps
}
