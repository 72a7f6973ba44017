//! Translates a fence into arguments of bubblewrap, which gives a program its own view of the file
//! system.

use std::ffi::OsString;

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
    if fence.level == SandboxLevel::WorkspaceWrite {
        for root in &fence.writable {
            args.extend(["--bind".into(), root.into(), root.into()]);
        }
    }
    for path in fence.protected.iter().filter(|path| path.exists()) {
        args.extend(["--ro-bind".into(), path.into(), path.into()]);
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
        args.extend(["--ro-bind".into(), path.into(), path.into()]);
    }
    args
}

/// Returns what bubblewrap does not enforce.
pub(super) fn gaps(fence: &Fence) -> Vec<String> {
    let mut gaps = Vec::new();
    if fence.network {
        gaps.push(
            "programs can connect to sockets in the file system, whichever process listens"
                .to_owned(),
        );
    } else {
        gaps.push(
            "programs can connect to sockets in writable folders of the file system".to_owned(),
        );
    }
    if !fence.protected.is_empty() {
        gaps.push(
            "the parent folders of protected paths can be moved together with them".to_owned(),
        );
    }
    gaps
}
