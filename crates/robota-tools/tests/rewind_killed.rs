//! Random edits by tools and commands in a process that is killed at any point: every checkpoint
//! restores the files as they were, byte for byte, or names what it could not restore.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod workspace;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use robota_core::blob::Blobs;
use robota_core::checkpoint::{
    CrashCleanup, FileChange, FileDelta, FoundFile, PathState, RestoreFiles,
};
use robota_core::event::{Event, FilesWatched, NotRestored};
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::read_all;
use robota_core::process::ProcessIdentity;
use robota_core::scripted::Script;
use robota_exec::{CommandSpec, Environment, Exit, ShellCommand, Supervisor};
use robota_session::{Callbacks, RestoreOptions, RestoreScope, Resume, Session};
use robota_tools::{CaptureLimits, LocalCrashCleanup, LocalFiles};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use workspace::{TestSession, tree};

/// The limit for one file, so that a file can be too large without being slow.
const FILE_BYTES: u64 = 50_000;
const CODE: RestoreOptions = RestoreOptions { scope: RestoreScope::Code, overwrite: false };

/// An edit. Paths are numbers of [`PATHS`].
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Op {
    Text(usize, u8),
    Append(usize),
    Binary(usize),
    Large(usize),
    Remove(usize),
    Rename(usize, usize),
    Mode(usize, usize),
    Link(usize, usize),
    /// Gives a file a second name.
    HardLink(usize, usize),
    /// Changes the content, but neither the size nor the time of the file.
    Disguised(usize),
    Folder(usize),
    /// By the tool Write.
    Write(usize, u8),
    /// By the tools Read and Edit.
    Edit(usize),
}

const PATHS: [&str; 9] =
    ["a", "b", "c.log", "d", "d/a", "d/b", "d/e/a", "ignored/x", "name with \"quotes\" and 'more'"];
const MODES: [&str; 4] = ["600", "644", "755", "700"];

impl Op {
    fn add(&self, script: Script) -> Script {
        match self {
            Self::Write(path, text) => {
                let content = format!("written {text}\n");
                script.tool("Write", json!({ "file_path": PATHS[*path], "content": content }))
            }
            Self::Edit(path) => script.tool("Read", json!({ "file_path": PATHS[*path] })).tool(
                "Edit",
                json!({ "file_path": PATHS[*path], "old_string": "text", "new_string": "edited" }),
            ),
            _ => script.tool("Bash", json!({ "command": self.command() })),
        }
    }

