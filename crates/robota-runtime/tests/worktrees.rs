//! Real repositories: no commit and no file is ever lost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use robota_core::task::{Isolation, TaskErrorCategory, TaskFinished, TaskKind, TaskStatus, Tasks};

use robota_exec::{CommandSpec, Environment, Supervisor};
use robota_runtime::{
    AgentWork, NoJournal, Removed, TaskJob, TaskManager, TaskManagerOptions, TaskReporter,
    TaskRequest, TaskRunner, TaskWork, Worktree, WorktreeAgents, WorktreeError, WorktreeHooks,
    Worktrees,
};
use tokio_util::sync::CancellationToken;

struct Repository {
    dir: tempfile::TempDir,
    worktrees: Worktrees,
    supervisor: Supervisor,
    environment: Environment,
}

/// Returns the folder of the worktrees of a repository.
fn folder(repository: &Path) -> PathBuf {
    repository.join(".robota/worktrees")
}

impl Repository {
    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    async fn git(&self, cwd: &Path, args: &[&str]) -> String {
        let spec = CommandSpec::new("git", cwd).args(args).env(self.environment.clone());
        let outcome = self.supervisor.run(spec, &CancellationToken::new()).await.unwrap();
        assert!(outcome.exit.is_success(), "git {args:?}: {}", outcome.stderr.text());
        outcome.stdout.text()
    }

    async fn commit(&self, cwd: &Path, file: &str, text: &str) -> String {
        std::fs::write(cwd.join(file), text).unwrap();
        self.git(cwd, &["add", "--all"]).await;
        let name = ["-c", "user.name=t", "-c", "user.email=t@t"];
        self.git(cwd, &[&name[..], &["commit", "--quiet", "-m", file]].concat()).await;
        self.git(cwd, &["rev-parse", "HEAD"]).await.trim().to_owned()
    }

    async fn branches(&self) -> Vec<String> {
        let args = ["for-each-ref", "--format=%(refname:short)", "refs/heads/robota"];
        let list = self.git(&self.path(), &args).await;
        list.lines().map(str::to_owned).collect()
    }

    async fn prepare(&self) -> Worktree {
        self.worktrees.prepare(&self.path(), "agent-1", false).await.unwrap()
    }

    async fn has_commit(&self, commit: &str) -> bool {
        let args = ["for-each-ref", "--contains", commit, "--format=%(refname)"];
        !self.git(&self.path(), &args).await.trim().is_empty()
    }
}

async fn repository() -> Repository {
    let dir = tempfile::tempdir().unwrap();
    let environment =
        Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin").with("HOME", dir.path());
    let supervisor = Supervisor::new();
    // A variable that redirects git has no effect.
    let redirected = environment.clone().with("GIT_DIR", "/nowhere");
    let worktrees = Worktrees::new(supervisor.clone(), &redirected);
    let repository = Repository { dir, worktrees, supervisor, environment };
    let path = repository.path();
    std::fs::create_dir_all(path.join("src")).unwrap();
    repository.git(&path, &["init", "--quiet", "-b", "main"]).await;
    std::fs::write(path.join("src/a.rs"), "a").unwrap();
    repository.commit(&path, "README", "one\n").await;
    repository
}

fn kept(removed: &Removed) -> Vec<String> {
    match removed {
        Removed::Kept { reasons } => reasons.clone(),
        Removed::Removed { .. } => panic!("it was removed"),
    }
}

#[tokio::test]
async fn run_05_a_clean_worktree_is_removed_with_its_branch() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    assert!(worktree.path.join("README").exists());
    assert_eq!(repository.branches().await, std::slice::from_ref(&worktree.branch));
    let status = repository.git(&repository.path(), &["status", "--porcelain"]).await;
    assert_eq!(status, "", "the repository does not see its worktrees");
    let removed = repository.worktrees.settle(&worktree).await;
    assert_eq!(removed, Removed::Removed { branch_kept: false });
    assert!(!worktree.path.exists() && repository.branches().await.is_empty());
    assert!(!folder(&repository.path()).exists());
}

