//! A process that makes, uses and removes a worktree is killed at every step: no commit and no file
//! is lost, and what it left is removed later if nothing is in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use robota_exec::{CommandSpec, Environment, Exit, Supervisor};
use robota_runtime::{Removed, Worktrees};
use tokio_util::sync::CancellationToken;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const FOLDER: &str = "ROBOTA_TEST_FOLDER";
const SCENARIO: &str = "ROBOTA_TEST_SCENARIO";

/// Counts the calls of git, and kills the process that runs them before or after one of them.
const GIT: &str = "#!/bin/sh
n=$(($(cat \"$COUNT\" 2>/dev/null || echo 0) + 1))
echo $n > \"$COUNT\"
if [ \"$KILL\" = \"before $n\" ]; then kill -9 $PPID; exit 1; fi
PATH=/usr/local/bin:/usr/bin:/bin git \"$@\"
code=$?
if [ \"$KILL\" = \"after $n\" ]; then kill -9 $PPID; fi
exit $code
";

/// What the agent does in its worktree.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Scenario {
    Nothing,
    Untracked,
    Commit,
    Carried,
}

const SCENARIOS: [Scenario; 4] =
    [Scenario::Nothing, Scenario::Untracked, Scenario::Commit, Scenario::Carried];

/// A repository in a folder, as a test or the process that is killed sees it.
struct Place {
    folder: PathBuf,
    environment: Environment,
    supervisor: Supervisor,
}

impl Place {
    fn new(folder: &Path, path: &str) -> Self {
        let environment = Environment::new().with("PATH", path).with("HOME", folder);
        Self { folder: folder.to_owned(), environment, supervisor: Supervisor::new() }
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("repo")
    }

    fn worktrees(&self) -> Worktrees {
        Worktrees::new(self.supervisor.clone(), &self.environment)
    }

    async fn git(&self, cwd: &Path, args: &[&str]) -> String {
        let name = ["-c", "user.name=t", "-c", "user.email=t@t"];
        let environment = self.environment.clone().with("PATH", PATH);
        let spec = CommandSpec::new("git", cwd).args([&name[..], args].concat()).env(environment);
        let outcome = self.supervisor.run(spec, &CancellationToken::new()).await.unwrap();
        assert!(outcome.exit.is_success(), "git {args:?}: {}", outcome.stderr.text());
        outcome.stdout.text()
    }
}

/// The process that is killed: makes a worktree, works in it and removes it.
#[tokio::test]
#[ignore = "started by the tests that kill it"]
async fn child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let scenario = std::env::var(SCENARIO).unwrap();
    let scenario = SCENARIOS.into_iter().find(|it| format!("{it:?}") == scenario).unwrap();
    let counting = format!("{}:{PATH}", folder.join("bin").display());
    let mut place = Place::new(&folder, &counting);
    for name in ["COUNT", "KILL"] {
        place.environment.set(name, std::env::var_os(name).unwrap());
    }
    let worktrees = place.worktrees();
    let carry = scenario == Scenario::Carried;
    let made = worktrees.prepare(&place.repository(), "agent", carry).await.unwrap();
    match scenario {
        Scenario::Nothing | Scenario::Carried => {}
        Scenario::Untracked => std::fs::write(made.path.join("work"), "done").unwrap(),
        Scenario::Commit => {
            std::fs::write(made.path.join("work"), "done").unwrap();
            place.git(&made.path, &["add", "--all"]).await;
            place.git(&made.path, &["commit", "--quiet", "-m", "work"]).await;
        }
    }
    // The test knows from it that there is something to lose.
    std::fs::write(folder.join("worked"), "").unwrap();
    let settled = worktrees.settle(&made).await;
    let clean = matches!(scenario, Scenario::Nothing | Scenario::Carried);
    assert_eq!(matches!(settled, Removed::Removed { .. }), clean, "{settled:?}");
}

/// Runs the process until it is killed at this step. Returns false if it exited first.
async fn run_and_kill(place: &Place, scenario: Scenario, kill: &str) -> bool {
    let count = place.folder.join("count");
    let _ = std::fs::remove_file(&count);
    let _ = std::fs::remove_file(place.folder.join("worked"));
    let environment = Environment::new()
        .with("PATH", PATH)
        .with(FOLDER, &place.folder)
        .with(SCENARIO, format!("{scenario:?}"))
        .with("COUNT", &count)
        .with("KILL", kill);
    let spec = CommandSpec::new(std::env::current_exe().unwrap(), &place.folder)
        .args(["--exact", "child", "--ignored", "--quiet"])
        .env(environment);
    let outcome = place.supervisor.run(spec, &CancellationToken::new()).await.unwrap();
    match outcome.exit {
        Exit::Signal(9) => true,
        Exit::Code(0) => false,
        other => panic!("{scenario:?} {kill}: {other:?} {}", outcome.stdout.text()),
    }
}

async fn state(place: &Place) -> (String, String, String) {
    let repository = place.repository();
    let head = place.git(&repository, &["rev-parse", "HEAD"]).await;
    let status = place.git(&repository, &["status", "--porcelain"]).await;
    (head, status, std::fs::read_to_string(repository.join("README")).unwrap())
}

async fn killed_at_every_step(scenario: Scenario) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::write(folder.join("bin/git"), GIT).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("bin/git"), mode).unwrap();
    let place = Place::new(&folder, PATH);
    let repository = place.repository();
    std::fs::create_dir_all(&repository).unwrap();
    place.git(&repository, &["init", "--quiet", "-b", "main"]).await;
    std::fs::write(repository.join("README"), "one\n").unwrap();
    place.git(&repository, &["add", "--all"]).await;
    place.git(&repository, &["commit", "--quiet", "-m", "one"]).await;
    if scenario == Scenario::Carried {
        std::fs::write(repository.join("README"), "changed\n").unwrap();
        std::fs::write(repository.join("new"), "untracked\n").unwrap();
    }
    let before = state(&place).await;
    let mut kills = 0;
    'steps: for step in 1.. {
        for when in ["before", "after"] {
            let kill = format!("{when} {step}");
            if !run_and_kill(&place, scenario, &kill).await {
                break 'steps;
            }
            kills += 1;
            let case = format!("{scenario:?}, killed {kill}");
            assert_eq!(state(&place).await, before, "{case}");
            place.git(&repository, &["fsck", "--no-dangling", "--no-progress"]).await;
            let worked = folder.join("worked").exists();
            let pruned = place.worktrees().prune(&repository).await.unwrap();
            assert_eq!(state(&place).await, before, "{case}");
            check_kept(&place, scenario, worked, pruned, &case).await;
        }
    }
    assert!(kills >= 10, "{kills} kills");
}

