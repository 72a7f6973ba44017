//! The reaper with real processes: all descendants of a command end with its call, and with the
//! supervisor's process. A named pipe shows when they have: it ends when its last writer has
//! exited.
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

/// Starts three processes that hold `pipe`: one in its own session, one that forked twice, and one
/// that did both and cleared its environment. The command continues when all three run.
const ESCAPERS: &str = "mkfifo ready; exec 8<> ready
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

/// A folder with a named pipe.
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

    /// Returns the first line written into the pipe, and the pipe.
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

/// Waits until all writers have exited.
async fn all_writers_ended(mut pipe: BufReader<std::fs::File>) {
    let read = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).unwrap();
        rest
    });
    assert_eq!(read.await.unwrap(), "");
}

#[tokio::test]
async fn a_command_behaves_the_same_with_a_reaper() {
    let place = Place::new().await;
    let outcome = run(place.bash("echo out; echo err >&2; exit 3")).await;
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Code(3), "out\n".to_owned()));
    assert_eq!(outcome.stderr.text(), "err\n");
    assert_eq!(run(place.bash("kill -SEGV $$")).await.exit, Exit::Signal(11));
    let outcome = run(place.bash("wc -c").stdin(vec![b'x'; 500_000])).await;
    assert_eq!(outcome.stdout.text().trim(), "500000");
}

