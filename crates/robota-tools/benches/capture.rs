//! The cost of recording which files commands change: rounds of `true` in a session with a file store, in
//! an empty project and in one with 5,000 files: without the comparison, with it, and with one that
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

/// Runs a session with that many rounds in one turn, after `warm_up` rounds in another.
async fn session(
    dir: &Path,
    limits: Option<CaptureLimits>,
    warm_up: usize,
    rounds: usize,
) -> Duration {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    let root = dir.join("project");
    let workspace = ToolWorkspace::new(&root, Supervisor::new(), env).capture_limits(limits);
    let tools =
        move |scope: &ToolScope| robota_tools::tools(&workspace.for_session(scope.blobs.clone()));
    let mut script = Script::new();
    for rounds in [warm_up, rounds] {
        for _ in 0..rounds {
            script = script.tool("Bash", json!({"command": "true"}));
        }
        script = script.text("done");
    }
    let store = Arc::new(FileStore::new(dir.join("store")));
    let session = Session::builder(ScriptedProvider::new(script), "any-model")
        .cwd(root.display().to_string())
        .gate(Arc::new(AllowAll))
        .tool_factory(Arc::new(tools))
        .create(store, None)
        .await
        .unwrap();
    session.run("warm up").await.unwrap();
    let start = Instant::now();
    session.run("go").await.unwrap();
    let took = start.elapsed();
    session.shutdown("end").await.unwrap();
    took
}

fn capture(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for files in [0, 5_000] {
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
            let kinds =
                [("first command", 0, 1), ("one round", 1, 1), ("eleven rounds", 1, ROUNDS + 1)];
            for (median, (name, warm_up, rounds)) in medians.iter_mut().zip(kinds) {
                let run = || runtime.block_on(session(dir.path(), limits.clone(), warm_up, rounds));
                let mut all = Vec::new();
                group.bench_function(format!("{name}, {mode}"), |bencher| {
                    bencher.iter_custom(|iterations| {
                        let these: Vec<_> = (0..iterations).map(|_| run()).collect();
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