#[tokio::test]
async fn programs_that_a_repository_names_do_not_run_and_those_of_the_user_do() {
    let repository = repository().await;
    let path = repository.path();
    std::fs::write(path.join(".gitattributes"), "*.x filter=evil=1\n*.u filter=own\n").unwrap();
    std::fs::write(path.join("f.x"), "x\n").unwrap();
    repository.commit(&path, "f.u", "one\n").await;
    let trace = path.parent().unwrap().join("trace");
    let evil = format!("touch {}; cat", trace.display());
    let lines = ["clean", "smudge", "process"].map(|key| format!("\t{key} = \"{evil}\"\n"));
    let config = path.join(".git/config");
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{before}[filter \"evil=1\"]\n{}", lines.concat())).unwrap();
    repository.git(&path, &["config", "filter.own.smudge", &evil]).await;
    repository.git(&path, &["config", "--global", "filter.own.smudge", "sed s/one/two/"]).await;
    std::fs::write(path.join("f.x"), "changed\n").unwrap();
    let worktree = repository.worktrees.prepare(&path, "agent-1", true).await.unwrap();
    assert_eq!(std::fs::read_to_string(worktree.path.join("f.x")).unwrap(), "changed\n");
    assert_eq!(std::fs::read_to_string(worktree.path.join("f.u")).unwrap(), "two\n");
    std::fs::write(worktree.path.join("f.x"), "again\n").unwrap();
    assert!(!kept(&repository.worktrees.settle(&worktree).await).is_empty());
    assert!(!trace.exists(), "a program of the repository ran");
}

#[tokio::test]
async fn run_05_a_commit_inside_is_kept() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    let commit = repository.commit(&worktree.path, "new", "text").await;
    let reasons = kept(&repository.worktrees.settle(&worktree).await);
    assert_eq!(reasons, ["commits"]);
    assert!(worktree.path.exists() && repository.has_commit(&commit).await);
    // By force the folder goes, and the commit stays on the branch.
    let name = worktree.path.file_name().unwrap().to_str().unwrap();
    let removed = repository.worktrees.remove(&repository.path(), name, true).await.unwrap();
    assert_eq!(removed, Removed::Removed { branch_kept: true });
    assert!(!worktree.path.exists() && repository.has_commit(&commit).await);
}

#[tokio::test]
async fn run_05_dirty_staged_and_untracked_files_are_kept() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    std::fs::write(worktree.path.join("README"), "two\n").unwrap();
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["1 changed file"]);
    repository.git(&worktree.path, &["add", "README"]).await;
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["1 changed file"]);
    repository.git(&worktree.path, &["reset", "--quiet", "--hard"]).await;
    std::fs::create_dir(worktree.path.join("new folder")).unwrap();
    std::fs::write(worktree.path.join("new folder/ü"), "").unwrap();
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["1 untracked file"]);
    let name = worktree.branch.as_str();
    let error = repository.worktrees.remove(&repository.path(), name, false).await.unwrap_err();
    assert!(error.to_string().contains("has changes (1 untracked file)"), "{error}");
    assert!(worktree.path.join("new folder/ü").exists());
}

#[tokio::test]
async fn run_05_a_commit_that_was_reset_or_left_on_a_detached_head_is_kept() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    repository.commit(&worktree.path, "new", "text").await;
    repository.git(&worktree.path, &["reset", "--quiet", "--hard", "HEAD~1"]).await;
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["commits"]);

    let detached = repository.prepare().await;
    repository.git(&detached.path, &["checkout", "--quiet", "--detach"]).await;
    let commit = repository.commit(&detached.path, "new", "text").await;
    assert_eq!(kept(&repository.worktrees.settle(&detached).await), ["commits"]);
    let name = detached.path.file_name().unwrap().to_str().unwrap();
    repository.worktrees.remove(&repository.path(), name, true).await.unwrap();
    assert!(repository.has_commit(&commit).await, "a branch keeps the detached commit");
}

