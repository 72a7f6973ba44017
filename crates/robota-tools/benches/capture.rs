//! The cost of recording which files commands change: ten rounds of `true` in a session with a file
//! store, in an empty project and in one with 5,000 files, with the comparison on and off. The first
//! command of a session, which stores the project, is measured apart.
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
        for (name, warm_up, rounds) in [("ten rounds", 1, ROUNDS), ("first command", 0, 1)] {
            let mut fastest = [Duration::MAX; 2];
            for (at, on) in [false, true].into_iter().enumerate() {
                let limits = || on.then(CaptureLimits::default);
                let run = || runtime.block_on(session(dir.path(), limits(), warm_up, rounds));
                let id = format!("{name}, {}", if on { "on" } else { "off" });
                group.bench_function(id, |bencher| {
                    bencher.iter_custom(|iterations| {
                        let all: Vec<_> = (0..iterations).map(|_| run()).collect();
                        fastest[at] = all.iter().copied().fold(fastest[at], Duration::min);
                        all.iter().sum()
                    });
                });
            }
            if fastest[1] != Duration::MAX {
                let ratio = fastest[1].as_secs_f64() / fastest[0].as_secs_f64();
                println!("{files} files, {name}: on / off = {ratio:.2}");
            }
        }
        group.finish();
    }
}

criterion_group!(benches, capture);
criterion_main!(benches);
