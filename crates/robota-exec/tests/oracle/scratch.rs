//! The tree in which commands run: a workspace with a hostile repository, a home, and files
//! outside that no command may read.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Content of files outside the workspace; no free command may print it.
pub(crate) const SECRET: &str = "canary-7f3a91";

/// A program that leaves a trace. Git runs it under many names if it may.
const TRACE: &str = "#!/bin/sh\ntouch \"$(dirname \"$0\")/../../../ran/$(basename \"$0\")\"\ncat\n";

/// Settings of a repository that run programs, and that the environment of free commands overrides.
/// Filters, textconv and external diff cannot be overridden: where a repository has them, git is
/// not free.
const HOSTILE: &str = "
[core]
	fsmonitor = .git/run/fsmonitor
	pager = .git/run/pager
	editor = .git/run/editor
	sshCommand = .git/run/ssh
	askPass = .git/run/askpass
	hooksPath = .git/run
	alternateRefsCommand = .git/run/alternate
[pager]
	log = .git/run/pager
	diff = .git/run/pager
[merge \"hostile\"]
	driver = .git/run/merge
[credential]
	helper = .git/run/credential
[gpg]
	program = .git/run/gpg
[interactive]
	diffFilter = .git/run/interactive
[sequence]
	editor = .git/run/sequence
[uploadpack]
	packObjectsHook = .git/run/pack
[difftool \"x\"]
	cmd = .git/run/difftool
[alias]
	st = !.git/run/alias
	x = !.git/run/alias
[log]
	showSignature = true
";

const PROGRAMS: &[&str] = &[
    "fsmonitor",
    "pager",
    "editor",
    "ssh",
    "askpass",
    "alternate",
    "external",
    "textconv",
    "command",
    "clean",
    "smudge",
    "process",
    "merge",
    "credential",
    "gpg",
    "interactive",
    "sequence",
    "pack",
    "difftool",
    "alias",
    "pre-commit",
    "post-index-change",
    "post-checkout",
    "reference-transaction",
];

const FILES: &[(&str, &str)] = &[
    ("a.txt", "one\ntwo\nthree\n"),
    ("b.txt", "two\nfour\nfour\n"),
    ("README.md", "# Title\n\nSome text with a TODO.\n"),
    ("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n"),
    ("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"),
    ("data.json", "{\"a\": [1, 2, 3], \"b\": {\"c\": \"d\"}}\n"),
    ("list.csv", "id,name\n1,ada\n2,bob\n"),
    ("with space.txt", "x\n"),
    ("sub/deep/note.md", "note\n"),
    ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n"),
    ("package.json", "{\"name\": \"x\", \"scripts\": {\"test\": \"touch ../ran/npm\"}}\n"),
    ("Makefile", "all:\n\ttouch ../ran/make\n"),
    ("script.sh", "touch ../ran/script\n"),
    (".env", "KEY=value\n"),
    (".gitattributes", "*.txt diff=hostile filter=hostile merge=hostile\n"),
];

pub(crate) struct Scratch {
    dir: tempfile::TempDir,
}

/// What a path was: its kind and mode, size, times and number.
type Entry = (u32, u64, i64, i64, u64);

impl Scratch {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("robota-oracle-").tempdir().unwrap();
        let scratch = Self { dir };
        scratch.fill();
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Returns where output goes; it is not part of the tree that is compared.
    pub(crate) fn output(&self) -> PathBuf {
        self.root().join("output")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Restores the tree.
    pub(crate) fn restore(&self) {
        for name in ["workspace", "home", "outside", "ran", "output"] {
            let _ = std::fs::remove_dir_all(self.root().join(name));
        }
        self.fill();
    }

    #[expect(clippy::disallowed_methods, reason = "git makes the repository before anything runs")]
    fn fill(&self) {
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let (root, workspace) = (self.root(), self.workspace());
        for name in ["ran", "output", "home/.ssh", "outside"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, text) in FILES {
            write(workspace.join(name), text);
        }
        let secret = format!("{SECRET}\n");
        for name in ["outside/secret.txt", "home/secret.txt", "home/.ssh/id", "home/.bashrc"] {
            write(root.join(name), &secret);
        }
        write(root.join(format!("outside/{SECRET}")), "");
        write(root.join(format!("home/{SECRET}")), "");
        symlink("../outside/secret.txt", workspace.join("link")).unwrap();
        symlink("../outside", workspace.join("linked")).unwrap();
        symlink("a.txt", workspace.join("inner-link")).unwrap();
        let git = |args: &[&str]| {
            let status = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false"])
                .args(args)
                .current_dir(&workspace)
                .env("HOME", root)
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .output()
                .unwrap();
            assert!(status.status.success(), "git {args:?}: {status:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-qm", "first"]);
        write(workspace.join("a.txt"), "one\ntwo\nthree\nfour\n");
        git(&["commit", "-qam", "second"]);
        git(&["tag", "v1"]);
        write(workspace.join("src/main.rs"), "fn main() {}\n");
        write(workspace.join("b.txt"), "two\nfive\n");
        write(workspace.join("untracked.txt"), "new\n");
        let run = workspace.join(".git/run");
        std::fs::create_dir_all(&run).unwrap();
        for name in PROGRAMS {
            write(run.join(name), TRACE);
            std::fs::set_permissions(run.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let config = workspace.join(".git/config");
        let own = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, format!("{own}{HOSTILE}")).unwrap();
    }

    /// Returns what is in the tree, without the output.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Entry> {
        let mut entries = BTreeMap::new();
        let mut todo = vec![self.root().to_owned()];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path == self.output() {
                    continue;
                }
                let meta = path.symlink_metadata().unwrap();
                // The time of a folder changes with its entries, which are compared.
                let time = if meta.is_dir() { 0 } else { meta.mtime_nsec() };
                let about = (meta.mode(), meta.size(), meta.mtime(), time, meta.ino());
                if meta.is_dir() {
                    todo.push(path.clone());
                    entries.insert(path, (meta.mode(), 0, 0, 0, meta.ino()));
                } else {
                    entries.insert(path, about);
                }
            }
        }
        entries
    }
}

/// Returns how two snapshots differ, as sentences.
pub(crate) fn differences(
    root: &Path,
    before: &BTreeMap<PathBuf, Entry>,
    after: &BTreeMap<PathBuf, Entry>,
) -> Vec<String> {
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut out = Vec::new();
    for (path, entry) in after {
        match before.get(path) {
            None if path.starts_with(root.join("ran")) => out.push(format!("ran {}", name(path))),
            None => out.push(format!("created {}", name(path))),
            Some(old) if old != entry => out.push(format!("changed {}", name(path))),
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    out.extend(gone.map(|path| format!("removed {}", name(path))));
    out
}
