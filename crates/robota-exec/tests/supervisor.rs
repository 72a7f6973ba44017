//! The supervisor with real processes. Tests wait for actions of a process (a line in a pipe, the
//! end of a pipe), never for time. Timeouts that must not expire are an hour, timeouts that must
//! expire are a millisecond or zero.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use robota_core::error::{Diagnose as _, ErrorKind};
use robota_exec::{
    CommandSpec, Environment, ExecError, Exit, Limits, Outcome, ShellCommand, Streams, Supervisor,
};
use tokio_util::sync::CancellationToken;

const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(1);

fn environment() -> Environment {
    Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin")
}

fn bash(command: &str) -> CommandSpec {
    ShellCommand::new(command, "/").env(environment()).into_spec().unwrap().grace(HOUR).drain(HOUR)
}

async fn run(spec: CommandSpec) -> Outcome {
    Supervisor::new().run(spec, &CancellationToken::new()).await.unwrap()
}

/// A named pipe that shows which processes still run: it ends when the last writer has exited.
struct Watch {
    dir: tempfile::TempDir,
}

impl Watch {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spec = CommandSpec::new("mkfifo", dir.path()).args(["pipe"]).env(environment());
        assert!(run(spec).await.exit.is_success());
        Self { dir }
    }

    /// Returns a command line in the folder of the pipe; the pipe is called `pipe`.
    fn bash(&self, command: &str) -> CommandSpec {
        CommandSpec { cwd: self.dir.path().to_owned(), ..bash(command) }
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

/// Returns the rest of the text, when all writers have exited.
async fn rest(mut pipe: BufReader<std::fs::File>) -> String {
    tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).unwrap();
        rest
    })
    .await
    .unwrap()
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

#[tokio::test]
async fn a_command_gets_only_the_given_environment_and_directory() {
    let dir = tempfile::tempdir().unwrap();
    let spec = CommandSpec::new("/usr/bin/env", dir.path())
        .env(Environment::new().with("ONLY", "this").with("EMPTY", ""));
    let outcome = run(spec).await;
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.stdout.text(), "EMPTY=\nONLY=this\n");

    let spec = CommandSpec::new("pwd", dir.path().canonicalize().unwrap()).env(environment());
    let printed = run(spec).await.stdout.text();
    assert_eq!(Path::new(printed.trim_end()), dir.path().canonicalize().unwrap());
}

#[tokio::test]
async fn bash_runs_no_start_file_and_no_function_of_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let evil = dir.path().join("evil");
    std::fs::write(&evil, "echo evil\n").unwrap();
    let spec = ShellCommand::new("echo start; greet; [[ $- == *x* ]] && echo traced; true", "/")
        .env(
            environment()
                .with("BASH_ENV", &evil)
                .with("ENV", &evil)
                .with("SHELLOPTS", "xtrace")
                .with("HOME", dir.path())
                .with("BASH_FUNC_greet%%", "() { echo evil; }"),
        )
        .into_spec()
        .unwrap()
        .streams(Streams::Merged);
    std::fs::write(dir.path().join(".bashrc"), "echo evil\n").unwrap();
    std::fs::write(dir.path().join(".bash_profile"), "echo evil\n").unwrap();
    let text = run(spec).await.stdout.text();
    assert!(text.starts_with("start\n") && text.contains("greet: command not found"), "{text}");
    assert!(!text.contains("evil") && !text.contains("traced"), "{text}");
}

#[tokio::test]
async fn exit_codes_and_signals_are_distinguished() {
    assert_eq!(run(bash("exit 7")).await.exit, Exit::Code(7));
    assert_eq!(run(bash("kill -SEGV $$")).await.exit, Exit::Signal(11));
    // A shell reports the death of its own child as a code.
    assert_eq!(run(bash("bash -c 'kill -9 $$'; exit $?")).await.exit, Exit::Code(137));
}

#[tokio::test]
async fn streams_are_split_or_merged_in_order() {
    let command = "echo a; echo b >&2; echo c; echo d >&2";
    let split = run(bash(command)).await;
    assert_eq!(split.stdout.text(), "a\nc\n");
    assert_eq!(split.stderr.text(), "b\nd\n");
    let merged = run(bash(command).streams(Streams::Merged)).await;
    assert_eq!(merged.stdout.text(), "a\nb\nc\nd\n");
    assert_eq!(merged.stderr.total_bytes(), 0);
}

#[tokio::test]
async fn stdin_is_closed_or_has_the_given_bytes() {
    let outcome = run(bash("cat; read -r line || echo end")).await;
    assert_eq!(outcome.stdout.text(), "end\n");
    let outcome = run(bash("wc -c").stdin(vec![b'x'; 1_000_000])).await;
    assert_eq!(outcome.stdout.text().trim(), "1000000");
    // The command does not have to read it.
    let outcome = run(bash("echo done").stdin(vec![b'x'; 1_000_000])).await;
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Code(0), "done\n".to_owned()));
}