#[tokio::test]
async fn run_05_the_parent_may_be_detached_or_a_worktree_itself() {
    let repository = repository().await;
    repository.git(&repository.path(), &["checkout", "--quiet", "--detach"]).await;
    let outer = repository.prepare().await;
    let inner = repository.worktrees.prepare(&outer.path, "inner", false).await.unwrap();
    assert!(inner.path.starts_with(&outer.path));
    let listed = repository.worktrees.list(&repository.path()).await.unwrap();
    assert_eq!(listed.len(), 2);
    for worktree in [&inner, &outer] {
        let removed = repository.worktrees.settle(worktree).await;
        assert_eq!(removed, Removed::Removed { branch_kept: false });
    }
}

/// Makes a worktree in another one. Git ignores the folder it is in.
async fn nested(repository: &Repository) -> (Worktree, Worktree) {
    let outer = repository.prepare().await;
    let inner = repository.worktrees.prepare(&outer.path, "inner", false).await.unwrap();
    (outer, inner)
}

#[tokio::test]
async fn run_05_a_worktree_with_another_one_in_it_is_kept() {
    let repository = repository().await;
    let (outer, inner) = nested(&repository).await;
    std::fs::write(inner.path.join("work"), "done").unwrap();
    // The outer one itself has no change.
    assert_eq!(kept(&repository.worktrees.settle(&outer).await), ["another worktree in it"]);
    assert_eq!(std::fs::read_to_string(inner.path.join("work")).unwrap(), "done");
    let name = outer.path.file_name().unwrap().to_str().unwrap();
    for force in [false, true] {
        let refused = repository.worktrees.remove(&repository.path(), name, force).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("has other worktrees in it"), "{error}");
        assert!(error.contains(&inner.path.display().to_string()), "{error}");
    }
    assert!(inner.path.join("work").exists());
    // When the inner one is gone, the outer one can go too.
    std::fs::remove_file(inner.path.join("work")).unwrap();
    for worktree in [&inner, &outer] {
        let removed = repository.worktrees.settle(worktree).await;
        assert_eq!(removed, Removed::Removed { branch_kept: false });
    }
}

#[tokio::test]
async fn run_05_prune_keeps_a_worktree_in_which_an_agent_uses_another_one() {
    let repository = repository().await;
    let (outer, inner) = nested(&repository).await;
    let unlock = async |worktree: &Worktree| {
        let place = worktree.path.to_str().unwrap();
        repository.git(&repository.path(), &["worktree", "unlock", place]).await;
    };
    unlock(&outer).await;
    // The inner one stays locked by this process.
    let pruned = repository.worktrees.prune(&repository.path()).await.unwrap();
    assert!(pruned.iter().all(|(_, it)| matches!(it, Removed::Kept { .. })), "{pruned:?}");
    assert!(outer.path.is_dir() && inner.path.join("README").exists());
    // The inner ones go first, so one run removes both.
    unlock(&inner).await;
    let pruned = repository.worktrees.prune(&repository.path()).await.unwrap();
    assert!(pruned.iter().all(|(_, it)| matches!(it, Removed::Removed { .. })), "{pruned:?}");
    assert!(!outer.path.exists() && repository.branches().await.is_empty());
}

#[tokio::test]
async fn run_05_a_submodule_that_was_checked_out_is_kept() {
    let repository = repository().await;
    let library = repository.dir.path().canonicalize().unwrap().join("library");
    std::fs::create_dir(&library).unwrap();
    repository.git(&library, &["init", "--quiet", "-b", "main"]).await;
    repository.commit(&library, "lib", "text").await;
    let allow = ["-c", "protocol.file.allow=always"];
    let url = library.to_str().unwrap();
    let add = [&allow[..], &["submodule", "--quiet", "add", url, "lib"]].concat();
    repository.git(&repository.path(), &add).await;
    repository.commit(&repository.path(), "with", "library").await;
    let worktree = repository.prepare().await;
    // Not checked out: nothing is there.
    assert!(repository.worktrees.changes(&worktree).await.unwrap().is_empty());
    let update = [&allow[..], &["submodule", "--quiet", "update", "--init"]].concat();
    repository.git(&worktree.path, &update).await;
    repository.commit(&worktree.path.join("lib"), "more", "text").await;
    let reasons = kept(&repository.worktrees.settle(&worktree).await);
    assert_eq!(reasons, ["1 changed file", "the submodule lib"]);
    assert!(worktree.path.join("lib/more").exists());
}

