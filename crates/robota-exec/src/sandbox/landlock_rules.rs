//! Translates a fence into a Landlock rule set. Landlock rules can only allow access, so a path is
//! hidden by allowing each of its siblings, and those of its parents, one by one.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};
use robota_core::sandbox::{Fence, SandboxError, SandboxLevel};

/// The devices that every program may write to.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// The first Landlock version with scopes.
pub(super) const SCOPES_SINCE: u32 = 6;
/// The maximum number of rules that hiding paths may need.
const MAX_SIBLINGS: usize = 20_000;

/// Builds the rule set. `version` is the Landlock ABI version of the kernel; `terminal` is the file
/// of the program's own terminal, which it may open again. It may not write to other terminals.
pub(super) fn build(
    fence: &Fence,
    version: u32,
    terminal: Option<&Path>,
) -> Result<OwnedFd, SandboxError> {
    let abi = abi(version);
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(all).map_err(|error| failed(&error))?;
    if version >= SCOPES_SINCE {
        ruleset = ruleset.scope(scopes()).map_err(|error| failed(&error))?;
    }
    let mut created = ruleset.create().map_err(|error| failed(&error))?;
    let mut allow = |path: &Path, access: BitFlags<AccessFs>| -> Result<(), SandboxError> {
        // A path that cannot be opened here cannot be opened in the sandbox either.
        let Ok(fd) = PathFd::new(path) else { return Ok(()) };
        // The kernel rejects directory rights on a file.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(abi) };
        let rule = PathBeneath::new(fd, access);
        (&mut created).add_rule(rule).map(drop).map_err(|error| failed(&error))
    };
    if fence.hidden.is_empty() {
        allow(Path::new("/"), read)?;
    } else {
        // Names can be listed everywhere; contents are readable only outside the hidden paths.
        allow(Path::new("/"), AccessFs::ReadDir.into())?;
        for path in siblings(&fence.hidden)?.iter().chain(&fence.shown) {
            allow(path, read)?;
        }
    }
    for device in DEVICES.map(Path::new).into_iter().chain(terminal) {
        allow(device, all)?;
    }
    if fence.level == SandboxLevel::WorkspaceWrite {
        for root in &fence.writable {
            allow(root, all)?;
        }
    }
    let fd: Option<OwnedFd> = created.into();
    fd.ok_or(SandboxError::Unsupported { kind: "local", what: "create a Landlock rule set" })
}

/// Builds a rule set that allows all files and keeps signals and abstract sockets inside, for
/// bubblewrap, which restricts files itself. `None` if the kernel cannot.
pub(super) fn scopes_only(version: u32) -> Result<Option<OwnedFd>, SandboxError> {
    if version < SCOPES_SINCE {
        return Ok(None);
    }
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.scope(scopes()).map_err(|error| failed(&error))?;
    Ok(ruleset.create().map_err(|error| failed(&error))?.into())
}

fn scopes() -> BitFlags<Scope> {
    Scope::AbstractUnixSocket | Scope::Signal
}

fn failed(error: &dyn std::error::Error) -> SandboxError {
    SandboxError::Failed {
        action: "restrict access to",
        path: PathBuf::from("/"),
        message: error.to_string(),
    }
}

/// Returns what this version of Landlock does not enforce.
pub(super) fn gaps(fence: &Fence, version: u32, attributes: bool) -> Vec<String> {
    let mut gaps = Vec::new();
    let mut gap = |since: u32, kernel: &str, what: &str| {
        if version < since {
            gaps.push(format!("{what} (needs Linux {kernel})"));
        }
    };
    gap(2, "5.19", "files cannot be moved between folders, not even between writable ones");
    gap(3, "6.2", "files outside the writable folders can be truncated if their mode allows it");
    gap(5, "6.10", "device commands (ioctl) are possible if the mode of the device allows it");
    gap(6, "6.12", "programs can send signals to any process and connect to abstract sockets");
    if fence.network {
        gaps.push(
            "programs can connect to sockets in the file system, also to those of processes outside the sandbox"
                .to_owned(),
        );
    }
    if attributes {
        gaps.push(
            "the owner of a file outside the writable folders can change its mode, owner, times \
             and extended attributes: Landlock does not check that"
                .to_owned(),
        );
    }
    gaps.push("programs cannot create terminals".to_owned());
    if !fence.hidden.is_empty() {
        gaps.push(
            "the names of hidden files can be listed; their contents cannot be read".to_owned(),
        );
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

/// Returns the siblings of the hidden paths and of all their parents.
fn siblings(hidden: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let mut siblings = Vec::new();
    let mut todo = vec![PathBuf::from("/")];
    while let Some(dir) = todo.pop() {
        let entries = dir.read_dir().map_err(|error| SandboxError::Failed {
            action: "list the folder of a hidden path,",
            path: dir.clone(),
            message: error.to_string(),
        })?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            // Access through a link is decided by the rules for its target.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) || hidden.contains(&path) {
                continue;
            }
            if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                todo.push(path);
            } else {
                siblings.push(path);
            }
            if siblings.len() > MAX_SIBLINGS {
                return Err(SandboxError::Failed {
                    action: "hide a path in",
                    path: dir,
                    message: format!("more than {MAX_SIBLINGS} other files would need a rule"),
                });
            }
        }
    }
    Ok(siblings)
}
