//! Compares Grep and Glob with `rg` on the same tree, in the same run. Without `rg` in the `PATH` only
//! the tools are measured, and the bench says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use robota_core::tool::{Tool, ToolContext};
use robota_exec::{CommandSpec, Environment, Supervisor};
use robota_tools::{Glob, Grep, ToolWorkspace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const FOLDERS: usize = 60;
const FILES: usize = 60;

/// The name, the tool with its input, and the arguments of `rg` for the same search.
type Work = (&'static str, Box<dyn Tool>, Value, &'static [&'static str]);

/// Some thousand files of some kilobytes; one in ten contains the searched text.
fn tree(dir: &Path) {
    let line = "let answer = compute(the, usual, arguments).unwrap_or_default();\n";
    for folder in 0..FOLDERS {
        let folder = dir.join(format!("folder{folder}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..FILES {
            let needle = if file % 10 == 0 { "fn needle_in_the_hay() {}\n" } else { "" };
            let extension = if file % 3 == 0 { "rs" } else { "txt" };
            let content = format!("{}{needle}{}", line.repeat(60), line.repeat(40));
            std::fs::write(folder.join(format!("f{file}.{extension}")), content).unwrap();
        }
    }
}

fn search(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path());
    #[expect(clippy::disallowed_methods, reason = "rg is searched in the user's PATH")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let env = Environment::new().with("PATH", path);
    let peer = env.find_program("rg".as_ref());
    if peer.is_none() {
        println!("rg is not in the PATH: there is no baseline");
    }
    let supervisor = Supervisor::new();
    let workspace = ToolWorkspace::new(dir.path(), supervisor.clone(), env.clone());
    let works: [Work; 3] = [
        (
            "grep files",
            Box::new(Grep::new(&workspace)),
            json!({"pattern": "needle_\\w+"}),
            &["-l", "needle_\\w+"],
        ),
        (
            "grep content",
            Box::new(Grep::new(&workspace)),
            json!({"pattern": "needle_\\w+", "output_mode": "content"}),
            &["-n", "needle_\\w+"],
        ),
        (
            "glob",
            Box::new(Glob::new(&workspace)),
            json!({"pattern": "**/*.rs", "limit": 10_000}),
            &["--files", "-g", "**/*.rs", "--sortr", "modified"],
        ),
    ];
    for (name, tool, input, args) in &works {
        let mut group = criterion.benchmark_group(*name);
        group.sample_size(20).measurement_time(Duration::from_secs(4));
        if let Some(rg) = &peer {
            let spec = CommandSpec::new(rg, dir.path()).args(args.iter()).env(env.clone());
            group.bench_function("baseline", |bencher| {
                bencher.iter(|| {
                    let token = CancellationToken::new();
                    let running = supervisor.run(spec.clone(), &token);
                    assert!(runtime.block_on(running).unwrap().exit.is_success());
                });
            });
        }
        group.bench_function("ours", |bencher| {
            bencher.iter(|| {
                let running = tool.run(input.clone(), ToolContext::detached());
                assert!(runtime.block_on(running).ok);
            });
        });
        group.finish();
    }
}

criterion_group!(benches, search);
criterion_main!(benches);