#[tokio::test]
async fn run_05_many_are_made_at_once() {
    let repository = repository().await;
    let path = repository.path();
    let made = (0..6).map(|_| repository.worktrees.prepare(&path, "same name", false));
    let made: Vec<_> = futures::future::join_all(made).await;
    let mut paths: Vec<_> = made.into_iter().map(|it| it.unwrap().path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 6);
    let pruned = repository.worktrees.prune(&path).await.unwrap();
    // This process made them and still runs.
    assert!(pruned.iter().all(|(_, removed)| matches!(removed, Removed::Kept { .. })));
}

#[tokio::test]
async fn run_05_uncommitted_changes_are_carried_along_and_the_parent_stays_as_it_is() {
    let repository = repository().await;
    let path = repository.path();
    std::fs::write(path.join("README"), "changed\n").unwrap();
    std::fs::write(path.join("new"), "untracked\n").unwrap();
    let status = repository.git(&path, &["status", "--porcelain"]).await;
    let worktree = repository.worktrees.prepare(&path, "agent", true).await.unwrap();
    let read = |file: &str| std::fs::read_to_string(worktree.path.join(file)).unwrap();
    assert_eq!((read("README").as_str(), read("new").as_str()), ("changed\n", "untracked\n"));
    assert_eq!(repository.git(&path, &["status", "--porcelain"]).await, status);
    let removed = repository.worktrees.settle(&worktree).await;
    assert_eq!(removed, Removed::Removed { branch_kept: false });
    assert_eq!(std::fs::read_to_string(path.join("new")).unwrap(), "untracked\n");
}

#[tokio::test]
async fn run_05_a_subfolder_corresponds() {
    let repository = repository().await;
    let path = repository.path().join("src");
    let worktree = repository.worktrees.prepare(&path, "agent", false).await.unwrap();
    assert_eq!(worktree.cwd, worktree.path.join("src"));
    assert!(worktree.cwd.join("a.rs").exists());
}

#[tokio::test]
async fn run_05_folders_without_a_commit_or_files_are_refused() {
    let repository = repository().await;
    let outside = repository.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let error = repository.worktrees.prepare(&outside, "a", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoRepository { .. }), "{error}");
    repository.git(&outside, &["init", "--quiet"]).await;
    let error = repository.worktrees.prepare(&outside, "a", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoCommit(_)), "{error}");
    let bare = repository.dir.path().join("bare");
    std::fs::create_dir(&bare).unwrap();
    repository.git(&bare, &["init", "--quiet", "--bare"]).await;
    let error = repository.worktrees.prepare(&bare, "a", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoCommit(_)), "{error}");
}

#[tokio::test]
async fn run_05_a_bare_repository_has_worktrees_and_keeps_their_commits() {
    let repository = repository().await;
    let bare = repository.dir.path().canonicalize().unwrap().join("bare.git");
    let (from, to) = (repository.path(), bare.to_str().unwrap().to_owned());
    repository.git(&from, &["clone", "--quiet", "--bare", ".", &to]).await;
    let clean = repository.worktrees.prepare(&bare, "clean", true).await.unwrap();
    let used = repository.worktrees.prepare(&bare, "used", false).await.unwrap();
    assert!(clean.path.join("README").exists() && clean.path.starts_with(&bare));
    let commit = repository.commit(&used.path, "new", "text").await;
    assert_eq!(repository.worktrees.list(&bare).await.unwrap().len(), 2);
    let removed = repository.worktrees.settle(&clean).await;
    assert_eq!(removed, Removed::Removed { branch_kept: false });
    assert_eq!(kept(&repository.worktrees.settle(&used).await), ["commits"]);
    let name = used.path.file_name().unwrap().to_str().unwrap();
    repository.worktrees.remove(&bare, name, true).await.unwrap();
    let contains = ["for-each-ref", "--contains", &commit, "--format=%(refname)"];
    assert!(!repository.git(&bare, &contains).await.trim().is_empty(), "a branch keeps the commit");
}

