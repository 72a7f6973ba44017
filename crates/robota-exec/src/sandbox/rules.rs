//! The fence as a Landlock rule set. Landlock can only allow: to hide a path, everything beside
//! it is allowed one by one.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};
use robota_core::sandbox::{Fence, Level, SandboxError};

/// Devices that every program may write to.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];
/// More neighbours of a hidden path than this are no folder to list.
const MOST_NEIGHBOURS: usize = 20_000;

/// The rule set, ready to be entered by a child.
pub(super) fn build(fence: &Fence, version: u32) -> Result<OwnedFd, SandboxError> {
    let failed = |error: &dyn std::error::Error| SandboxError::Failed {
        action: "fence in",
        path: PathBuf::from("/"),
        message: error.to_string(),
    };
    let abi = abi(version);
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(all).map_err(|error| failed(&error))?;
    if version >= 6 {
        let scopes = Scope::AbstractUnixSocket | Scope::Signal;
        ruleset = ruleset.scope(scopes).map_err(|error| failed(&error))?;
    }
    let mut created = ruleset.create().map_err(|error| failed(&error))?;
    let mut allow = |path: &Path, access: BitFlags<AccessFs>| -> Result<(), SandboxError> {
        // What is gone, or not for us to open, cannot be reached from inside either.
        let Ok(fd) = PathFd::new(path) else { return Ok(()) };
        // On a file only the rights that files have.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(abi) };
        let rule = PathBeneath::new(fd, access);
        (&mut created).add_rule(rule).map(drop).map_err(|error| failed(&error))
    };
    if fence.hidden.is_empty() {
        allow(Path::new("/"), read)?;
    } else {
        // Names may be listed everywhere; contents only beside what is hidden.
        allow(Path::new("/"), AccessFs::ReadDir.into())?;
        for path in neighbours(&fence.hidden)?.iter().chain(&fence.shown) {
            allow(path, read)?;
        }
    }
    for device in DEVICES {
        allow(Path::new(device), all)?;
    }
    if fence.level == Level::WorkspaceWrite {
        for root in &fence.writable {
            allow(root, all)?;
        }
    }
    let fd: Option<OwnedFd> = created.into();
    fd.ok_or(SandboxError::Unsupported { kind: "local", what: "make a Landlock rule set" })
}

/// What this version of Landlock does not see.
pub(super) fn gaps(fence: &Fence, version: u32) -> Vec<String> {
    let mut gaps = Vec::new();
    let mut gap = |since: u32, kernel: &str, what: &str| {
        if version < since {
            gaps.push(format!("{what} (needs Linux {kernel})"));
        }
    };
    gap(2, "5.19", "files cannot be moved between folders, even where both may be changed");
    gap(3, "6.2", "files outside can be cut short if their mode allows it");
    gap(5, "6.10", "devices can be sent commands if their mode allows it");
    gap(6, "6.12", "processes outside can be sent signals, and abstract sockets be connected to");
    if fence.network {
        gaps.push("sockets in the file system can be connected to, whoever listens".to_owned());
    }
    gaps.push(
        "modes, owners, times and extended attributes of files outside can be changed by who owns \
         them: Landlock does not see that"
            .to_owned(),
    );
    if !fence.hidden.is_empty() {
        gaps.push("the names of hidden files can be listed, their contents not be read".to_owned());
    }
    gaps
}

fn abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    }
}

/// Every path beside those on the way to the hidden ones.
fn neighbours(hidden: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::from("/")];
    while let Some(dir) = todo.pop() {
        let entries = dir.read_dir().map_err(|error| SandboxError::Failed {
            action: "look beside what is hidden in",
            path: dir.clone(),
            message: error.to_string(),
        })?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            // Where a link leads is allowed, or not, by its own name.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) || hidden.contains(&path) {
                continue;
            }
            if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                todo.push(path);
            } else {
                found.push(path);
            }
            if found.len() > MOST_NEIGHBOURS {
                return Err(SandboxError::Failed {
                    action: "hide something in",
                    path: dir,
                    message: format!("more than {MOST_NEIGHBOURS} files lie beside it"),
                });
            }
        }
    }
    Ok(found)
}