    fn command(&self) -> String {
        let quoted = |path: &usize| format!("'{}'", PATHS[*path].replace('\'', "'\\''"));
        let parent = |path: &usize| format!("mkdir -p \"$(dirname {})\"; ", quoted(path));
        match self {
            Self::Text(path, text) => {
                format!("{}echo text {text} > {}", parent(path), quoted(path))
            }
            Self::Append(path) => format!("echo more >> {}", quoted(path)),
            Self::Binary(path) => format!("{}printf '\\0\\377' > {}", parent(path), quoted(path)),
            Self::Large(path) => {
                format!("{}head -c 60000 /dev/zero > {}", parent(path), quoted(path))
            }
            Self::Remove(path) => format!("rm -rf {}", quoted(path)),
            Self::Rename(from, to) => format!("{}mv {} {}", parent(to), quoted(from), quoted(to)),
            Self::Mode(path, mode) => format!("chmod {} {}", MODES[*mode], quoted(path)),
            Self::Link(path, to) => {
                format!("{}ln -sfn {} {}", parent(path), quoted(to), quoted(path))
            }
            Self::HardLink(path, to) => {
                format!("{}ln -fT {} {}", parent(path), quoted(to), quoted(path))
            }
            Self::Disguised(path) => format!(
                "touch -r {0} ../time && printf X | dd of={0} conv=notrunc,nocreat status=none; \
                 touch -cr ../time {0}",
                quoted(path)
            ),
            Self::Folder(path) => format!("mkdir -p {}", quoted(path)),
            Self::Write(..) | Self::Edit(_) => "true".to_owned(),
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    let path = 0..PATHS.len();
    prop_oneof![
        4 => (path.clone(), any::<u8>()).prop_map(|(path, text)| Op::Text(path, text)),
        2 => path.clone().prop_map(Op::Append),
        1 => path.clone().prop_map(Op::Binary),
        1 => path.clone().prop_map(Op::Large),
        3 => path.clone().prop_map(Op::Remove),
        3 => (path.clone(), path.clone()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => (path.clone(), 0..MODES.len()).prop_map(|(path, mode)| Op::Mode(path, mode)),
        2 => (path.clone(), path.clone()).prop_map(|(path, to)| Op::Link(path, to)),
        1 => (path.clone(), path.clone()).prop_map(|(path, to)| Op::HardLink(path, to)),
        1 => path.clone().prop_map(Op::Disguised),
        1 => path.clone().prop_map(Op::Folder),
        2 => (path.clone(), any::<u8>()).prop_map(|(path, text)| Op::Write(path, text)),
        2 => path.prop_map(Op::Edit),
    ]
}

/// What the process that is killed does.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Plan {
    turns: Vec<Vec<Op>>,
    /// The edits of the last command, which then kills the process. No edit follows the kill: it could
    /// be made while the next process already compares files.
    killed: Vec<Op>,
    /// Kills the process earlier.
    kill: Option<Kill>,
    /// The edits of the process that resumes the session.
    resumed: Vec<Op>,
    /// The order in which checkpoints are restored.
    order: Vec<usize>,
    /// Whether the kernel announces changes.
    watched: bool,
}

/// When the process is killed before its last command.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Kill {
    /// After this many calls have ended, between two tools. It kills itself.
    AfterCalls(usize),
    /// By another process, at an arbitrary point after this many events: while it saves files, changes
    /// them, runs a command, writes its journal, or between two prompts.
    AfterEvents(usize),
}

fn plan() -> impl Strategy<Value = Plan> {
    let ops = |most| prop::collection::vec(op(), 0..most);
    let order = prop::collection::vec(0..10_usize, 4);
    let kill = prop_oneof![
        1 => Just(None),
        1 => (1..8_usize).prop_map(|calls| Some(Kill::AfterCalls(calls))),
        2 => (1..90_usize).prop_map(|events| Some(Kill::AfterEvents(events))),
    ];
    let killed = (ops(4), kill);
    (prop::collection::vec(ops(6), 1..3), killed, ops(4), order, any::<bool>()).prop_map(
        |(turns, (killed, kill), resumed, order, watched)| Plan {
            turns,
            killed,
            kill,
            resumed,
            order,
            watched,
        },
    )
}

fn test_session(dir: &Path, watched: bool) -> TestSession {
    let mut test = TestSession::at(dir);
    let watched_entries = if watched { 0 } else { usize::MAX };
    test.limits =
        Some(CaptureLimits { file_bytes: FILE_BYTES, watched_entries, ..CaptureLimits::default() });
    test
}

fn trees(dir: &Path) -> Vec<Value> {
    let read = |number: usize| std::fs::read(dir.join(format!("tree-{number}"))).ok();
    (1..).map_while(read).map(|bytes| serde_json::from_slice(&bytes).unwrap()).collect()
}

async fn prompt(test: &TestSession, session: &Session) {
    let number = trees(test.dir()).len() + 1;
    let bytes = serde_json::to_vec(&tree(&test.root())).unwrap();
    // The process may be killed while it writes.
    std::fs::write(test.dir().join("tree"), bytes).unwrap();
    std::fs::rename(test.dir().join("tree"), test.dir().join(format!("tree-{number}"))).unwrap();
    session.run(format!("Prompt {number}")).await.unwrap();
}

async fn run(spec: CommandSpec) -> Exit {
    Supervisor::new().run(spec, &CancellationToken::new()).await.unwrap().exit
}

/// Starts this test program again, with one of the helpers below, in a folder.
async fn run_helper(name: &str, dir: &Path) -> Exit {
    let copy = CommandSpec::new(std::env::current_exe().unwrap(), dir);
    run(copy.args(["--exact", name, "--ignored"])).await
}

/// Runs the helper that edits until it is killed.
async fn run_until_killed(plan: &Plan, dir: &Path) {
    let helper = run_helper("helper_that_edits_and_is_killed", dir);
    let Some(Kill::AfterEvents(events)) = plan.kill else {
        assert_eq!(helper.await, Exit::Signal(9));
        return;
    };
    let env = Environment::new().with("PATH", "/usr/bin:/bin");
    let mkfifo = ShellCommand::new("mkfifo pipe", dir).env(env.clone()).into_spec().unwrap();
    assert!(run(mkfifo).await.is_success());
    let (exit, ()) = tokio::join!(helper, async move {
        let pipe = dir.join("pipe");
        // The pipe stays open until the kill: without a reader the helper would wait no more.
        let line = tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(File::open(pipe).unwrap()).lines();
            (lines.nth(events - 1).map(Result::unwrap), lines)
        });
        // Without a line it had fewer events, and its last command has killed it.
        if let (Some(pid), _pipe) = line.await.unwrap() {
            let kill = format!("kill -KILL {pid}");
            // It fails if the last command was faster.
            run(ShellCommand::new(&kill, Path::new("/")).env(env).into_spec().unwrap()).await;
        }
    });
    assert_eq!(exit, Exit::Signal(9));
    // No reaper ends the command that ran. What it edits while the next process compares files would be
    // a change by a stranger.
    let works_there = |process: &std::fs::DirEntry| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    };
    let end = Instant::now() + Duration::from_secs(60);
    while std::fs::read_dir("/proc").unwrap().flatten().any(|process| works_there(&process)) {
        assert!(Instant::now() < end, "a command does not end");
        std::thread::yield_now();
    }
}