#[tokio::test]
async fn a_command_has_no_controlling_terminal() {
    let outcome = run(bash("( : < /dev/tty ) 2> /dev/null && echo terminal; true")).await;
    assert_eq!(outcome.stdout.text(), "");
}

#[tokio::test]
async fn binary_output_and_very_long_lines_are_captured() {
    let outcome = run(bash(r"printf 'a\xffb\x00c'")).await;
    assert_eq!(outcome.stdout.head, b"a\xffb\0c");
    assert_eq!(outcome.stdout.text(), "a\u{fffd}b\0c");

    let line = bash("head -c 3000000 /dev/zero | tr '\\0' x").limits(Limits { head: 10, tail: 5 });
    let kept = run(line).await.stdout;
    assert_eq!(kept.text(), "xxxxxxxxxx\n[... 2999985 of 3000000 bytes cut ...]\nxxxxx");
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group() {
    // All of them hold the output open, and the call does not wait an hour for them.
    let command = "trap '' TERM; (sleep 3600 & sleep 3600) & sleep 3600; sleep 3600";
    let outcome = run(bash(command).timeout(MOMENT).grace(MOMENT)).await;
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert!(!outcome.left_open);
}

#[tokio::test]
async fn cancelling_kills_a_group_that_ignores_sigterm() {
    let watch = Watch::new().await;
    let command = "trap '' TERM; exec 9> pipe; (sleep 3600 & echo up >&9; sleep 3600) & sleep 3600; sleep 3600";
    let cancel = CancellationToken::new();
    let supervisor = Supervisor::new();
    let running = supervisor.run(watch.bash(command).grace(MOMENT), &cancel);
    let (outcome, pipe) = tokio::join!(running, async {
        let (line, pipe) = watch.first_line().await;
        assert_eq!(line, "up\n");
        cancel.cancel();
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    assert_eq!(rest(pipe).await, "");
}

#[tokio::test]
async fn cancelling_gives_the_group_time_to_end() {
    let watch = Watch::new().await;
    let command = "exec 9> pipe; trap 'echo farewell; exit 5' TERM; echo up >&9; while :; do sleep 3600 & wait; done";
    let cancel = CancellationToken::new();
    let supervisor = Supervisor::new();
    let running = supervisor.run(watch.bash(command), &cancel);
    let (outcome, pipe) = tokio::join!(running, async {
        let (_, pipe) = watch.first_line().await;
        cancel.cancel();
        pipe
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Cancelled, "farewell\n".to_owned()));
    assert_eq!(rest(pipe).await, "");
}

#[tokio::test]
async fn a_stopped_process_can_be_ended() {
    let watch = Watch::new().await;
    let command = "exec 9> pipe; echo up >&9; kill -STOP $$";
    let cancel = CancellationToken::new();
    let supervisor = Supervisor::new();
    let running = supervisor.run(watch.bash(command), &cancel);
    let (outcome, pipe) = tokio::join!(running, async {
        let (_, pipe) = watch.first_line().await;
        cancel.cancel();
        pipe
    });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    assert_eq!(rest(pipe).await, "");
}

#[tokio::test]
async fn a_dropped_future_ends_its_processes() {
    let watch = Watch::new().await;
    let command = "exec 9> pipe; echo up >&9; sleep 3600";
    let supervisor = Supervisor::new();
    let spec = watch.bash(command);
    let task =
        tokio::spawn(
            async move { supervisor.run(spec, &CancellationToken::new()).await.map(drop) },
        );
    let (_, pipe) = watch.first_line().await;
    task.abort();
    assert_eq!(rest(pipe).await, "");
}

#[tokio::test]
async fn the_rest_of_the_group_is_killed_after_its_leader() {
    let watch = Watch::new().await;
    // The child ignores SIGTERM and does not hold the captured output open.
    let command = "mkfifo ready
        (trap '' TERM; exec 9> pipe > ready 2>&1; echo up >&9; echo go; sleep 3600) &
        read -r _ < ready; echo started; exit 4";
    let supervisor = Supervisor::new();
    let token = CancellationToken::new();
    let running = supervisor.run(watch.bash(command), &token);
    let (outcome, (_, pipe)) = tokio::join!(running, watch.first_line());
    let outcome = outcome.unwrap();
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Code(4), "started\n".to_owned()));
    assert_eq!(rest(pipe).await, "");
}

#[tokio::test]
async fn output_written_after_the_leader_exited_is_captured() {
    // Bash does not wait for a process substitution.
    let outcome = run(bash("echo hello > >(read -r line; echo \"got $line\")")).await;
    assert_eq!(outcome.stdout.text(), "got hello\n");
    assert!(!outcome.left_open);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_left_the_group_cannot_delay_the_call() {
    let watch = Watch::new().await;
    let command = "mkfifo ready
        setsid bash -c 'exec 9> pipe; echo $$ >&9; echo go > ready; sleep 3600' &
        read -r _ < ready; echo output";
    let supervisor = Supervisor::new();
    let token = CancellationToken::new();
    let running = supervisor.run(watch.bash(command).drain(Duration::ZERO), &token);
    let (outcome, (pid, pipe)) = tokio::join!(running, watch.first_line());
    let outcome = outcome.unwrap();
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.stdout.text(), "output\n", "earlier output is captured");
    assert!(outcome.left_open);
    run(bash(&format!("kill -KILL -{}", pid.trim()))).await;
    assert_eq!(rest(pipe).await, "");
}

/// A second copy of this test program starts a child and is killed with SIGKILL.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn children_die_with_the_process() {
    let watch = Watch::new().await;
    let copy = CommandSpec::new(std::env::current_exe().unwrap(), watch.dir.path())
        .args(["--exact", "helper_that_is_killed", "--ignored"])
        .grace(HOUR)
        .drain(HOUR);
    let (outcome, pipe) = tokio::join!(run(copy), async {
        let (pid, pipe) = watch.first_line().await;
        assert!(run(bash(&format!("kill -KILL {}", pid.trim()))).await.exit.is_success());
        pipe
    });
    assert_eq!(outcome.exit, Exit::Signal(9));
    assert_eq!(rest(pipe).await, "");
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "started by children_die_with_the_process"]
async fn helper_that_is_killed() {
    if !Path::new("pipe").exists() {
        return;
    }
    let here = std::fs::canonicalize(".").unwrap();
    let command = "exec 9> pipe; echo $PPID >&9; exec sleep 3600 > /dev/null 2>&1";
    let spec = ShellCommand::new(command, here).env(environment()).into_spec().unwrap();
    run(spec.timeout(HOUR)).await;
}