/// Checks that the work exists, and that nothing else does. Then removes it for the next step.
async fn check_kept(
    place: &Place,
    scenario: Scenario,
    worked: bool,
    pruned: Vec<(robota_runtime::Worktree, Removed)>,
    case: &str,
) {
    let repository = place.repository();
    let kept = pruned.into_iter().filter(|(_, removed)| matches!(removed, Removed::Kept { .. }));
    let kept: Vec<_> = kept.map(|(worktree, _)| worktree).collect();
    let has_work = matches!(scenario, Scenario::Untracked | Scenario::Commit) && worked;
    if has_work {
        assert_eq!(kept.len(), 1, "{case}");
        let work = std::fs::read_to_string(kept[0].path.join("work")).unwrap();
        assert_eq!(work, "done", "{case}");
    }
    if scenario == Scenario::Commit && worked {
        let subjects = place.git(&repository, &["log", "--all", "--format=%s"]).await;
        assert!(subjects.lines().any(|subject| subject == "work"), "{case}: {subjects}");
    }
    // A process that was killed in the middle of its own work may have left a part of it.
    if !has_work && scenario != Scenario::Commit && scenario != Scenario::Untracked {
        assert!(kept.is_empty(), "{case}: {kept:?}");
    }
    for worktree in kept {
        let name = worktree.path.file_name().unwrap().to_str().unwrap().to_owned();
        let removed = place.worktrees().remove(&repository, &name, true).await.unwrap();
        // A branch with commits is kept.
        if removed == (Removed::Removed { branch_kept: true }) {
            place.git(&repository, &["branch", "-D", &worktree.branch]).await;
        }
    }
    let branches = ["for-each-ref", "--format=%(refname:short)", "refs/heads/robota"];
    for branch in place.git(&repository, &branches).await.lines() {
        // The commit of the carried files is on no other branch; it is kept.
        assert_eq!(scenario, Scenario::Carried, "{case}: {branch}");
        place.git(&repository, &["branch", "-D", branch]).await;
    }
    let entries = std::fs::read_dir(repository.join(".git")).unwrap().flatten();
    let left: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("robota-index"))
        .collect();
    assert!(left.is_empty(), "{case}: {left:?}");
}

#[tokio::test]
async fn run_05_killed_at_every_step_a_clean_worktree_leaves_nothing() {
    killed_at_every_step(Scenario::Nothing).await;
}

#[tokio::test]
async fn run_05_killed_at_every_step_no_file_is_lost() {
    killed_at_every_step(Scenario::Untracked).await;
}

#[tokio::test]
async fn run_05_killed_at_every_step_no_commit_is_lost() {
    killed_at_every_step(Scenario::Commit).await;
}

#[tokio::test]
async fn run_05_killed_at_every_step_carried_changes_stay_with_their_owner() {
    killed_at_every_step(Scenario::Carried).await;
}
