//! Ending programs that start others while they end: kill, timeout, interrupt and shutdown, with and
//! without a reaper. When a call has ended, no process of it is alive.
//!
//! `ROBOTA_TEST_RUNS` sets the number of runs; the default is small enough for every CI run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use robota_exec::{
    CommandSpec, Environment, Exit, ReaperProgram, ShellCommand, Streams, Supervisor,
};
use tokio_util::sync::CancellationToken;

const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(1);

/// How many programs end at the same time.
const AT_ONCE: usize = 4;

/// The default number of runs.
const RUNS: usize = 60;

/// Programs that all end after SIGTERM, but start others meanwhile. Descriptor 9 is a pipe that every
/// process of the program holds open; `up` is printed when all are started.
const WILLING: [&str; 4] = [
    // The leader may start one more `sleep` between the signal and its trap.
    "trap 'exit 1' TERM; echo up; while :; do sleep 3600 & wait; done",
    // The trap itself starts processes, and the leader does not wait for them.
    "trap 'for i in 1 2 3; do sleep 3600 & done; exit 1' TERM; echo up; while :; do sleep 3600 & wait; done",
    // A member, not the leader, starts them.
    "(trap 'sleep 3600 & sleep 3600 & exit 1' TERM; echo up; while :; do sleep 3600 & wait; done) & wait",
    // All output goes elsewhere, so the end of the output does not show the end of the command.
    "echo up; exec > /dev/null 2>&1; trap 'sleep 3600 & exit 1' TERM; while :; do sleep 3600 & wait; done",
];

/// Programs that do not end by SIGTERM, or not always.
const STUBBORN: [&str; 3] = [
    // A chain: each starts the next before it ends. A new shell forgets a signal that arrives before
    // it has set its trap.
    "f() { trap \"sleep 3600 & (f2) & exit 1\" TERM; echo up; while :; do sleep 3600 & wait; done; }; \
     f2() { trap 'sleep 3600 & exit 1' TERM; while :; do sleep 3600 & wait; done; }; f",
    "trap '' TERM; echo up; while :; do sleep 3600 & sleep 3600 & wait; done",
    "trap 'sleep 3600 &' TERM; echo up; while :; do (trap '' TERM; sleep 3600) & wait; done",
];

fn runs() -> usize {
    #[expect(clippy::disallowed_methods, reason = "the tester chooses the number of runs")]
    let runs = std::env::var("ROBOTA_TEST_RUNS").ok();
    runs.and_then(|runs| runs.parse().ok()).unwrap_or(RUNS)
}

fn supervisors() -> Vec<Supervisor> {
    let mut all = vec![Supervisor::new()];
    if cfg!(target_os = "linux") {
        let reaper = ReaperProgram::new(env!("CARGO_BIN_EXE_robota-reaper"));
        all.push(Supervisor::with_reaper(reaper));
    }
    all
}

/// A pipe with a name: it has a writer as long as a process of the program is alive.
struct Alive {
    dir: tempfile::TempDir,
    pipe: File,
}

impl Alive {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let pipe = File::options().read(true).custom_flags(nonblocking).open(path).unwrap();
        Self { dir, pipe }
    }

    fn bash(&self, command: &str) -> CommandSpec {
        bash(&format!("exec 9> pipe; {command}"), self.dir.path())
    }

    /// Asserts that no process of the program is alive now.
    fn assert_none(&mut self, what: &str) {
        match self.pipe.read(&mut [0]) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                panic!("{what}: a process is alive")
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

fn bash(command: &str, dir: &Path) -> CommandSpec {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    let spec = ShellCommand::new(command, dir).env(env).into_spec().unwrap();
    spec.streams(Streams::Merged).grace(HOUR).drain(HOUR)
}

/// Why a program ends.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Kill,
    Timeout,
    Interrupt,
    DropHandle,
}

const CAUSES: [Cause; 4] = [Cause::Kill, Cause::Timeout, Cause::Interrupt, Cause::DropHandle];

/// Starts a program, ends it, and asserts that the call ends with no process left.
async fn end_one(supervisor: &Supervisor, command: &str, cause: Cause, grace: Duration) {
    let mut alive = Alive::new();
    let mut spec = alive.bash(command).grace(grace);
    let what = format!("{cause:?}: {command}");
    match cause {
        Cause::Timeout => {
            // It may expire at any time of the start, too.
            let outcome = supervisor.run(spec.timeout(5 * MOMENT), &CancellationToken::new()).await;
            assert_eq!(outcome.unwrap().exit, Exit::TimedOut, "{what}");
        }
        Cause::Interrupt => {
            let cancel = CancellationToken::new();
            let up = cancel.clone();
            spec.sink = Some(robota_exec::OutputSink::new(move |_| up.cancel()));
            let outcome = supervisor.run(spec, &cancel).await;
            assert_eq!(outcome.unwrap().exit, Exit::Cancelled, "{what}");
        }
        Cause::Kill => {
            let running = supervisor.start(spec).await.unwrap();
            running.log().wait_past(0).await;
            running.kill();
            assert_eq!(running.ended().await.unwrap().exit, Exit::Cancelled, "{what}");
        }
        Cause::DropHandle => {
            let running = supervisor.start(spec).await.unwrap();
            running.log().wait_past(0).await;
            drop(running);
            // Nothing reports the end: the pipe ends when the last process has ended.
            let mut pipe = File::open(alive.dir.path().join("pipe")).unwrap();
            let read = move || pipe.read(&mut [0]);
            assert_eq!(tokio::task::spawn_blocking(read).await.unwrap().unwrap(), 0, "{what}");
        }
    }
    alive.assert_none(&what);
}

#[tokio::test]
async fn no_process_is_alive_after_a_call_for_every_cause_of_its_end() {
    for supervisor in supervisors() {
        let mut tasks = tokio::task::JoinSet::new();
        for run in 0..runs() {
            if tasks.len() == AT_ONCE {
                tasks.join_next().await.unwrap().unwrap();
            }
            let cause = CAUSES[run % CAUSES.len()];
            let round = run / CAUSES.len();
            let (command, grace) = match round % 7 {
                number @ 0..4 => (WILLING[number], HOUR),
                number => (STUBBORN[number - 4], MOMENT),
            };
            // A timeout may expire before a trap is set.
            let grace = if let Cause::Timeout = cause { MOMENT } else { grace };
            let supervisor = supervisor.clone();
            tasks.spawn(async move { end_one(&supervisor, command, cause, grace).await });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    }
}

#[tokio::test]
async fn no_process_is_alive_after_shutdown() {
    for _ in 0..runs().div_ceil(10 * AT_ONCE) {
        for supervisor in supervisors() {
            let mut started = Vec::new();
            for command in WILLING {
                let alive = Alive::new();
                let running = supervisor.start(alive.bash(command)).await.unwrap();
                running.log().wait_past(0).await;
                started.push((alive, running));
            }
            supervisor.shutdown().await;
            for (mut alive, running) in started {
                alive.assert_none("shutdown");
                assert_eq!(running.ended().await.unwrap().exit, Exit::Cancelled);
            }
        }
    }
}
