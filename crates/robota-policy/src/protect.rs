//! Files that decide what other programs run. No allow rule pre-approves a write to them.

/// Folders, wherever they are.
const FOLDERS: &[&str] = &[
    ".git",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".yarn",
    ".mvn",
    ".claude",
    ".robota",
    ".agents",
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".docker",
    ".gradle",
    ".githooks",
];

/// Two folders in a row.
const PAIRS: &[(&str, &str)] = &[
    (".config", "git"),
    (".config", "fish"),
    (".config", "systemd"),
    (".config", "autostart"),
    (".config", "nvim"),
    (".local", "bin"),
    ("Library", "LaunchAgents"),
];

/// Files, wherever they are.
const FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".gitconfig",
    ".gitmodules",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pypirc",
    ".netrc",
    ".mcp.json",
    ".claude.json",
    ".envrc",
    ".direnvrc",
    ".pre-commit-config.yaml",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".emacs",
    ".tmux.conf",
    ".wgetrc",
    ".curlrc",
    ".gdbinit",
    ".lldbinit",
    ".xinitrc",
    ".xsession",
    ".xprofile",
    ".ripgreprc",
    ".mise.toml",
    "mise.toml",
    ".tool-versions",
    ".bazelrc",
    ".condarc",
    "pip.conf",
];

/// Folders below protected ones where agents do their work.
const WORKTREES: &[(&str, &str)] = &[(".claude", "worktrees"), (".robota", "worktrees")];

/// Returns the protected name in this path, if there is one: a write to it is never pre-approved.
#[must_use]
pub fn protected(path: &str) -> Option<&'static str> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    // Some disks know no case, and some programs do not care either.
    let is = |at: usize, want: &str| {
        names.get(at).is_some_and(|name: &&str| name.eq_ignore_ascii_case(want))
    };
    for at in 0..names.len() {
        if WORKTREES.iter().any(|(a, b)| is(at, a) && is(at + 1, b) && names.len() > at + 2) {
            continue;
        }
        if let Some(name) = FOLDERS.iter().find(|name| is(at, name)) {
            return Some(name);
        }
        if let Some((_, name)) = PAIRS.iter().find(|(a, b)| is(at, a) && is(at + 1, b)) {
            return Some(name);
        }
    }
    let last = names.len().checked_sub(1)?;
    FILES.iter().find(|name| is(last, name)).copied()
}