/// Each step of the creation fails once: nothing is left, and the repository is as before.
#[tokio::test]
async fn run_05_a_failed_creation_leaves_nothing() {
    let repository = repository().await;
    let path = repository.path();
    // The folder of worktrees cannot be made.
    std::fs::write(path.join(".robota"), "a file").unwrap();
    let error = repository.worktrees.prepare(&path, "a", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::File { .. }), "{error}");
    std::fs::remove_file(path.join(".robota")).unwrap();
    // Git cannot make the branch: `refs/heads/robota` is a branch itself.
    repository.git(&path, &["branch", "robota"]).await;
    let error = repository.worktrees.prepare(&path, "a", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Git { .. }), "{error}");
    repository.git(&path, &["branch", "-D", "robota"]).await;
    let entries: Vec<_> = std::fs::read_dir(folder(&path)).unwrap().flatten().collect();
    assert_eq!(entries.len(), 1, "only .gitignore: {entries:?}");
    assert!(repository.branches().await.is_empty());
    assert!(repository.worktrees.list(&path).await.unwrap().is_empty());
    repository.prepare().await;
}

/// Worktrees of a crashed process are found, and removed if nothing is lost.
#[tokio::test]
async fn run_05_worktrees_of_a_dead_process_are_pruned() {
    let repository = repository().await;
    let path = repository.path();
    let (clean, dirty) = (repository.prepare().await, repository.prepare().await);
    std::fs::write(dirty.path.join("new"), "text").unwrap();
    for worktree in [&clean, &dirty] {
        let place = worktree.path.to_str().unwrap();
        repository.git(&path, &["worktree", "unlock", place]).await;
        let lock = ["worktree", "lock", "--reason", "robota 999999999", place];
        repository.git(&path, &lock).await;
    }
    let pruned = repository.worktrees.prune(&path).await.unwrap();
    assert_eq!(pruned.len(), 2);
    assert!(!clean.path.exists() && dirty.path.join("new").exists());
    assert_eq!(repository.branches().await, std::slice::from_ref(&dirty.branch));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn run_05_a_lock_names_one_process_and_not_the_next_with_its_id() {
    let repository = repository().await;
    let path = repository.path();
    let me = robota_exec::reaper::own_identity().unwrap();
    let of = |start: u64, boot: &str| format!("robota {} {start} {boot}", me.pid);
    for (reason, used) in [
        (of(me.start_time, &me.boot_id), true),
        // The id was given to another process of this boot.
        (of(me.start_time + 1, &me.boot_id), false),
        // The machine was started again.
        (of(me.start_time, "another-boot"), false),
    ] {
        let worktree = repository.prepare().await;
        let place = worktree.path.to_str().unwrap();
        repository.git(&path, &["worktree", "unlock", place]).await;
        repository.git(&path, &["worktree", "lock", "--reason", &reason, place]).await;
        let pruned = repository.worktrees.prune(&path).await.unwrap();
        let is_kept = matches!(pruned[0].1, Removed::Kept { .. });
        assert_eq!((pruned.len(), is_kept), (1, used), "{reason}");
        if used {
            repository.worktrees.settle(&worktree).await;
        }
    }
}

/// An agent that writes a file in its folder, and fails or crashes if its prompt says so.
struct Writer;

#[async_trait]
impl TaskRunner for Writer {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, job: TaskJob, _: TaskReporter) -> TaskFinished {
        let TaskWork::Agent(work) = job.work else { panic!("no agent") };
        let cwd = work.cwd.unwrap();
        match work.prompt.as_str() {
            "write" => std::fs::write(cwd.join("new"), "text").unwrap(),
            "crash" => panic!("it crashes"),
            // It does not end when it is cancelled.
            "hang" => std::future::pending().await,
            _ => {}
        }
        TaskFinished::new(TaskStatus::Completed)
    }
}

async fn run_agent(repository: &Repository, prompt: &str) -> robota_core::task::TaskState {
    let hooks = Arc::new(RecordingHooks::default());
    run_agent_with(repository, prompt, hooks).await
}

