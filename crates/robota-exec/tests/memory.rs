//! The memory of a command's output is bounded. In its own file, because the test measures the whole
//! process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use robota_core::env_ref::Secret;
use robota_core::redact::Redactor;
use robota_exec::{Environment, Exit, Limits, ShellCommand, Spill, Supervisor};
use tokio_util::sync::CancellationToken;

/// Returns the peak memory of this process, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn two_gigabytes_of_output_use_no_more_memory_than_their_limits() {
    let supervisor = Supervisor::new();
    let environment = Environment::new().with("PATH", "/usr/bin:/bin");
    let dir = tempfile::tempdir().unwrap();
    let run = async |command: &str| {
        let spec = ShellCommand::new(command, "/").env(environment.clone()).into_spec().unwrap();
        let spec = spec.spill(Spill::new(dir.path()));
        let spec = spec.redactor(Redactor::new([Secret::new("sk-planted-12345678")]).unwrap());
        supervisor.run(spec, &CancellationToken::new()).await.unwrap()
    };
    run("echo warm").await;
    let before = peak();
    let outcome = run("printf first; head -c 2000000000 /dev/zero; printf last").await;
    let grown = peak() - before;

    assert_eq!(outcome.exit, Exit::Code(0));
    let Limits { head, tail } = Limits::default();
    let stdout = &outcome.stdout;
    assert_eq!((stdout.head.len(), stdout.tail.len()), (head, tail));
    assert_eq!(stdout.total_bytes(), 2_000_000_009);
    assert!(stdout.head.starts_with(b"first\0\0") && stdout.tail.ends_with(b"\0\0last"));
    let spilled = stdout.spilled.as_ref().unwrap();
    assert_eq!(spilled.bytes, Spill::MAX_BYTES);
    assert!(grown < 8 * 1024, "grew by {grown} KiB");
}
