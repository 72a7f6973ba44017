//! The overhead of running a command: plain tokio, the supervisor, the supervisor with the reaper,
//! and the same in the fence for commands that only read. The last line printed compares the median
//! of commands with and without the fence, which alternate, so that both see the same machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use robota_exec::sandbox::{ReadOnlyFence, probe};
use robota_exec::{Environment, ReaperProgram, ShellCommand, Supervisor};
use tokio_util::sync::CancellationToken;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[expect(clippy::disallowed_methods, reason = "the baseline is a plain tokio command")]
async fn plain() {
    let output = tokio::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-c", "true"])
        .current_dir("/")
        .env_clear()
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    assert!(output.status.success());
}

fn commands(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("bash -c true");
    group.sample_size(50).measurement_time(Duration::from_secs(4));
    group.bench_function("baseline", |bencher| bencher.iter(|| runtime.block_on(plain())));
    let reaper = ReaperProgram::new(env!("CARGO_BIN_EXE_robota-reaper"));
    let supervisors =
        [("supervised", Supervisor::new()), ("with reaper", Supervisor::with_reaper(reaper))];
    for (name, supervisor) in supervisors {
        let env = Environment::new().with("PATH", PATH);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let spec = ShellCommand::new("true", "/").env(env.clone()).into_spec().unwrap();
                let token = CancellationToken::new();
                let running = supervisor.run(spec, &token);
                assert!(runtime.block_on(running).is_ok_and(|outcome| outcome.exit.is_success()));
            });
        });
    }
    group.finish();
    compare_with_fence(&runtime);
}

/// Prints what the fence costs per command.
fn compare_with_fence(runtime: &tokio::runtime::Runtime) {
    const RUNS: usize = 400;
    let env = Environment::new().with("PATH", PATH);
    let reaper = ReaperProgram::new(env!("CARGO_BIN_EXE_robota-reaper"));
    let supervisor = Supervisor::with_reaper(reaper);
    let support = runtime.block_on(probe(&env));
    let fence = match ReadOnlyFence::new(None, &support, "/tmp".as_ref()) {
        Ok(fence) => fence,
        Err(error) => return println!("fence: {error}"),
    };
    let run = |fenced: bool| {
        let start = Instant::now();
        let spec = ShellCommand::new("true", "/").env(env.clone()).into_spec().unwrap();
        let spec = if fenced { fence.apply(spec).unwrap() } else { spec };
        let token = CancellationToken::new();
        assert!(runtime.block_on(supervisor.run(spec, &token)).is_ok_and(|o| o.exit.is_success()));
        start.elapsed()
    };
    let (mut plain, mut fenced) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        plain.push(run(false));
        fenced.push(run(true));
    }
    plain.sort_unstable();
    fenced.sort_unstable();
    let (plain, fenced) = (plain[RUNS / 2], fenced[RUNS / 2]);
    let (ratio, cost) = (fenced.as_secs_f64() / plain.as_secs_f64(), fenced.saturating_sub(plain));
    println!("fence: {fenced:?} against {plain:?} per command, ratio {ratio:.2}, cost {cost:?}");
}

criterion_group!(benches, commands);
criterion_main!(benches);
