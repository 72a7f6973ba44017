//! The fence behind the proof that a command only reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use robota_core::sandbox::{Fence, SandboxLevel};
use robota_exec::sandbox::{ReadOnlyFence, SandboxSupport, probe};
use robota_exec::{Environment, Exit, Outcome, ShellCommand, Streams, Supervisor};
use robota_testkit::{Part, requires};
use tokio_util::sync::CancellationToken;

/// A workspace with a repository, and the folder in which temporary files are created.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    temporary: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let (root, temporary) = (real.join("work"), real.join("temporary"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&temporary).unwrap();
        std::fs::write(root.join("file"), "one\ntwo\n").unwrap();
        Self { _dir: dir, root, temporary }
    }

    /// Returns the names, contents, modes and times of all files in the workspace.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>, u32, std::time::SystemTime)> {
        let mut found = Vec::new();
        let mut todo = vec![self.root.clone()];
        while let Some(path) = todo.pop() {
            let metadata = path.symlink_metadata().unwrap();
            let content =
                if metadata.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            if metadata.is_dir() {
                todo.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            }
            let modified = metadata.modified().unwrap();
            found.push((path, content, metadata.permissions().mode(), modified));
        }
        found.sort();
        found
    }
}

fn environment() -> Environment {
    #[expect(clippy::disallowed_methods, reason = "bubblewrap is searched in the tester's PATH")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    Environment::new().with("PATH", path).with("HOME", "/nonexistent")
}

/// Returns what can enforce the fence here: Landlock alone, and bubblewrap alone.
async fn drivers() -> Vec<SandboxSupport> {
    let all = probe(&environment()).await;
    let landlock = SandboxSupport { bubblewrap: None, ..all };
    let landlock = (all.landlock > 0 && all.seccomp).then_some(landlock);
    let bubblewrap = SandboxSupport { landlock: 0, ..all.clone() };
    let bubblewrap = all.bubblewrap.is_some().then_some(bubblewrap);
    let both = [requires(Part::Landlock, landlock), requires(Part::Bubblewrap, bubblewrap)];
    both.into_iter().flatten().collect()
}

async fn run_in(fence: &ReadOnlyFence, env: Environment, cwd: &Path, command: &str) -> Outcome {
    let spec = ShellCommand::new(command, cwd).env(env).into_spec().unwrap();
    let spec = fence.apply(spec.streams(Streams::Merged)).unwrap();
    Supervisor::new().run(spec, &CancellationToken::new()).await.unwrap()
}

async fn run(fence: &ReadOnlyFence, place: &Place, command: &str) -> Outcome {
    run_in(fence, environment(), &place.root, command).await
}

/// Runs a command without the fence, to prepare a test.
async fn prepare(place: &Place, command: &str) {
    let spec = ShellCommand::new(command, &place.root).env(environment()).into_spec().unwrap();
    let outcome = Supervisor::new().run(spec, &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.exit, Exit::Code(0), "{command}: {}", outcome.stderr.text());
}

#[tokio::test]
async fn nothing_can_be_changed_and_nothing_can_be_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // A name of this run: the folder may have files of other users.
    let outside = format!("/tmp/robota-was-here-{}-{port}", std::process::id());
    for support in drivers().await {
        let place = Place::new();
        let fence = ReadOnlyFence::new(None, &support, &place.temporary).unwrap();
        let before = place.state();
        for attempt in [
            "echo x > new",
            "echo x > file",
            "echo x >> file",
            "[ a > file ]",
            ": > file",
            "rm file",
            "mv file other",
            "ln file hard",
            "ln -s file soft",
            "mkdir dir",
            "mkfifo pipe",
            "chmod 777 file",
            "chown 1:1 file",
            "touch file",
            "touch -d 2001-01-01 file",
            "truncate -s 0 file",
            "cp file copy",
            "sed -i s/one/x/ file",
            "sort -o file file",
            "dd if=/dev/zero of=file",
            "tee file < /dev/null",
            &format!("echo x > {outside}"),
            "echo x > \"$TMPDIR/../../work/file\"",
            "exec 9<> file",
            "exec 9< file; echo x > /proc/self/fd/9",
            &format!("exec 9<> /dev/tcp/127.0.0.1/{port}"),
            &format!("echo x > /dev/udp/127.0.0.1/{port}"),
        ] {
            let outcome = run(&fence, &place, attempt).await;
            let text = outcome.stdout.text();
            assert_ne!(outcome.exit, Exit::Code(0), "{support:?}: {attempt}: {text}");
            assert_eq!(place.state(), before, "{support:?}: {attempt}");
        }
        assert!(!Path::new(&outside).exists());
    }
}