#[tokio::test]
async fn a_failed_start_reports_the_reason() {
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
async fn if_the_reaper_cannot_start_no_command_starts() {
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
async fn at_the_end_of_a_call_all_descendants_have_ended() {
    let place = Place::new().await;
    let (outcome, (line, pipe)) =
        tokio::join!(run(place.bash(&format!("{ESCAPERS}; exit 5"))), place.first_line());
    assert_eq!((outcome.exit, line.as_str()), (Exit::Code(5), "up\n"));
    assert!(!outcome.left_open);
    all_writers_ended(pipe).await;
}

#[tokio::test]
async fn cancelling_ends_escaped_processes() {
    let place = Place::new().await;
    let cancel = CancellationToken::new();
    let supervisor = supervisor();
    let spec = place.bash(&format!("{ESCAPERS}; sleep 3600"));
    let (outcome, pipe) = tokio::join!(supervisor.run(spec, &cancel), async {
        let (_, pipe) = place.first_line().await;
        cancel.cancel();
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    all_writers_ended(pipe).await;
}

#[tokio::test]
async fn a_timeout_ends_escaped_processes() {
    use std::os::unix::fs::OpenOptionsExt as _;
    let place = Place::new().await;
    let path = place.dir.path().join("pipe");
    let mut options = std::fs::OpenOptions::new();
    // A nonblocking reader reads the end if no writer is left, and fails otherwise.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut pipe = options.read(true).custom_flags(nonblocking).open(path).unwrap();
    let spec = place.bash(&format!("{ESCAPERS}; sleep 3600")).timeout(Duration::from_secs(2));
    assert_eq!(run(spec).await.exit, Exit::TimedOut);
    let mut text = String::new();
    pipe.read_to_string(&mut text).unwrap();
    assert_eq!(text, "up\n");
}

#[tokio::test]
async fn shutdown_ends_escaped_processes() {
    let place = Place::new().await;
    let supervisor = supervisor();
    let spec = place.bash(&format!("{ESCAPERS}; sleep 3600"));
    let token = CancellationToken::new();
    let (outcome, pipe) = tokio::join!(supervisor.run(spec, &token), async {
        let (_, pipe) = place.first_line().await;
        supervisor.clone().shutdown().await;
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    all_writers_ended(pipe).await;
}

#[tokio::test]
async fn cancelling_a_call_does_not_affect_a_concurrent_one() {
    let (one, other) = (Place::new().await, Place::new().await);
    let supervisor = supervisor();
    let cancel = CancellationToken::new();
    let token = CancellationToken::new();
    let long = supervisor.run(one.bash(&format!("{ESCAPERS}; read -r _ < go; echo on")), &token);
    assert!(run(one.bash("mkfifo go")).await.exit.is_success());
    let (kept, ()) = tokio::join!(long, async {
        let (_, kept) = one.first_line().await;
        let spec = other.bash(&format!("{ESCAPERS}; sleep 3600"));
        let (ended, pipe) = tokio::join!(supervisor.run(spec, &cancel), async {
            let (_, pipe) = other.first_line().await;
            cancel.cancel();
            pipe
        });
        assert_eq!(ended.unwrap().exit, Exit::Cancelled);
        all_writers_ended(pipe).await;
        // The first call and its processes still run: it continues when `go` is written.
        assert!(run(one.bash("echo > go")).await.exit.is_success());
        all_writers_ended(kept).await;
    });
    let kept = kept.unwrap();
    assert_eq!((kept.exit, kept.stdout.text()), (Exit::Code(0), "on\n".to_owned()));
}

#[tokio::test]
async fn a_process_is_reported_while_it_runs() {
    let place = Place::new().await;
    let (sender, processes) = mpsc::channel();
    let watch = ProcessWatch::new(move |process: ProcessIdentity, background: bool| {
        assert!(!background);
        assert!(reaper::is_alive(&process));
        sender.send(process).unwrap();
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
    let process = processes.recv().unwrap();
    assert_eq!(process.pid.to_string(), line.trim());
    assert_eq!(outcome.process, Some(process.clone()));
    assert!(!reaper::is_alive(&process));
    assert!(!reaper::kill_leftover(&process), "its id is unused or belongs to another process");
}

#[tokio::test]
async fn a_reaper_that_was_killed_is_replaced() {
    let place = Place::new().await;
    let supervisor = supervisor();
    let token = CancellationToken::new();
    // The parent of the command is its monitor; the parent of the monitor is the reaper.
    let find = "read -r _ _ _ reaper _ < /proc/$PPID/stat; echo $reaper";
    let outcome = supervisor.run(place.bash(find), &token).await.unwrap();
    let pid = outcome.stdout.text();
    assert!(run(place.bash(&format!("kill -KILL {pid}"))).await.exit.is_success());
    for _ in 0..3 {
        assert_eq!(supervisor.run(place.bash("exit 4"), &token).await.unwrap().exit, Exit::Code(4));
    }
}

/// Two thousand processes at once; half of them have left their parent.
#[tokio::test]
async fn two_thousand_processes_end_with_their_call() {
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
    all_writers_ended(pipe).await;
    assert!(run(place.bash("true")).await.exit.is_success());
}

/// Starts a copy of this test program that runs `command`, and kills the copy when the command has
/// written its first line. Returns the pipe.
async fn run_and_kill(place: &Place, helper: &str, command: &str) -> BufReader<std::fs::File> {
    std::fs::write(place.dir.path().join("command"), command).unwrap();
    let copy = CommandSpec::new(std::env::current_exe().unwrap(), place.dir.path())
        .args(["--exact", helper, "--ignored"])
        .grace(HOUR)
        .drain(HOUR);
    // Not below a reaper: it would end the processes that this test is about.
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

async fn helper(survives_crash: bool) {
    let Ok(command) = std::fs::read_to_string("command") else { return };
    std::fs::write("pid", std::process::id().to_string()).unwrap();
    let here = std::fs::canonicalize(".").unwrap();
    let supervisor = Supervisor::with_reaper(program().records(here.join("records")));
    let mut spec = bash(&command, &here).call("call-7", ProcessWatch::none());
    spec.survives_crash = survives_crash;
    if survives_crash {
        spec.output_file = Some(here.join("output"));
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

/// Waits for the final record. The monitor writes its record twice: when the supervisor's process
/// has died, and when the command has ended.
async fn final_record(place: &Place) -> reaper::ReaperRecord {
    let dir = place.dir.path().join("records");
    loop {
        let records = reaper::read_records(&dir).unwrap();
        assert!(records.len() < 2);
        match records.into_iter().next() {
            Some(record) if record.exit.is_some() => return record,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn after_a_kill_all_processes_end_and_the_exit_is_recorded() {
    let place = Place::new().await;
    let command = format!("trap 'exit 42' TERM; {ESCAPERS}; while :; do sleep 3600 & wait; done");
    let pipe = run_and_kill(&place, "helper_that_is_killed", &command).await;
    all_writers_ended(pipe).await;
    let record = final_record(&place).await;
    assert_eq!((record.call.as_str(), record.ended), ("call-7", true));
    // The grace is one millisecond: it exited in time, or was killed.
    let exits = [RecordedExit::Code(42), RecordedExit::Signal(9)];
    assert!(exits.contains(&record.exit.unwrap()), "{record:?}");
    assert!(!reaper::is_alive(&record.process()));
    let dir = place.dir.path().join("records");
    reaper::remove_record(&dir, &record).unwrap();
    assert_eq!(reaper::read_records(&dir).unwrap(), []);
}

#[tokio::test]
async fn a_background_command_survives_a_kill_and_its_exit_is_recorded() {
    let place = Place::new().await;
    assert!(run(place.bash("mkfifo go")).await.exit.is_success());
    let command = "exec 9> pipe; echo up >&9; read -r _ < go; echo went on; exit 6";
    let pipe = run_and_kill(&place, "helper_that_is_killed_with_background", command).await;
    assert!(run(place.bash("echo > go")).await.exit.is_success());
    all_writers_ended(pipe).await;
    let record = final_record(&place).await;
    assert_eq!((record.exit, record.ended), (Some(RecordedExit::Code(6)), false));
    let output = std::fs::read_to_string(place.dir.path().join("output")).unwrap();
    assert_eq!(output, "went on\n");
}

/// A process that a killed run left is found by the identity that the journal has.
#[tokio::test]
async fn a_leftover_process_is_killed_by_its_identity() {
    let place = Place::new().await;
    assert!(run(place.bash("mkfifo go")).await.exit.is_success());
    let command = "exec 9> pipe; (setsid sleep 3600 &); sleep 3600 & echo up >&9; read -r _ < go";
    let pipe = run_and_kill(&place, "helper_that_is_killed_with_background", command).await;
    let first = reaper::read_records(&place.dir.path().join("records")).unwrap();
    // In the program the journal has the identity; here it is taken from the record.
    let process = match first.first() {
        Some(record) => record.process(),
        None => loop {
            let records = reaper::read_records(&place.dir.path().join("records")).unwrap();
            if let Some(record) = records.first() {
                break record.process();
            }
            tokio::task::yield_now().await;
        },
    };
    let other = ProcessIdentity { start_time: process.start_time + 1, ..process.clone() };
    assert!(!reaper::kill_leftover(&other));
    let other = ProcessIdentity { boot_id: "another".to_owned(), ..process.clone() };
    assert!(!reaper::kill_leftover(&other));
    assert!(reaper::is_alive(&process));
    assert!(reaper::kill_leftover(&process));
    all_writers_ended(pipe).await;
}

/// A checkout may contain anything where records are expected.
#[tokio::test]
async fn special_files_among_the_records_are_ignored() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    mknodat(CWD, file("pipe.json"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(file("socket.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", file("device.json")).unwrap();
    std::os::unix::fs::symlink("pipe.json", file("link.json")).unwrap();
    std::os::unix::fs::symlink("loop.json", file("loop.json")).unwrap();
    std::fs::create_dir(file("folder.json")).unwrap();
    std::fs::write(file("text.json"), "not a record").unwrap();
    std::fs::File::create(file("huge.json")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(reaper::read_records(dir.path()).unwrap(), []);
}
