//! The fence as arguments of bubblewrap, which shows a program another file system.

use std::ffi::OsString;

use robota_core::sandbox::{Fence, Level};

/// Everything before the program.
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
    if fence.level == Level::WorkspaceWrite {
        for root in &fence.writable {
            args.extend(["--bind".into(), root.into(), root.into()]);
        }
    }
    for path in fence.protected.iter().filter(|path| path.exists()) {
        args.extend(["--ro-bind".into(), path.into(), path.into()]);
    }
    // After what may be changed, so that it is hidden there too.
    for path in &fence.hidden {
        if path.is_dir() {
            args.extend(["--tmpfs".into(), path.into()]);
        } else {
            args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
        }
    }
    for path in &fence.shown {
        args.extend(["--ro-bind".into(), path.into(), path.into()]);
    }
    args
}

/// What it does not keep apart.
pub(super) fn gaps(fence: &Fence) -> Vec<String> {
    let mut gaps = Vec::new();
    if fence.network {
        gaps.push("sockets in the file system can be connected to, whoever listens".to_owned());
    } else {
        gaps.push(
            "sockets in the file system can be connected to where they may be written".to_owned(),
        );
    }
    if !fence.protected.is_empty() {
        gaps.push(
            "the folders above what may not be changed can be moved, with it in them".to_owned(),
        );
    }
    gaps
}