#[tokio::test]
async fn a_cancelled_command_is_never_started() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let spec = CommandSpec::new("touch", dir.path()).args(["started"]).env(environment());
    let outcome = Supervisor::new().run(spec, &cancel).await.unwrap();
    assert_eq!(outcome.exit, Exit::Cancelled);
    assert!(!dir.path().join("started").exists());
}

#[tokio::test]
async fn shutdown_ends_all_and_starts_no_more() {
    let watch = Watch::new().await;
    let command = "trap '' TERM; exec 9> pipe; echo up >&9; sleep 3600";
    let supervisor = Supervisor::new();
    let token = CancellationToken::new();
    let (outcome, pipe) =
        tokio::join!(supervisor.run(watch.bash(command).grace(MOMENT), &token), async {
            let (_, pipe) = watch.first_line().await;
            supervisor.clone().shutdown().await;
            pipe
        });
    assert_eq!(outcome.unwrap().exit, Exit::Cancelled);
    assert_eq!(rest(pipe).await, "");
    let result = supervisor.run(bash("true"), &token).await;
    assert!(matches!(result, Err(ExecError::ShutDown)), "{result:?}");
    supervisor.shutdown().await;
}

#[tokio::test]
async fn concurrent_commands_share_one_supervisor() {
    let supervisor = Supervisor::new();
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let supervisor = supervisor.clone();
            tokio::spawn(async move {
                supervisor.run(bash(&format!("echo {n}")), &CancellationToken::new()).await
            })
        })
        .collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap().unwrap().stdout.text(), format!("{n}\n"));
    }
}

#[tokio::test]
async fn a_failed_start_reports_the_reason() {
    let supervisor = Supervisor::new();
    let token = CancellationToken::new();
    let dir = tempfile::tempdir().unwrap();

    let missing = CommandSpec::new("no-such-program", "/").env(environment());
    let error = supervisor.run(missing, &token).await.unwrap_err();
    assert!(matches!(error, ExecError::ProgramMissing { .. }), "{error}");
    assert!(error.to_string().contains("no-such-program") && error.to_string().contains("/bin"));
    assert_eq!(error.kind(), ErrorKind::ToolExecution);

    let nowhere = CommandSpec::new("/bin/sh", dir.path().join("nowhere"));
    let error = supervisor.run(nowhere, &token).await.unwrap_err();
    assert!(matches!(error, ExecError::BadDirectory { .. }), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");

    let script = dir.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let spec = bash(&format!("chmod +x {}", quoted(&script)));
    assert!(supervisor.run(spec, &token).await.unwrap().exit.is_success());
    let error = supervisor.run(CommandSpec::new("./script", dir.path()), &token).await.unwrap_err();
    assert!(error.hint().unwrap().contains("interpreter"), "{error}");

    let long = bash(&format!("true {}", "x".repeat(4 << 20)));
    let error = supervisor.run(long, &token).await.unwrap_err();
    assert!(error.hint().unwrap().contains("too long"), "{error}");
}
