//! The supervisor with real processes. Tests wait for what a process does (a line in a pipe, the
//! end of a pipe), never for time; limits that must not strike are an hour, limits that must
//! strike are nothing.
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

/// A named pipe. Whoever holds it open for writing is alive; its end says that nobody is.
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

    /// A command line in the pipe's directory; the pipe is called `pipe`.
    fn bash(&self, command: &str) -> CommandSpec {
        CommandSpec { cwd: self.dir.path().to_owned(), ..bash(command) }
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

/// What else is written until every writer is dead.
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
async fn a_command_gets_what_it_was_given_and_nothing_else() {
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
async fn codes_and_signals_are_told_apart() {
    assert_eq!(run(bash("exit 7")).await.exit, Exit::Code(7));
    assert_eq!(run(bash("kill -SEGV $$")).await.exit, Exit::Signal(11));
    // A shell reports the death of its own child as a code.
    assert_eq!(run(bash("bash -c 'kill -9 $$'; exit $?")).await.exit, Exit::Code(137));
}

#[tokio::test]
async fn streams_are_apart_or_in_order() {
    let command = "echo a; echo b >&2; echo c; echo d >&2";
    let split = run(bash(command)).await;
    assert_eq!(split.stdout.text(), "a\nc\n");
    assert_eq!(split.stderr.text(), "b\nd\n");
    let merged = run(bash(command).streams(Streams::Merged)).await;
    assert_eq!(merged.stdout.text(), "a\nb\nc\nd\n");
    assert_eq!(merged.stderr.total_bytes(), 0);
}

#[tokio::test]
async fn stdin_is_closed_or_what_was_given() {
    let outcome = run(bash("cat; read -r line || echo end")).await;
    assert_eq!(outcome.stdout.text(), "end\n");
    let outcome = run(bash("wc -c").stdin(vec![b'x'; 1_000_000])).await;
    assert_eq!(outcome.stdout.text().trim(), "1000000");
    // Nobody has to read it.
    let outcome = run(bash("echo done").stdin(vec![b'x'; 1_000_000])).await;
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Code(0), "done\n".to_owned()));
}

#[tokio::test]
async fn there_is_no_terminal_to_ask_on() {
    let outcome = run(bash("( : < /dev/tty ) 2> /dev/null && echo terminal; true")).await;
    assert_eq!(outcome.stdout.text(), "");
}

#[tokio::test]
async fn output_that_is_not_text_and_lines_without_end() {
    let outcome = run(bash(r"printf 'a\xffb\x00c'")).await;
    assert_eq!(outcome.stdout.head, b"a\xffb\0c");
    assert_eq!(outcome.stdout.text(), "a\u{fffd}b\0c");

    let line = bash("head -c 3000000 /dev/zero | tr '\\0' x").limits(Limits { head: 10, tail: 5 });
    let kept = run(line).await.stdout;
    assert_eq!(kept.text(), "xxxxxxxxxx\n[... 2999985 of 3000000 bytes cut ...]\nxxxxx");
}

#[tokio::test]
async fn time_up_ends_the_whole_group() {
    // All of them hold the output, and nobody waits an hour for it: so they are dead.
    let command = "trap '' TERM; (sleep 3600 & sleep 3600) & sleep 3600; sleep 3600";
    let outcome = run(bash(command).timeout(MOMENT).grace(MOMENT)).await;
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert!(!outcome.left_open);
}

#[tokio::test]
async fn cancelling_kills_who_ignores_term_with_all_descendants() {
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
async fn cancelling_gives_the_group_its_grace() {
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
async fn what_is_left_of_the_group_dies_with_its_leader() {
    let watch = Watch::new().await;
    // The child ignores TERM and holds no output of ours.
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
async fn who_still_writes_after_the_leader_is_heard() {
    // Bash does not wait for a process substitution.
    let outcome = run(bash("echo hello > >(read -r line; echo \"got $line\")")).await;
    assert_eq!(outcome.stdout.text(), "got hello\n");
    assert!(!outcome.left_open);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_left_the_group_cannot_hold_the_call() {
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
    assert_eq!(outcome.stdout.text(), "output\n", "what was written before is here");
    assert!(outcome.left_open);
    run(bash(&format!("kill -KILL -{}", pid.trim()))).await;
    assert_eq!(rest(pipe).await, "");
}

/// Our own SIGKILL: a second copy of this test program starts a child and is killed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn children_die_with_us() {
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
#[ignore = "started by children_die_with_us"]
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
async fn shutdown_ends_all_and_refuses_more() {
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
    let refused = supervisor.run(bash("true"), &token).await;
    assert!(matches!(refused, Err(ExecError::ShutDown)), "{refused:?}");
    supervisor.shutdown().await;
}

#[tokio::test]
async fn many_at_once_share_one_supervisor() {
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
async fn what_cannot_be_started_says_why() {
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
