//! Files that decide what other programs run. No allow rule pre-approves a write to them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Names of files and folders by who obeys them. A name that ends with `/` is a folder with all
/// that is in it; `a/b` is `b` in a folder `a`.
const ECOSYSTEMS: &[(&str, &[&str])] = &[
    (
        "version control",
        &[
            ".git/",
            ".gitconfig",
            ".gitmodules",
            ".githooks/",
            ".hg/",
            ".hgrc",
            ".svn/",
            ".jj/",
            ".bzr/",
            ".config/git/",
            ".config/jj/",
            ".husky/",
            "lefthook.yml",
            "lefthook.yaml",
            ".lefthook.yml",
            "lefthook-local.yml",
            "lefthook.toml",
            "lefthook.json",
            ".pre-commit-config.yaml",
            ".pre-commit-hooks.yaml",
            ".overcommit.yml",
            ".lintstagedrc",
            ".lintstagedrc.json",
            ".lintstagedrc.js",
            ".huskyrc",
        ],
    ),
    (
        "shells",
        &[
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
            ".envrc",
            ".direnvrc",
            ".config/fish/",
            ".config/direnv/",
            ".config/starship.toml",
            ".xinitrc",
            ".xsession",
            ".xprofile",
            ".tmux.conf",
            ".config/tmux/",
            ".screenrc",
        ],
    ),
    (
        "agents",
        &[
            ".claude/",
            ".claude.json",
            ".robota/",
            ".agents/",
            ".mcp.json",
            ".cursor/",
            ".cursorrules",
            ".windsurf/",
            ".continue/",
            ".aider.conf.yml",
            ".codex/",
            ".gemini/",
            ".kiro/",
            ".roo/",
        ],
    ),
    (
        "editors",
        &[
            ".vscode/",
            ".idea/",
            ".zed/",
            ".fleet/",
            ".nvim.lua",
            ".nvimrc",
            ".vimrc",
            ".exrc",
            ".gvimrc",
            ".emacs",
            ".emacs.d/",
            ".dir-locals.el",
            ".config/nvim/",
            ".config/helix/",
            ".helix/",
            ".sublime-project",
            ".devcontainer/",
            ".devcontainer.json",
        ],
    ),
    (
        "continuous integration",
        &[
            ".github/workflows/",
            ".github/actions/",
            ".gitlab-ci.yml",
            ".circleci/",
            "azure-pipelines.yml",
            ".travis.yml",
            "Jenkinsfile",
            ".drone.yml",
            ".buildkite/",
            "bitbucket-pipelines.yml",
            ".woodpecker/",
            ".woodpecker.yml",
            ".gitea/workflows/",
            ".forgejo/workflows/",
        ],
    ),
    ("Rust", &[".cargo/", "rust-toolchain", "rust-toolchain.toml", ".rustup/"]),
    (
        "JavaScript",
        &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            "bunfig.toml",
            ".volta/",
        ],
    ),
    (
        "Python",
        &[
            ".pypirc",
            "pip.conf",
            ".pip/",
            ".condarc",
            "sitecustomize.py",
            "usercustomize.py",
            ".pythonrc",
            ".pythonstartup",
            ".pdbrc",
            "pyvenv.cfg",
            ".config/pip/",
        ],
    ),
    (
        "other languages",
        &[
            ".bundle/",
            ".gemrc",
            ".irbrc",
            ".pryrc",
            ".rspec",
            ".Rprofile",
            ".Renviron",
            ".gradle/",
            ".mvn/",
            ".m2/",
            ".sbtopts",
            ".sbtrc",
            ".ghci",
            ".cabal/",
            ".stack/",
            ".opam/",
            ".lein/",
            ".iex.exs",
            ".psqlrc",
            ".sqliterc",
            ".my.cnf",
            ".perldb",
            ".php.ini",
            ".user.ini",
            ".ocamlinit",
            ".julia/",
            ".erlang",
        ],
    ),
    (
        "tools",
        &[
            ".bazelrc",
            ".gdbinit",
            ".lldbinit",
            ".gdb/",
            ".wgetrc",
            ".curlrc",
            ".netrc",
            ".ripgreprc",
            ".lesskey",
            ".mise.toml",
            "mise.toml",
            ".tool-versions",
            ".asdfrc",
            ".ssh/",
            ".gnupg/",
            ".aws/",
            ".kube/",
            ".docker/",
            ".config/gh/",
            ".azure/",
            ".config/gcloud/",
            ".terraformrc",
            ".ansible.cfg",
            ".config/systemd/",
            ".config/autostart/",
            ".local/bin/",
            "Library/LaunchAgents/",
            ".crontab",
            ".buckconfig",
            ".config/mise/",
            ".ctags.d/",
            ".ctags",
            ".mailcap",
        ],
    ),
];

/// Folders below protected ones where agents do their work.
const WORKTREES: &[(&str, &str)] = &[(".claude", "worktrees"), (".robota", "worktrees")];

/// The entries by their first name, in small letters.
static INDEX: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut index: HashMap<String, Vec<&'static str>> = HashMap::new();
    for entry in ECOSYSTEMS.iter().flat_map(|(_, entries)| *entries) {
        let first = entry.split('/').next().unwrap_or(entry).to_ascii_lowercase();
        index.entry(first).or_default().push(entry);
    }
    index
});

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
        let Some(entries) = INDEX.get(&names[at].to_ascii_lowercase()) else { continue };
        let hit = |entry: &&&'static str| {
            let parts: Vec<&str> = entry.trim_end_matches('/').split('/').collect();
            parts.iter().enumerate().all(|(i, part)| is(at + i, part))
                && (entry.ends_with('/') || at + parts.len() == names.len())
        };
        if let Some(entry) = entries.iter().find(hit) {
            return Some(entry.trim_end_matches('/'));
        }
    }
    None
}
