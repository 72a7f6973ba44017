//! The cost of recording which files commands change: rounds of `true` in a session with a file store, in
//! an empty project, in one with 5,000 files and in one with more than the limit: without the comparison, with it, and with one that
//! inspects all files every time. It prints what the first command of a session costs, which stores the
//! project, the first of a later prompt, and each further command of a prompt.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use robota_core::gate::AllowAll;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::ToolScope;
use robota_exec::{Environment, Supervisor};
use robota_session::Session;
use robota_store::FileStore;
use robota_tools::{CaptureLimits, ToolWorkspace};
use serde_json::json;

const ROUNDS: usize = 10;

fn project(files: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    for number in 0..files {
        let folder = root.join(format!("src/module{:03}", number / 20));
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("// file {number}\n").repeat(200);
        std::fs::write(folder.join(format!("file{number}.rs")), text).unwrap();
    }
    std::fs::create_dir_all(&root).unwrap();
    dir
}

/// How many prompts a session has that is measured. Each has the conversation before it, so that a session
/// with many prompts would measure that.
const PROMPTS: u64 = 20;

/// What is measured in a session.
#[derive(Clone, Copy)]
enum Measured {
    /// The first command of the session, which stores the project.
    First,
    /// A later prompt with this many commands.
    Rounds(usize),
}

/// Opens a session that runs each list of commands in a prompt of its own.
async fn open(dir: &Path, limits: Option<CaptureLimits>, prompts: &[usize]) -> Session {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    let root = dir.join("project");
    let workspace = ToolWorkspace::new(&root, Supervisor::new(), env).capture_limits(limits);
    let tools =
        move |scope: &ToolScope| robota_tools::tools(&workspace.for_session(scope.blobs.clone()));
    let mut script = Script::new();
    for rounds in prompts {
        for _ in 0..*rounds {
            script = script.tool("Bash", json!({"command": "true"}));
        }
        script = script.text("done");
    }
    let store = Arc::new(FileStore::new(dir.join("store")));
    Session::builder(ScriptedProvider::new(script), "any-model")
        .cwd(root.display().to_string())
        .gate(Arc::new(AllowAll))
        .tool_factory(Arc::new(tools))
        .create(store, None)
        .await
        .unwrap()
}

/// Returns the time of each of so many prompts.
async fn prompts(
    dir: &Path,
    limits: Option<&CaptureLimits>,
    measured: Measured,
    count: u64,
) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut left = count;
    while left > 0 {
        // What a session costs before the prompts that are measured is shared by many of them: the
        // benchmark is finished in time only if it spends its time on what it measures.
        let (warm_up, these, rounds) = match measured {
            Measured::First => (false, 1, 1),
            Measured::Rounds(rounds) => (true, left.min(PROMPTS), rounds),
        };
        left -= these;
        let mut script = vec![1; usize::from(warm_up)];
        script.extend((0..these).map(|_| rounds));
        let session = open(dir, limits.cloned(), &script).await;
        if warm_up {
            session.run("warm up").await.unwrap();
        }
        for _ in 0..these {
            let start = Instant::now();
            session.run("go").await.unwrap();
            times.push(start.elapsed());
        }
        session.shutdown("end").await.unwrap();
    }
    times
}

fn capture(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // More than the limit of entries: the rest is not compared, so the cost is that of the limit.
    for files in [0, 5_000, 50_000] {
        let dir = project(files);
        let mut group = criterion.benchmark_group(format!("capture in {files} files"));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        let everything = CaptureLimits { watched_entries: usize::MAX, ..CaptureLimits::default() };
        let modes = [
            ("off", None),
            ("on", Some(CaptureLimits::default())),
            ("inspecting all files", Some(everything)),
        ];
        let mut off = [Duration::MAX; 3];
        for (mode, limits) in &modes {
            let mut medians = [Duration::MAX; 3];
            let kinds = [
                ("first command", Measured::First),
                ("one round", Measured::Rounds(1)),
                ("eleven rounds", Measured::Rounds(ROUNDS + 1)),
            ];
            for (median, (name, measured)) in medians.iter_mut().zip(kinds) {
                let mut all = Vec::new();
                group.bench_function(format!("{name}, {mode}"), |bencher| {
                    bencher.iter_custom(|count| {
                        let run = prompts(dir.path(), limits.as_ref(), measured, count);
                        let these = runtime.block_on(run);
                        all.extend_from_slice(&these);
                        these.iter().sum()
                    });
                });
                all.sort();
                *median = all.get(all.len() / 2).copied().unwrap_or(Duration::MAX);
            }
            if medians.contains(&Duration::MAX) {
                continue;
            }
            if limits.is_none() {
                off = medians;
            }
            let [first, one, eleven] = medians;
            let later = |one: Duration, eleven: Duration| eleven.saturating_sub(one).as_secs_f64();
            println!(
                "{files} files, {mode}: first command of the session {:+.1} ms, of a prompt {:+.1} ms; \
                 a later command {:.2} times of one without the comparison",
                (first.as_secs_f64() - off[0].as_secs_f64()) * 1000.0,
                (one.as_secs_f64() - off[1].as_secs_f64()) * 1000.0,
                later(one, eleven) / later(off[1], off[2]),
            );
        }
        group.finish();
    }
}

criterion_group!(benches, capture);
criterion_main!(benches);
