//! The reaper with real processes: whatever a command hides, it ends with its call and with us.
//! A named pipe says who lives: its end comes when the last writer is dead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use robota_core::process::{ProcessIdentity, ProcessWatch};
use robota_exec::{
    CommandSpec, Environment, ExecError, Exit, Outcome, ReaperProgram, RecordedExit, ShellCommand,
    Supervisor, reaper,
};
use tokio_util::sync::CancellationToken;

const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(1);

/// Starts three processes that hold `pipe`: one in a session of its own, one that forked twice,
/// one that did both and shed its environment. Each says so before the command goes on.
const HIDERS: &str = "mkfifo ready; exec 8<> ready
    setsid bash -c 'exec 9> pipe; echo >&8; exec sleep 3600' > /dev/null 2>&1 < /dev/null &
    (bash -c 'exec 9> pipe; echo >&8; exec sleep 3600' > /dev/null 2>&1 &)
    (env -i setsid -f bash -c 'trap \"\" TERM; exec 9> pipe; echo >&8; sleep 3600; sleep 3600' \
        > /dev/null 2>&1 &)
    read -r _ <&8; read -r _ <&8; read -r _ <&8
    echo up > pipe";

fn environment() -> Environment {
    Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin")
}

fn program() -> ReaperProgram {
    ReaperProgram::new(env!("CARGO_BIN_EXE_robota-reaper"))
}

fn supervisor() -> Supervisor {
    Supervisor::with_reaper(program())
}

fn bash(command: &str, dir: &Path) -> CommandSpec {
    let spec = ShellCommand::new(command, dir).env(environment()).into_spec().unwrap();
    spec.grace(MOMENT).drain(HOUR)
}

async fn run(spec: CommandSpec) -> Outcome {
    supervisor().run(spec, &CancellationToken::new()).await.unwrap()
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        assert!(run(bash("mkfifo pipe", dir.path())).await.exit.is_success());
        Self { dir }
    }

    fn bash(&self, command: &str) -> CommandSpec {
        bash(command, self.dir.path())
    }

    /// The first line written into the pipe, and the pipe.
    async fn first_line(&self) -> (String, BufReader<std::fs::File>) {
        let path = self.dir.path().join("pipe");
        tokio::task::spawn_blocking(move || {
            let mut pipe = BufReader::new(std::fs::File::open(path).unwrap());
            let mut line = String::new();
            pipe.read_line(&mut line).unwrap();
            (line, pipe)
        })
        .await
        .unwrap()
    }
}

/// Returns when every writer is dead.
async fn nobody_left(mut pipe: BufReader<std::fs::File>) {
    let read = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).unwrap();
        rest
    });
    assert_eq!(read.await.unwrap(), "");
}

#[tokio::test]
async fn a_command_runs_below_the_reaper_as_it_would_without() {
    let place = Place::new().await;
    let outcome = run(place.bash("echo out; echo err >&2; exit 3")).await;
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Code(3), "out\n".to_owned()));
    assert_eq!(outcome.stderr.text(), "err\n");
    assert_eq!(run(place.bash("kill -SEGV $$")).await.exit, Exit::Signal(11));
    let outcome = run(place.bash("wc -c").stdin(vec![b'x'; 500_000])).await;
    assert_eq!(outcome.stdout.text().trim(), "500000");
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let supervisor = supervisor();
    let token = CancellationToken::new();
    let dir = tempfile::tempdir().unwrap();
    let nowhere = CommandSpec::new("/bin/sh", dir.path().join("nowhere"));
    let error = supervisor.run(nowhere, &token).await.unwrap_err();
    assert!(matches!(error, ExecError::BadDirectory { .. }), "{error}");
    let long = bash(&format!("true {}", "x".repeat(4 << 20)), dir.path());
    let error = supervisor.run(long, &token).await.unwrap_err();
    assert!(matches!(error, ExecError::Spawn { .. }), "{error}");
    assert!(supervisor.run(bash("true", dir.path()), &token).await.unwrap().exit.is_success());
}