/// Returns how many prompts the killed process sent that wait for their turn, and removes the trees of
/// prompts that the session does not have: it was killed before it accepted them.
async fn settle_prompts(test: &TestSession, id: &SessionId) -> usize {
    let resume = Resume { deliver: false, ..Resume::default() };
    let builder = test.builder(Script::new());
    let session = builder.resume(test.store.clone(), id, resume).await.unwrap();
    let queued = session.status().await.unwrap().queued;
    let known = session.checkpoints().list().await.unwrap().len() + queued;
    session.shutdown("inspected").await.unwrap();
    for number in known + 1..=trees(test.dir()).len() {
        std::fs::remove_file(test.dir().join(format!("tree-{number}"))).unwrap();
    }
    queued
}

/// Returns every path that differs between two trees.
fn differences(a: &Value, b: &Value) -> Vec<String> {
    let (a, b) = (a.as_object().unwrap(), b.as_object().unwrap());
    let mut names: Vec<_> =
        a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).collect();
    names.sort();
    names.dedup();
    names.into_iter().cloned().collect()
}

#[test]
fn sdk_17_random_edits_and_a_kill_every_checkpoint_is_restored_or_the_difference_named() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Each case starts a process. PROPTEST_CASES asks for another number than the default.
    let cases = match Config::default().cases {
        256 => 12,
        cases => cases,
    };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&plan(), |plan| {
        runtime.block_on(check(&plan));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

async fn check(plan: &Plan) {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().canonicalize().unwrap();
    std::fs::create_dir(dir.join("project")).unwrap();
    std::fs::write(dir.join("project/.gitignore"), "ignored/\n*.log\n").unwrap();
    std::fs::write(dir.join("plan"), serde_json::to_vec(plan).unwrap()).unwrap();
    run_until_killed(plan, &dir).await;
    let test = test_session(&dir, plan.watched);
    let id = SessionId::from("s");
    // The turns of prompts that wait edit nothing.
    let queued = settle_prompts(&test, &id).await;
    let script = (0..queued).fold(Script::new(), |script, _| script.text("delivered"));
    let script = plan.resumed.iter().fold(script, |script, op| op.add(script));
    let builder = test.builder(script.text("done"));
    let session = builder.resume(test.store.clone(), &id, Resume::default()).await.unwrap();
    prompt(&test, &session).await;
    let trees = trees(&dir);
    let list = session.checkpoints().list().await.unwrap();
    assert_eq!(list.len(), trees.len(), "one checkpoint per prompt");
    for at in plan.order.iter().map(|at| at % trees.len()) {
        let before = tree(&test.root());
        let report = session.checkpoints().restore(&list[at].id, CODE).await.unwrap();
        let named = |name: &String| {
            let path = test.root().join(name).display().to_string();
            // What is below a folder that was not restored is not restored either.
            report.not_restored.iter().any(|not| {
                path == not.path
                    || not.path.starts_with(&format!("{path}/"))
                    || path.starts_with(&format!("{}/", not.path))
            })
        };
        let now = tree(&test.root());
        let silent: Vec<_> =
            differences(&now, &trees[at]).into_iter().filter(|name| !named(name)).collect();
        assert!(
            silent.is_empty(),
            "checkpoint {}: {silent:?}\nnow {now:#}\nthen {:#}\n{report:#?}",
            at + 1,
            trees[at]
        );
        if let Some(undo) = &report.undo {
            let undone = session.checkpoints().restore(undo, CODE).await.unwrap();
            let differences = differences(&tree(&test.root()), &before);
            assert!(
                undone.not_restored.is_empty() && differences.is_empty(),
                "{differences:?} {undone:#?}"
            );
            session.checkpoints().restore(&list[at].id, CODE).await.unwrap();
        }
    }
}

#[test]
#[ignore = "started by the test that checks it"]
fn helper_that_edits_and_is_killed() {
    let dir = Path::new(".").canonicalize().unwrap();
    let Ok(plan) = std::fs::read(dir.join("plan")) else { return };
    let plan: Plan = serde_json::from_slice(&plan).unwrap();
    let mut script = Script::new();
    for turn in &plan.turns {
        script = turn.iter().fold(script, |script, op| op.add(script)).text("done");
    }
    let edits: String = plan.killed.iter().map(|op| format!("{}; ", op.command())).collect();
    let kill = format!("{edits}kill -KILL {}", std::process::id());
    let script = script.tool("Bash", json!({ "command": kill }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let test = test_session(&dir, plan.watched);
        let mut builder = test.builder(script.text("never"));
        let callbacks = Callbacks::new();
        builder = match plan.kill {
            None => builder,
            Some(Kill::AfterCalls(most)) => {
                let ended = AtomicUsize::new(0);
                builder.callbacks(callbacks.on_event(Arc::new(move |envelope| {
                    let is_end = matches!(envelope.event, Event::ToolFinished(_));
                    if is_end && ended.fetch_add(1, Ordering::SeqCst) + 1 == most {
                        robota_exec::crash();
                    }
                })))
            }
            Some(Kill::AfterEvents(_)) => {
                let pipe = File::options().write(true).open(dir.join("pipe")).unwrap();
                let pipe = Mutex::new(pipe);
                builder.callbacks(callbacks.on_event(Arc::new(move |_| {
                    writeln!(pipe.lock().unwrap(), "{}", std::process::id()).unwrap();
                })))
            }
        };
        let session = builder.create(test.store.clone(), Some("s".into())).await.unwrap();
        for _ in 0..=plan.turns.len() {
            prompt(&test, &session).await;
        }
    });
}

/// Restores the first files, then the process is killed.
struct KilledRestore {
    inner: LocalCrashCleanup,
    files: usize,
}

#[async_trait::async_trait]
impl RestoreFiles for KilledRestore {
    async fn current(&self, paths: &[String], blobs: Option<&dyn Blobs>) -> Vec<PathState> {
        LocalFiles.current(paths, blobs).await
    }

    async fn restore(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<NotRestored> {
        LocalFiles.restore(&files[..self.files.min(files.len())], blobs).await;
        let kill = format!("kill -KILL {}", std::process::id());
        let env = Environment::new().with("PATH", "/usr/bin:/bin");
        let spec = ShellCommand::new(&kill, Path::new("/")).env(env).into_spec().unwrap();
        run(spec).await;
        std::future::pending().await
    }

    async fn diffs(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<Option<String>> {
        LocalFiles.diffs(files, blobs).await
    }

    async fn changed_since(&self, watched: &FilesWatched, blobs: &dyn Blobs) -> Vec<FileDelta> {
        LocalFiles.changed_since(watched, blobs).await
    }
}

#[async_trait::async_trait]
impl CrashCleanup for KilledRestore {
    async fn end_process(&self, call: &CallId, process: &ProcessIdentity) -> Option<i32> {
        self.inner.end_process(call, process).await
    }

    async fn settle_files(&self, files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile> {
        self.inner.settle_files(files, blobs).await
    }
}

const EDITS: &str =
    "rm a; echo 2 > b; mkdir -p d/e; touch d/e/f; rm link; mkdir link; touch link/x; chmod 600 c";

fn prepare(root: &Path) {
    for name in ["a", "b", "c"] {
        std::fs::write(root.join(name), name.repeat(100)).unwrap();
    }
    std::os::unix::fs::symlink("a", root.join("link")).unwrap();
}

#[tokio::test]
async fn sdk_17_a_restore_that_is_killed_is_completed_by_the_resume() {
    for files in 0..=8 {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().canonicalize().unwrap();
        std::fs::create_dir(dir.join("project")).unwrap();
        prepare(&dir.join("project"));
        std::fs::write(dir.join("files"), files.to_string()).unwrap();
        let exit = run_helper("helper_that_restores_and_is_killed", &dir).await;
        assert_eq!(exit, Exit::Signal(9));
        let test = test_session(&dir, true);
        let id = SessionId::from("s");
        let builder = test.builder(Script::new());
        let session = builder.resume(test.store.clone(), &id, Resume::default()).await.unwrap();
        assert_eq!(tree(&test.root()), trees(&dir)[0], "killed after {files} files");
        assert_eq!(session.context().messages().await.unwrap().len(), 0, "both were restored");
        let events = read_all(&*test.store, &id, 0).await.unwrap();
        let kind = |kind: &str| events.iter().filter(|event| event.event.kind() == kind).count();
        assert_eq!((kind("restore_started"), kind("restore_finished")), (1, 1));
        // It can be undone as any other.
        let list = session.checkpoints().list().await.unwrap();
        let undo = &list.last().unwrap().id;
        let report = session.checkpoints().restore(undo, RestoreOptions::default()).await.unwrap();
        assert_eq!(tree(&test.root()), trees(&dir)[1], "{files}: {:?}", report.not_restored);
        assert!(!session.context().messages().await.unwrap().is_empty());
    }
}

#[test]
#[ignore = "started by the test that checks it"]
fn helper_that_restores_and_is_killed() {
    let dir = Path::new(".").canonicalize().unwrap();
    let Ok(files) = std::fs::read_to_string(dir.join("files")) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let test = test_session(&dir, true);
        let script = Script::new().tool("Bash", json!({ "command": EDITS })).text("done");
        let files = files.parse().unwrap();
        let inner = LocalCrashCleanup::new();
        let builder = test.builder(script).crash_cleanup(Arc::new(KilledRestore { inner, files }));
        let session = builder.create(test.store.clone(), Some("s".into())).await.unwrap();
        prompt(&test, &session).await;
        let bytes = serde_json::to_vec(&tree(&test.root())).unwrap();
        std::fs::write(dir.join("tree-2"), bytes).unwrap();
        session.checkpoints().restore("1", RestoreOptions::default()).await.unwrap();
    });
}