/// Records what it is told, and answers what the test says.
#[derive(Default)]
struct RecordingHooks {
    told: std::sync::Mutex<Vec<String>>,
    refuse: bool,
    instead: Option<PathBuf>,
}

#[async_trait]
impl WorktreeHooks for RecordingHooks {
    async fn create(&self, name: &str) -> Result<Option<PathBuf>, String> {
        self.told.lock().unwrap().push(format!("create {name}"));
        if self.refuse { Err("not today".to_owned()) } else { Ok(self.instead.clone()) }
    }

    async fn removed(&self, path: &str) {
        self.told.lock().unwrap().push(format!("removed {path}"));
    }
}

async fn run_agent_with(
    repository: &Repository,
    prompt: &str,
    hooks: Arc<RecordingHooks>,
) -> robota_core::task::TaskState {
    let agents =
        WorktreeAgents::new(Arc::new(Writer), repository.worktrees.clone(), repository.path())
            .hooks(hooks);
    let runner: Arc<dyn TaskRunner> = Arc::new(agents);
    let manager = TaskManager::new(TaskManagerOptions::default(), [runner]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let work = AgentWork {
        prompt: prompt.to_owned(),
        isolation: Isolation::Worktree,
        ..AgentWork::default()
    };
    let request = TaskRequest::new(TaskWork::Agent(Box::new(work)), "work");
    let task = manager.spawn(request).await.unwrap();
    manager.wait(&task).await.unwrap()
}

#[tokio::test]
async fn run_05_the_state_of_a_task_says_where_its_changes_are() {
    let repository = repository().await;
    let state = run_agent(&repository, "write").await;
    let kept = state.worktree.unwrap();
    assert!(Path::new(&kept.path).join("new").exists());
    assert_eq!(repository.branches().await, [kept.branch]);
    let state = run_agent(&repository, "read").await;
    assert_eq!((state.status, state.worktree), (TaskStatus::Completed, None));
    let state = run_agent(&repository, "crash").await;
    assert_eq!(state.error.unwrap().category, TaskErrorCategory::Crash);
    assert_eq!(repository.branches().await.len(), 1, "that of the crash was removed");
}

#[tokio::test]
async fn run_05_the_worktree_of_an_agent_that_is_dropped_is_reported_and_unlocked() {
    let repository = repository().await;
    let path = repository.path();
    let agents = WorktreeAgents::new(Arc::new(Writer), repository.worktrees.clone(), path.clone());
    let manager =
        TaskManager::new(TaskManagerOptions::default(), [Arc::new(agents) as Arc<dyn TaskRunner>]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let isolation = Isolation::Worktree;
    let work = AgentWork { prompt: "hang".to_owned(), isolation, ..AgentWork::default() };
    let task = manager.spawn(TaskRequest::new(TaskWork::Agent(Box::new(work)), "work")).await;
    let task = task.unwrap();
    while manager.get(&task).unwrap().worktree.is_none() {
        tokio::task::yield_now().await;
    }
    let list = async || repository.worktrees.list(&path).await.unwrap().remove(0);
    assert_eq!(list().await.used_by, Some(std::process::id()));
    // Nothing but the time at which the manager gives up is waited for.
    tokio::time::pause();
    let state = manager.cancel(&task).await.unwrap();
    tokio::time::resume();
    let kept = state.worktree.unwrap();
    assert_eq!(state.status, TaskStatus::Cancelled);
    assert!(Path::new(&kept.path).is_dir());
    while list().await.used_by.is_some() {
        tokio::task::yield_now().await;
    }
    // So it can be removed, though this process still runs.
    let pruned = repository.worktrees.prune(&path).await.unwrap();
    assert_eq!(pruned[0].1, Removed::Removed { branch_kept: false });
}

#[tokio::test]
async fn run_05_a_worktree_that_a_hook_removed_is_not_reported_as_kept() {
    let repository = repository().await;
    let made = tempfile::tempdir().unwrap();
    let instead = Some(made.path().to_owned());
    let hooks = Arc::new(RecordingHooks { instead, ..RecordingHooks::default() });
    let agents =
        WorktreeAgents::new(Arc::new(Writer), repository.worktrees.clone(), repository.path())
            .hooks(hooks.clone());
    let manager =
        TaskManager::new(TaskManagerOptions::default(), [Arc::new(agents) as Arc<dyn TaskRunner>]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let isolation = Isolation::Worktree;
    let work = AgentWork { prompt: "hang".to_owned(), isolation, ..AgentWork::default() };
    let task = manager.spawn(TaskRequest::new(TaskWork::Agent(Box::new(work)), "work")).await;
    let task = task.unwrap();
    while manager.get(&task).unwrap().worktree.is_none() {
        tokio::task::yield_now().await;
    }
    // The manager gives up, and drops the agent.
    tokio::time::pause();
    let state = manager.cancel(&task).await.unwrap();
    assert_eq!((state.status, state.worktree), (TaskStatus::Cancelled, None));
    let told = hooks.told.lock().unwrap().clone();
    assert_eq!(told[1], format!("removed {}", made.path().display()));
}

#[tokio::test]
async fn run_05_hooks_are_told_of_worktrees_and_can_refuse_or_make_them() {
    let repository = repository().await;
    let told = |hooks: &RecordingHooks| hooks.told.lock().unwrap().clone();
    // One that is removed.
    let hooks = Arc::new(RecordingHooks::default());
    let state = run_agent_with(&repository, "read", hooks.clone()).await;
    let first = told(&hooks);
    assert_eq!(first[0], format!("create {}", state.task));
    let prefix = format!("removed {}", folder(&repository.path()).display());
    assert!(first.len() == 2 && first[1].starts_with(&prefix), "{first:?}");
    // One that is kept is not reported as removed.
    let hooks = Arc::new(RecordingHooks::default());
    run_agent_with(&repository, "write", hooks.clone()).await;
    assert_eq!(told(&hooks).len(), 1);
    // A refusal fails the task before it starts.
    let hooks = Arc::new(RecordingHooks { refuse: true, ..RecordingHooks::default() });
    let error = run_agent_with(&repository, "write", hooks).await.error.unwrap();
    assert_eq!(error.category, TaskErrorCategory::Start);
    assert!(error.message.contains("not today") && !error.recoverable, "{error:?}");
    // A folder that a hook made is used, and the hook removes it.
    let made = tempfile::tempdir().unwrap();
    let instead = Some(made.path().to_owned());
    let hooks = Arc::new(RecordingHooks { instead, ..RecordingHooks::default() });
    run_agent_with(&repository, "write", hooks.clone()).await;
    assert!(made.path().join("new").exists());
    assert_eq!(told(&hooks)[1], format!("removed {}", made.path().display()));
}

#[tokio::test]
async fn run_05_changes_that_git_was_told_not_to_see_are_kept() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repository = repository().await;
        let worktree = repository.prepare().await;
        repository.git(&worktree.path, &["update-index", flag, "README"]).await;
        std::fs::write(worktree.path.join("README"), "two\n").unwrap();
        let reasons = kept(&repository.worktrees.settle(&worktree).await);
        assert_eq!(reasons, ["1 changed file"], "{flag}");
    }
    // Neither is hidden by the settings of the repository.
    let repository = repository().await;
    repository.git(&repository.path(), &["config", "status.showUntrackedFiles", "no"]).await;
    let worktree = repository.prepare().await;
    std::fs::write(worktree.path.join("a\nb \"c\"\t"), "x").unwrap();
    std::fs::write(worktree.path.join("-f"), "x").unwrap();
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["2 untracked files"]);
}

