//! Ways to suspend and to end the terminal program: the terminal is as before, and the
//! session can be resumed.

use std::os::unix::fs::PermissionsExt;

use robota_testkit::mock::{MockServer, Reply, Scenario, Stall, Step};
use rustix::process::Signal;

use crate::home::{Home, stdout};
use crate::pty::{KEY, Start, Terminal};

/// Creates a model that never completes its first answer.
async fn stalled() -> MockServer {
    let stalled = Reply::new().text("Working").step(Step::Stall(Stall::Forever));
    MockServer::start(Scenario::reply(stalled)).await.unwrap()
}

/// Resumes a session without a terminal.
async fn resumes(home: &Home, session: &[&str]) {
    let mock = MockServer::start(Scenario::reply("Here I am.")).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &*origin)];
    let output = home.robota(&[&["-p", "still there?"], session].concat(), &variables).await;
    assert_eq!(stdout(&output).trim(), "Here I am.", "{}", crate::home::stderr(&output));
    let sent = mock.received()[0].json.to_string();
    assert!(sent.contains("work hard"), "the earlier prompt is part of the conversation: {sent}");
}

#[tokio::test]
async fn sigterm_restores_the_terminal_and_the_session_can_be_resumed() {
    let (home, mock) = (Home::new(), stalled().await);
    let mut terminal = Terminal::start(&home, &["work hard"], &mock.origin(), (80, 24));
    terminal.until_text("Working").await;
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end().await, Some(143));
    let id = terminal.resume_id().await;
    terminal.until_restored().await;
    resumes(&home, &["-r", &id]).await;
}

#[tokio::test]
async fn sighup_restores_the_terminal_and_the_session_can_be_resumed() {
    let (home, mock) = (Home::new(), stalled().await);
    let mut terminal = Terminal::start(&home, &["work hard"], &mock.origin(), (80, 24));
    terminal.until_text("Working").await;
    // A page is open: the alternate screen is left too.
    terminal.type_keys("\u{14}");
    terminal.until_page("prompts").await;
    terminal.signal(Signal::HUP);
    assert_eq!(terminal.end().await, Some(130));
    let id = terminal.resume_id().await;
    terminal.until_restored().await;
    resumes(&home, &["-r", &id]).await;
}

#[tokio::test]
async fn a_closed_terminal_ends_the_program_and_the_session_can_be_resumed() {
    let (home, mock) = (Home::new(), stalled().await);
    let mut terminal = Terminal::start(&home, &["work hard"], &mock.origin(), (80, 24));
    terminal.until_text("Working").await;
    terminal.close();
    assert_eq!(terminal.end().await, Some(130));
    resumes(&home, &["-c"]).await;
}

#[tokio::test]
async fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_returns() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("An answer.").then("Another.")).await.unwrap();
    // Job control needs a shell.
    let mut terminal = Start::program(&home, &["bash", "--norc", "--noprofile", "-i"])
        .model(&mock.origin())
        .var("PS1", "shell> ")
        .var("ROBOTA", env!("CARGO_BIN_EXE_robota"))
        .start();
    terminal.until_text("shell>").await;
    terminal.type_keys("\"$ROBOTA\"\r");
    terminal.until_text("ready").await;
    terminal.type_keys("first\r");
    terminal.until_text("An answer.").await;
    terminal.until_text("ready").await;
    terminal.type_keys("half a prompt");
    terminal.until_text("› half a prompt").await;

    terminal.type_keys("\u{1a}");
    terminal.until_text("Stopped").await;
    let shown = terminal.shown();
    assert!(!shown.contains("› half a prompt"), "the live rows are erased:\n{shown}");
    assert!(shown.contains("An answer."), "{shown}");
    terminal.type_keys("echo in the shell | tr a-z A-Z\r");
    terminal.until_text("IN THE SHELL").await;

    terminal.type_keys("fg\r");
    terminal.until_text("› half a prompt").await;
    assert!(!terminal.edits_lines(), "keys are read one by one again");
    terminal.type_keys("\r");
    terminal.until_text("Another.").await;
    assert_eq!(terminal.shown().matches("IN THE SHELL").count(), 1, "{}", terminal.shown());
}

#[tokio::test]
async fn the_editor_has_the_terminal_for_itself_and_its_text_is_the_prompt() {
    let home = Home::new();
    let script = "#!/bin/sh\nstty -a </dev/tty >\"$MODES\"\n\
                  printf '%s, edited' \"$(cat \"$1\")\" >\"$1.new\"\nmv \"$1.new\" \"$1\"\n";
    home.write("edit.sh", script);
    let file = home.path("edit.sh");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let mock = MockServer::start(Scenario::reply("Understood.")).await.unwrap();
    let mut terminal = Start::robota(&home, &[])
        .model(&mock.origin())
        .var("EDITOR", &file.display().to_string())
        .var("MODES", &home.path("modes").display().to_string())
        .start();
    terminal.until_text("ready").await;
    terminal.type_keys("typed");
    terminal.until_text("› typed").await;
    terminal.type_keys("\u{7}");
    terminal.until_text("› typed, edited").await;
    let modes = std::fs::read_to_string(home.path("modes")).unwrap();
    assert!(modes.contains(" icanon") && modes.contains(" echo "), "{modes}");
    terminal.type_keys("\r");
    terminal.until_text("Understood.").await;
    assert!(mock.received()[0].json.to_string().contains("typed, edited"));
}

#[tokio::test]
async fn an_editor_that_fails_leaves_the_text() {
    let home = Home::new();
    let mock = stalled().await;
    let mut terminal =
        Start::robota(&home, &[]).model(&mock.origin()).var("VISUAL", "false").start();
    terminal.until_text("ready").await;
    terminal.type_keys("typed");
    terminal.until_text("› typed").await;
    terminal.type_keys("\u{7}");
    terminal.until_text("false failed; the text is unchanged").await;
    terminal.until_text("› typed").await;
}
