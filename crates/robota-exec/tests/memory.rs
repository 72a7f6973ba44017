//! Output must not cost memory. Alone in its file, because it measures the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use robota_exec::{Environment, Exit, Limits, ShellCommand, Supervisor};
use tokio_util::sync::CancellationToken;

/// The most memory this process ever held, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn fifty_megabytes_cost_their_limits_and_no_more() {
    let supervisor = Supervisor::new();
    let environment = Environment::new().with("PATH", "/usr/bin:/bin");
    let run = async |command: &str| {
        let spec = ShellCommand::new(command, "/").env(environment.clone()).into_spec().unwrap();
        supervisor.run(spec, &CancellationToken::new()).await.unwrap()
    };
    run("echo warm").await;
    let before = peak();
    let outcome = run("printf first; head -c 50000000 /dev/zero | tr '\\0' x; printf last").await;
    let grown = peak() - before;

    assert_eq!(outcome.exit, Exit::Code(0));
    let Limits { head, tail } = Limits::default();
    assert_eq!((outcome.stdout.head.len(), outcome.stdout.tail.len()), (head, tail));
    assert_eq!(outcome.stdout.total_bytes(), 50_000_009);
    let text = outcome.stdout.text();
    assert!(text.starts_with("firstxxx") && text.ends_with("xxxlast"));
    assert!(grown < 8 * 1024, "grew by {grown} KiB");
}