#[tokio::test]
async fn run_05_a_sparse_checkout_is_clean() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    repository.git(&worktree.path, &["sparse-checkout", "set", "--no-cone", "README"]).await;
    assert!(!worktree.path.join("src").exists());
    let removed = repository.worktrees.settle(&worktree).await;
    assert_eq!(removed, Removed::Removed { branch_kept: false });
}

#[tokio::test]
async fn run_05_a_commit_that_was_reset_is_found_also_if_the_repository_keeps_no_logs() {
    let repository = repository().await;
    repository.git(&repository.path(), &["config", "core.logAllRefUpdates", "false"]).await;
    let worktree = repository.prepare().await;
    let commit = repository.commit(&worktree.path, "new", "text").await;
    repository.git(&worktree.path, &["reset", "--quiet", "--hard", "HEAD~1"]).await;
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["commits"]);
    // By force the folder goes; a branch keeps the commit.
    assert!(!repository.has_commit(&commit).await);
    let name = worktree.path.file_name().unwrap().to_str().unwrap();
    repository.worktrees.remove(&repository.path(), name, true).await.unwrap();
    assert!(!worktree.path.exists() && repository.has_commit(&commit).await);
    assert_eq!(repository.branches().await, [format!("{}-head", worktree.branch)]);
}

#[tokio::test]
async fn run_05_a_repository_inside_and_a_renamed_file_are_kept() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    let inner = worktree.path.join("inner");
    std::fs::create_dir(&inner).unwrap();
    repository.git(&inner, &["init", "--quiet"]).await;
    repository.commit(&inner, "file", "text").await;
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["1 untracked file"]);
    std::fs::remove_dir_all(&inner).unwrap();
    repository.commit(&repository.path(), "ab cd", "text").await;
    let worktree = repository.prepare().await;
    repository.git(&worktree.path, &["mv", "ab cd", "?? x"]).await;
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["1 changed file"]);
}