#[tokio::test]
async fn commands_that_read_work_as_without_the_fence() {
    for support in drivers().await {
        let place = Place::new();
        prepare(
            &place,
            "git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm m",
        )
        .await;
        let fence = ReadOnlyFence::new(None, &support, &place.temporary).unwrap();
        let large = "x".repeat(100_000);
        for (command, expected) in [
            ("cat file; echo x > /dev/null; echo e 2> /dev/null", "one\ntwo\ne\n".to_owned()),
            ("sort -r file | head -1; wc -l < file", "two\n2\n".to_owned()),
            ("cat <<X | tail -c 4\n$(cat file)\nX", "two\n".to_owned()),
            (&format!("wc -c <<< {large}"), "100001\n".to_owned()),
            // Larger than its memory, so it needs temporary files.
            ("seq 1 200000 | sort -S 100K -n | tail -1", "200000\n".to_owned()),
            ("diff <(sort file) <(sort file) && echo same", "same\n".to_owned()),
            ("mktemp -u > /dev/null && x=$(mktemp) && echo ok > $x && cat $x", "ok\n".to_owned()),
            ("git status --short; git log --format=%s; git diff --stat", "m\n".to_owned()),
            ("for f in *; do echo $f; done; (sleep 0 & wait); jobs", "file\n".to_owned()),
        ] {
            let outcome = run(&fence, &place, command).await;
            assert_eq!(outcome.stdout.text(), expected, "{support:?}: {command}");
            assert_eq!(outcome.exit, Exit::Code(0), "{support:?}: {command}");
        }
        let left = place.temporary.read_dir().unwrap().next().unwrap().unwrap().path();
        for folder in left.read_dir().unwrap() {
            let files = folder.unwrap().path().read_dir().unwrap().count();
            assert_eq!(files, 0, "what commands leave in their folders is deleted");
        }
        drop(fence);
        assert_eq!(place.temporary.read_dir().unwrap().count(), 0);
    }
}

#[tokio::test]
async fn what_the_user_hides_stays_hidden() {
    for support in drivers().await {
        let place = Place::new();
        std::fs::create_dir(place.root.join("keys")).unwrap();
        std::fs::write(place.root.join("keys/id"), "s3cret").unwrap();
        let user = Fence {
            level: SandboxLevel::Off,
            writable: vec![place.root.clone()],
            protected: Vec::new(),
            hidden: vec![place.root.join("keys")],
            shown: Vec::new(),
            network: true,
        };
        let fence = ReadOnlyFence::new(Some(&user), &support, &place.temporary).unwrap();
        let outcome = run(&fence, &place, "cat keys/id; cat file").await;
        assert!(!outcome.stdout.text().contains("s3cret"), "{support:?}");
        assert!(outcome.stdout.text().contains("one"), "{support:?}");
    }
}

