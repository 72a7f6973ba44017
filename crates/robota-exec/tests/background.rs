//! Programs that run in the background, with and without a reaper.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::time::Duration;

use robota_exec::{
    CommandSpec, Environment, ExecError, Exit, ReaperProgram, Running, ShellCommand, Stdin,
    Streams, Supervisor, TerminalSize,
};
use tokio_util::sync::CancellationToken;

const HOUR: Duration = Duration::from_secs(3600);

fn supervisors() -> Vec<Supervisor> {
    let mut all = vec![Supervisor::new()];
    if cfg!(target_os = "linux") {
        let reaper = ReaperProgram::new(env!("CARGO_BIN_EXE_robota-reaper"));
        all.push(Supervisor::with_reaper(reaper));
    }
    all
}

fn bash(command: &str) -> CommandSpec {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    let spec = ShellCommand::new(command, "/").env(env).into_spec().unwrap();
    spec.streams(Streams::Merged).grace(HOUR).drain(HOUR)
}

/// Waits for a whole line after that offset: a terminal may pass on `\r\n` after the text.
async fn next_line(running: &Running, offset: &mut u64) -> String {
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push_str(&next_output(running, offset).await);
    }
    line
}

/// Waits for output after that offset and returns it.
async fn next_output(running: &Running, offset: &mut u64) -> String {
    running.log().wait_past(*offset).await;
    let chunk = running.log().read(*offset, 1 << 20);
    assert_eq!(chunk.skipped, 0);
    *offset = chunk.next;
    String::from_utf8(chunk.bytes).unwrap()
}

#[tokio::test]
async fn tool_03_output_is_read_while_it_runs_and_input_can_be_written() {
    for supervisor in supervisors() {
        let mut spec = bash("echo ready; while read -r line; do echo \"got $line\"; done; exit 3");
        spec.stdin = Stdin::Open;
        let mut running = supervisor.start(spec).await.unwrap();
        let mut offset = 0;
        assert_eq!(next_output(&running, &mut offset).await, "ready\n");
        assert_eq!(running.outcome(), None);
        running.write("one\n");
        assert_eq!(next_output(&running, &mut offset).await, "got one\n");
        running.write("two\n");
        assert_eq!(next_output(&running, &mut offset).await, "got two\n");
        running.close_input();
        let outcome = running.ended().await.unwrap();
        assert_eq!((outcome.exit, outcome.stdout.text().len()), (Exit::Code(3), 22));
        assert_eq!(running.outcome(), Some(Ok(outcome)));
        assert_eq!(running.log().read(offset, 10).bytes, b"");
    }
}

#[tokio::test]
async fn tool_03_kill_ends_the_program_and_keeps_its_output() {
    for supervisor in supervisors() {
        let running = supervisor
            .start(bash(
                "trap 'echo bye; exit 1' TERM; echo up; while :; do sleep 3600 & wait; done",
            ))
            .await
            .unwrap();
        let mut offset = 0;
        assert_eq!(next_output(&running, &mut offset).await, "up\n");
        running.kill();
        assert_eq!(running.ended().await.unwrap().exit, Exit::Cancelled);
        assert_eq!(next_output(&running, &mut offset).await, "bye\n");
    }
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_program() {
    for supervisor in supervisors() {
        let running = supervisor.start(bash("echo up; sleep 3600")).await.unwrap();
        let mut offset = 0;
        next_output(&running, &mut offset).await;
        let (mut end, other) = (running.clone(), running);
        drop(other);
        assert_eq!(end.outcome(), None, "another handle is left");
        // A second program waits until the process of the first no longer exists.
        let pid = end.process().map_or(0, |process| process.pid);
        end.close_input();
        drop(end);
        let wait =
            format!("while kill -0 {pid} 2> /dev/null; do read -rt 0.01 <> <(:); done; true");
        if cfg!(target_os = "linux") {
            let outcome = supervisor.run(bash(&wait), &CancellationToken::new()).await.unwrap();
            assert!(outcome.exit.is_success());
        }
    }
}

#[tokio::test]
async fn shutdown_ends_background_programs() {
    for supervisor in supervisors() {
        let running = supervisor.start(bash("echo up; sleep 3600")).await.unwrap();
        next_output(&running, &mut 0).await;
        supervisor.shutdown().await;
        assert_eq!(running.ended().await.unwrap().exit, Exit::Cancelled);
        let result = supervisor.start(bash("true")).await;
        assert!(matches!(result, Err(ExecError::ShutDown)));
    }
}

#[tokio::test]
async fn a_failed_start_is_reported_by_start() {
    for supervisor in supervisors() {
        let error = supervisor.start(CommandSpec::new("no-such-program", "/")).await.unwrap_err();
        assert!(matches!(error, ExecError::ProgramMissing { .. }), "{error}");
        let error = supervisor.start(CommandSpec::new("/bin/sh", "/nowhere")).await.unwrap_err();
        assert!(matches!(error, ExecError::BadDirectory { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_program_can_have_a_terminal() {
    for supervisor in supervisors() {
        let spec =
            bash("test -t 0 && test -t 1 && test -t 2 && stty size; : < /dev/tty && echo own")
                .terminal(TerminalSize { rows: 33, columns: 111 });
        let outcome = supervisor.run(spec, &CancellationToken::new()).await.unwrap();
        assert_eq!(outcome.stdout.text(), "33 111\r\nown\r\n");
        assert_eq!(outcome.exit, Exit::Code(0));

        let mut spec = bash("stty -echo; echo ready; read -r line; echo \"got $line\"");
        spec.stdin = Stdin::Open;
        spec.terminal = Some(TerminalSize::default());
        let running = supervisor.start(spec).await.unwrap();
        let mut offset = 0;
        assert_eq!(next_line(&running, &mut offset).await, "ready\r\n");
        running.write("hello\n");
        assert_eq!(running.ended().await.unwrap().exit, Exit::Code(0));
        assert_eq!(next_line(&running, &mut offset).await, "got hello\r\n");
        // Ctrl-C is a byte. The program does not trap the signal: bash checks for a trapped one and
        // then reads, so a signal in between would wait for the next line, which never comes.
        let mut spec = bash("echo up; exec sleep 3600");
        spec.stdin = Stdin::Open;
        spec.terminal = Some(TerminalSize::default());
        let running = supervisor.start(spec).await.unwrap();
        assert_eq!(next_line(&running, &mut 0).await, "up\r\n");
        running.write("\x03");
        assert_eq!(running.ended().await.unwrap().exit, Exit::Signal(2));
    }
}

#[tokio::test]
async fn a_program_whose_time_limit_is_lifted_runs_to_its_end() {
    for supervisor in supervisors() {
        let limit = Duration::from_secs(2);
        let running = supervisor.start(bash("sleep 2.5; exit 3").timeout(limit)).await.unwrap();
        running.lift_time_limit();
        assert_eq!(running.ended().await.unwrap().exit, Exit::Code(3));
    }
}

#[tokio::test]
async fn what_follows_the_end_marker_is_only_in_the_outcome() {
    for supervisor in supervisors() {
        let mut spec = bash("printf 'text\\nEND:more\\n'");
        spec.end_marker = Some("END:".to_owned());
        let running = supervisor.start(spec).await.unwrap();
        let outcome = running.ended().await.unwrap();
        assert_eq!(outcome.stdout.text(), "text\nEND:more\n");
        assert_eq!(running.log().read(0, 1_000).bytes, b"text\n");
    }
}