#[tokio::test]
async fn without_its_reaper_nothing_is_started() {
    let supervisor = Supervisor::with_reaper(ReaperProgram::new("/no/such/reaper"));
    let dir = tempfile::tempdir().unwrap();
    let error = supervisor
        .run(bash("touch started", dir.path()), &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(matches!(error, ExecError::Reaper { .. }), "{error}");
    assert!(!dir.path().join("started").exists());
}

#[tokio::test]
async fn at_the_end_of_a_call_nobody_has_got_away() {
    let place = Place::new().await;
    let (outcome, (line, pipe)) =
        tokio::join!(run(place.bash(&format!("{HIDERS}; exit 5"))), place.first_line());
    assert_eq!((outcome.exit, line.as_str()), (Exit::Code(5), "up\n"));
    assert!(!outcome.left_open);
    nobody_left(pipe).await;
}

#[tokio::test]
async fn cancelling_ends_who_hid() {
    let place = Place::new().await;
    let cancel = CancellationToken::new();
    let supervisor = supervisor();
    let spec = place.bash(&format!("{HIDERS}; sleep 3600"));
    let (outcome, pipe) = tokio::join!(supervisor.run(spec, &cancel), async {
        let (_, pipe) = place.first_line().await;
        cancel.cancel();
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    nobody_left(pipe).await;
}

#[tokio::test]
async fn time_up_ends_who_hid() {
    use std::os::unix::fs::OpenOptionsExt as _;
    let place = Place::new().await;
    let path = place.dir.path().join("pipe");
    let mut options = std::fs::OpenOptions::new();
    // Such a reader never waits: with nobody left it reads the end, with somebody it fails.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut pipe = options.read(true).custom_flags(nonblocking).open(path).unwrap();
    let spec = place.bash(&format!("{HIDERS}; sleep 3600")).timeout(Duration::from_secs(2));
    assert_eq!(run(spec).await.exit, Exit::TimedOut);
    let mut said = String::new();
    pipe.read_to_string(&mut said).unwrap();
    assert_eq!(said, "up\n");
}

#[tokio::test]
async fn shutdown_ends_who_hid() {
    let place = Place::new().await;
    let supervisor = supervisor();
    let spec = place.bash(&format!("{HIDERS}; sleep 3600"));
    let token = CancellationToken::new();
    let (outcome, pipe) = tokio::join!(supervisor.run(spec, &token), async {
        let (_, pipe) = place.first_line().await;
        supervisor.clone().shutdown().await;
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    nobody_left(pipe).await;
}

#[tokio::test]
async fn two_calls_at_once_end_each_its_own() {
    let (one, other) = (Place::new().await, Place::new().await);
    let supervisor = supervisor();
    let cancel = CancellationToken::new();
    let token = CancellationToken::new();
    let long = supervisor.run(one.bash(&format!("{HIDERS}; read -r _ < go; echo on")), &token);
    assert!(run(one.bash("mkfifo go")).await.exit.is_success());
    let (kept, ()) = tokio::join!(long, async {
        let (_, kept) = one.first_line().await;
        let spec = other.bash(&format!("{HIDERS}; sleep 3600"));
        let (ended, pipe) = tokio::join!(supervisor.run(spec, &cancel), async {
            let (_, pipe) = other.first_line().await;
            cancel.cancel();
            pipe
        });
        assert_eq!(ended.unwrap().exit, Exit::Cancelled);
        nobody_left(pipe).await;
        // The first call and those it hid were not touched: it still goes on when told to.
        assert!(run(one.bash("echo > go")).await.exit.is_success());
        nobody_left(kept).await;
    });
    let kept = kept.unwrap();
    assert_eq!((kept.exit, kept.stdout.text()), (Exit::Code(0), "on\n".to_owned()));
}

#[tokio::test]
async fn who_is_told_of_a_process_is_told_before_its_end() {
    let place = Place::new().await;
    let (tell, told) = mpsc::channel();
    let watch = ProcessWatch::new(move |process: ProcessIdentity, background: bool| {
        assert!(!background);
        assert!(reaper::is_alive(&process));
        tell.send(process).unwrap();
    });
    let (outcome, (line, _)) = tokio::join!(
        run(place.bash("exec 9> pipe; echo $$ >&9; read -r _ < go").call("c1", watch)),
        async {
            assert!(run(place.bash("mkfifo go")).await.exit.is_success());
            let line = place.first_line().await;
            assert!(run(place.bash("echo > go")).await.exit.is_success());
            line
        }
    );
    let process = told.recv().unwrap();
    assert_eq!(process.pid.to_string(), line.trim());
    assert_eq!(outcome.process, Some(process.clone()));
    assert!(!reaper::is_alive(&process));
    assert!(!reaper::end_left(&process), "its number belongs to nobody or to a stranger");
}

#[tokio::test]
async fn a_reaper_that_was_killed_is_replaced() {
    let place = Place::new().await;
    let supervisor = supervisor();
    let token = CancellationToken::new();
    // The parent of the command is its nanny; the nanny's is the reaper.
    let find = "read -r _ _ _ nanny _ < /proc/$PPID/stat; echo $nanny";
    let outcome = supervisor.run(place.bash(find), &token).await.unwrap();
    let pid = outcome.stdout.text();
    assert!(run(place.bash(&format!("kill -KILL {pid}"))).await.exit.is_success());
    for _ in 0..3 {
        assert_eq!(supervisor.run(place.bash("exit 4"), &token).await.unwrap().exit, Exit::Code(4));
    }
}

/// Two thousand processes at once, half of them in hiding.
#[tokio::test]
async fn a_storm_of_forks_is_over_when_its_call_is() {
    let place = Place::new().await;
    let command = "exec 9> pipe
        for ((i = 0; i < 1000; i++)); do sleep 3600 & (sleep 3600 &) done > /dev/null 2>&1
        echo up >&9; wait";
    let cancel = CancellationToken::new();
    let supervisor = supervisor();
    let (outcome, pipe) = tokio::join!(supervisor.run(place.bash(command), &cancel), async {
        let (line, pipe) = place.first_line().await;
        assert_eq!(line, "up\n");
        cancel.cancel();
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    nobody_left(pipe).await;
    assert!(run(place.bash("true")).await.exit.is_success());
}

/// Runs a copy of this test program that runs `command` and is killed once that has written its
/// first line; returns the pipe.
async fn killed(place: &Place, helper: &str, command: &str) -> BufReader<std::fs::File> {
    std::fs::write(place.dir.path().join("command"), command).unwrap();
    let copy = CommandSpec::new(std::env::current_exe().unwrap(), place.dir.path())
        .args(["--exact", helper, "--ignored"])
        .grace(HOUR)
        .drain(HOUR);
    // Not below a reaper: that would end what this is about.
    let plain = Supervisor::new();
    let token = CancellationToken::new();
    let (outcome, pipe) = tokio::join!(plain.run(copy, &token), async {
        let (line, pipe) = place.first_line().await;
        assert_eq!(line, "up\n");
        let pid = std::fs::read_to_string(place.dir.path().join("pid")).unwrap();
        assert!(run(place.bash(&format!("kill -KILL {pid}"))).await.exit.is_success());
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Signal(9));
    pipe
}

async fn helper(lives_on: bool) {
    let Ok(command) = std::fs::read_to_string("command") else { return };
    std::fs::write("pid", std::process::id().to_string()).unwrap();
    let here = std::fs::canonicalize(".").unwrap();
    let supervisor = Supervisor::with_reaper(program().records(here.join("records")));
    let mut spec = bash(&command, &here).call("call-7", ProcessWatch::none());
    spec.lives_on = lives_on;
    if lives_on {
        spec.output = Some(here.join("output"));
    }
    supervisor.run(spec.timeout(HOUR), &CancellationToken::new()).await.unwrap();
}

#[tokio::test]
#[ignore = "started by the tests that kill it"]
async fn helper_that_is_killed() {
    helper(false).await;
}

#[tokio::test]
#[ignore = "started by the tests that kill it"]
async fn helper_that_is_killed_with_background() {
    helper(true).await;
}

/// The nanny writes its record twice: at our death and at the end.
async fn record(place: &Place) -> reaper::ReaperRecord {
    let dir = place.dir.path().join("records");
    loop {
        let records = reaper::collect(&dir).unwrap();
        assert!(records.len() < 2);
        match records.into_iter().next() {
            Some(record) if record.exit.is_some() => return record,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn when_we_are_killed_nobody_is_left_and_the_end_is_known() {
    let place = Place::new().await;
    let command = format!("trap 'exit 42' TERM; {HIDERS}; while :; do sleep 3600 & wait; done");
    let pipe = killed(&place, "helper_that_is_killed", &command).await;
    nobody_left(pipe).await;
    let record = record(&place).await;
    assert_eq!((record.call.as_str(), record.ended), ("call-7", true));
    // Its grace is a moment: it took it, or was ended.
    let exits = [RecordedExit::Code(42), RecordedExit::Signal(9)];
    assert!(exits.contains(&record.exit.unwrap()), "{record:?}");
    assert!(!reaper::is_alive(&record.process()));
    let dir = place.dir.path().join("records");
    reaper::forget(&dir, &record).unwrap();
    assert_eq!(reaper::collect(&dir).unwrap(), []);
}

#[tokio::test]
async fn background_lives_on_and_its_exit_code_is_known() {
    let place = Place::new().await;
    assert!(run(place.bash("mkfifo go")).await.exit.is_success());
    let command = "exec 9> pipe; echo up >&9; read -r _ < go; echo went on; exit 6";
    let pipe = killed(&place, "helper_that_is_killed_with_background", command).await;
    assert!(run(place.bash("echo > go")).await.exit.is_success());
    nobody_left(pipe).await;
    let record = record(&place).await;
    assert_eq!((record.exit, record.ended), (Some(RecordedExit::Code(6)), false));
    let output = std::fs::read_to_string(place.dir.path().join("output")).unwrap();
    assert_eq!(output, "went on\n");
}

/// What a dead run left, found by what its journal knows.
#[tokio::test]
async fn what_a_dead_run_left_is_ended_by_its_identity() {
    let place = Place::new().await;
    assert!(run(place.bash("mkfifo go")).await.exit.is_success());
    let command = "exec 9> pipe; (setsid sleep 3600 &); sleep 3600 & echo up >&9; read -r _ < go";
    let pipe = killed(&place, "helper_that_is_killed_with_background", command).await;
    let first = reaper::collect(&place.dir.path().join("records")).unwrap();
    // Known from the journal in earnest; here from the record of our death, once it is written.
    let process = match first.first() {
        Some(record) => record.process(),
        None => loop {
            let records = reaper::collect(&place.dir.path().join("records")).unwrap();
            if let Some(record) = records.first() {
                break record.process();
            }
            tokio::task::yield_now().await;
        },
    };
    let other = ProcessIdentity { start_time: process.start_time + 1, ..process.clone() };
    assert!(!reaper::end_left(&other));
    let other = ProcessIdentity { boot_id: "another".to_owned(), ..process.clone() };
    assert!(!reaper::end_left(&other));
    assert!(reaper::is_alive(&process));
    assert!(reaper::end_left(&process));
    nobody_left(pipe).await;
}