#[tokio::test]
async fn run_05_work_on_another_branch_and_a_stash_stay() {
    let repository = repository().await;
    let worktree = repository.prepare().await;
    repository.git(&worktree.path, &["switch", "--quiet", "-c", "feature"]).await;
    let commit = repository.commit(&worktree.path, "new", "text").await;
    repository.git(&worktree.path, &["switch", "--quiet", &worktree.branch]).await;
    // HEAD was at the commit, so it is kept, though a branch has it.
    assert_eq!(kept(&repository.worktrees.settle(&worktree).await), ["commits"]);
    assert!(repository.has_commit(&commit).await);
    let worktree = repository.prepare().await;
    std::fs::write(worktree.path.join("README"), "two\n").unwrap();
    let name = ["-c", "user.name=t", "-c", "user.email=t@t"];
    repository.git(&worktree.path, &[&name[..], &["stash", "--quiet"]].concat()).await;
    let removed = repository.worktrees.settle(&worktree).await;
    assert_eq!(removed, Removed::Removed { branch_kept: false });
    let stashed = repository.git(&repository.path(), &["stash", "show", "-p"]).await;
    assert!(stashed.contains("+two"), "{stashed}");
}

#[cfg(unix)]
#[tokio::test]
async fn worktrees_are_listed_by_a_git_that_has_no_zero_bytes_in_the_list() {
    use std::os::unix::fs::PermissionsExt as _;

    let repository = repository().await;
    let bin = repository.dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let script = "#!/bin/sh\n\
        case \" $* \" in\n\
        *\" worktree list \"*\" -z \"*) echo 'error: unknown switch' >&2; exit 129 ;;\n\
        esac\n\
        PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n";
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let environment = repository
        .environment
        .clone()
        .with("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    let old = Worktrees::new(repository.supervisor.clone(), &environment);
    let worktree = repository.prepare().await;
    let listed = old.list(&repository.path()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].worktree.path, worktree.path);
    assert_eq!(listed[0].worktree.branch, worktree.branch);
    assert_eq!(listed[0].changes, Ok(Vec::new()));
    assert!(matches!(old.settle(&worktree).await, Removed::Removed { .. }));
    // A path with a line break cannot be told from others, so that nothing is ruled out.
    let odd = repository.dir.path().join("a\nb").display().to_string();
    repository.git(&repository.path(), &["worktree", "add", "--quiet", "--detach", &odd]).await;
    assert!(old.list(&repository.path()).await.is_err());
    assert!(repository.worktrees.list(&repository.path()).await.unwrap().is_empty());
}