/// Each program of a hostile repository writes a file outside when it runs.
#[tokio::test]
async fn git_runs_none_of_the_repositorys_programs_with_effect() {
    for support in drivers().await {
        let place = Place::new();
        let canary = place.temporary.parent().unwrap().join("canary");
        let evil = format!("sh -c 'echo RAN; id > {}' --", canary.display());
        let set = |key: &str| format!("git config {key} \"{}\"\n", evil.replace('"', "\\\""));
        prepare(
            &place,
            "git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm m && \
             mkdir sub && (cd sub && git init -q . && echo a > a && git add a && \
             git -c user.name=a -c user.email=b commit -qm m) && \
             git -c protocol.file.allow=always submodule --quiet add ./sub sub 2> /dev/null; \
             echo '* filter=evil diff=evil merge=evil' > .gitattributes && echo three >> file",
        )
        .await;
        let keys = [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.askPass",
            "core.alternateRefsCommand",
            "pager.log",
            "diff.external",
            "diff.evil.command",
            "diff.evil.textconv",
            "filter.evil.clean",
            "filter.evil.smudge",
            "merge.evil.driver",
            "gpg.program",
            "credential.helper",
            "alias.st",
            "interactive.diffFilter",
        ];
        let mut script: String = keys.iter().map(|key| set(key)).collect();
        script.push_str("git config log.showSignature true\n");
        script.push_str(&format!("(cd sub && {})\n", set("core.fsmonitor").trim()));
        script.push_str("mkdir -p .git/hooks && for h in post-index-change fsmonitor-watchman post-checkout; do\n");
        script.push_str(&format!(
            "printf '#!/bin/sh\\nid > {}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done\n",
            canary.display()
        ));
        prepare(&place, &script).await;
        let _ = std::fs::remove_file(&canary);
        let fence = ReadOnlyFence::new(None, &support, &place.temporary).unwrap();
        let before = place.state();
        for command in [
            "git status",
            "git status --short --ignored",
            "git diff",
            "git diff --stat",
            "git diff --cached",
            "git log -p",
            "git log -1",
            "git show",
            "git blame file",
            "git ls-files -m",
            "git grep one",
            "git branch -a",
            "git stash list",
            "git describe --always --dirty",
            "git rev-parse HEAD",
            "git cat-file -p HEAD",
            "git fetch",
            "git ls-remote origin",
            "git st",
        ] {
            let outcome = run(&fence, &place, command).await;
            assert!(!canary.exists(), "{support:?}: {command}: {}", outcome.stdout.text());
            assert_eq!(place.state(), before, "{support:?}: {command}");
        }
        // Those that are not for single file types do not even start.
        std::fs::remove_file(place.root.join(".gitattributes")).unwrap();
        for command in ["git status", "git log -1", "git branch -a", "git rev-parse HEAD"] {
            let outcome = run(&fence, &place, command).await;
            assert_eq!(outcome.exit, Exit::Code(0), "{support:?}: {command}");
            let denied = &outcome.denied;
            assert!(!outcome.stdout.text().contains("RAN"), "{support:?}: {command}: {denied:?}");
        }
    }
}

#[tokio::test]
async fn git_does_not_take_the_working_folder_for_a_bare_repository() {
    for support in drivers().await {
        let place = Place::new();
        prepare(&place, "git init -q --bare . && git config core.fsmonitor 'id > ran'").await;
        let fence = ReadOnlyFence::new(None, &support, &place.temporary).unwrap();
        let outcome = run(&fence, &place, "git rev-parse --git-dir").await;
        assert_ne!(outcome.exit, Exit::Code(0), "{support:?}: {}", outcome.stdout.text());
        assert!(outcome.stdout.text().contains("bare"), "{}", outcome.stdout.text());
    }
}

#[tokio::test]
async fn settings_for_git_that_the_user_passes_are_kept() {
    for support in drivers().await {
        let place = Place::new();
        prepare(&place, "git init -q .").await;
        let fence = ReadOnlyFence::new(None, &support, &place.temporary).unwrap();
        let env = environment().with("GIT_CONFIG_PARAMETERS", "'a.b=c'").with("LESSOPEN", "|id");
        let command = "git config a.b; git config core.fsmonitor; echo \"[$LESSOPEN]\"";
        let outcome = run_in(&fence, env, &place.root, command).await;
        assert_eq!(outcome.stdout.text(), "c\nfalse\n[]\n", "{support:?}");
    }
}

#[tokio::test]
async fn git_ignores_the_filters_and_converters_that_attributes_select() {
    for support in drivers().await {
        let place = Place::new();
        let fence = ReadOnlyFence::new(None, &support, &place.temporary).unwrap();
        prepare(
            &place,
            "git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm m && \
             echo '* filter=shout diff=shout' > .gitattributes && echo three >> file && \
             git config filter.shout.clean 'tr a-z A-Z' && \
             git config diff.shout.textconv 'tr a-z A-Z <'",
        )
        .await;
        let outcome = run(&fence, &place, "git diff file").await;
        let text = outcome.stdout.text();
        assert!(text.contains("+three") && !text.contains("THREE"), "{text}");
    }
}
