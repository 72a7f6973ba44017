//! The overhead of running a command: plain tokio, the supervisor, and the supervisor with the
//! reaper.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::process::Stdio;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
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
}

criterion_group!(benches, commands);
criterion_main!(benches);
