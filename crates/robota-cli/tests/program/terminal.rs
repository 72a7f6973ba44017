//! The terminal program on a pseudo terminal, against the mock model server.

use robota_testkit::mock::{MockServer, Reply, Scenario, Stall, Step};
use serde_json::json;

use crate::home::Home;
use crate::pty::Terminal;

#[tokio::test]
async fn cli_01_a_session_on_a_terminal() {
    let home = Home::new();
    let write = json!({"file_path": "notes.txt", "content": "first\nsecond\n"});
    let mock = MockServer::start(
        Scenario::reply("Hello **there**, 世界.")
            .then(Reply::new().tool("Write", write))
            .then("The notes are written."),
    )
    .await
    .unwrap();
    let mut terminal = Terminal::start(&home, &[], &mock.origin(), (100, 30));
    terminal.type_keys("hello");
    terminal.until_text("› hello").await;
    terminal.until_text("ready").await;
    assert!(!terminal.edits_lines(), "keys are read one by one");
    terminal.type_keys("\r");
    terminal.until_text("Hello there, 世界.").await;
    terminal.until_text("ready").await;

    terminal.type_keys("write notes\r");
    terminal.until_text("? Wants to write notes.txt  +2 -0").await;
    let shown = terminal.shown();
    assert!(shown.contains("first") && shown.contains("second"), "the whole change: {shown}");
    assert!(!home.path("project/notes.txt").exists(), "nothing happens before the answer");
    terminal.until_answerable().await;
    terminal.type_keys("y");
    terminal.until_text("✓ Wrote notes.txt").await;
    terminal.until_text("The notes are written.").await;
    terminal.until_text("ready").await;
    let text = std::fs::read_to_string(home.path("project/notes.txt")).unwrap();
    assert_eq!(text, "first\nsecond\n");

    terminal.type_keys("\u{3}");
    terminal.until_text("press Ctrl+C again to quit").await;
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.end().await, Some(0));
    let id = terminal.resume_id().await;
    terminal.until_text("tokens in").await;
    terminal.until_restored().await;
    assert!(terminal.shown().contains("✓ Wrote notes.txt"), "the conversation stays");

    let mock = MockServer::start(Scenario::reply("I remember.")).await.unwrap();
    let mut again = Terminal::start(&home, &["-r", &id], &mock.origin(), (100, 30));
    again.until_text("The notes are written.").await;
    again.type_keys("and now?\r");
    again.until_text("I remember.").await;
}

#[tokio::test]
async fn esc_stops_an_answer_and_its_text_stays() {
    let home = Home::new();
    let stalled = Reply::new().text("Half an answer").step(Step::Stall(Stall::Forever));
    let mock = MockServer::start(Scenario::reply(stalled).then("Again.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &["go on"], &mock.origin(), (80, 24));
    terminal.until_text("Half an answer").await;
    terminal.until_text("writing").await;
    terminal.type_keys("\u{1b}");
    terminal.until_text("Stopped.").await;
    terminal.until_text("ready").await;
    assert!(terminal.shown().contains("Half an answer"), "{}", terminal.shown());
}

#[tokio::test]
async fn a_key_after_a_resize_is_shown_without_waiting_for_the_next_key() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &[], &mock.origin(), (80, 24));
    terminal.until_text("ready").await;
    let mut typed = String::new();
    for (letter, columns) in [('a', 100), ('b', 60), ('c', 90), ('d', 80)] {
        terminal.resize(columns, 24);
        // The size is reported first.
        terminal.until_text(&"─".repeat(usize::from(columns))).await;
        terminal.type_keys(&letter.to_string());
        typed.push(letter);
        terminal.until_text(&format!("› {typed}")).await;
    }
}

#[tokio::test]
async fn a_second_terminal_follows_and_says_who_writes() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("One.").then("Two.")).await.unwrap();
    let args = ["--session-id", "agent:dev/session:main"];
    let mut first = Terminal::start(&home, &args, &mock.origin(), (100, 30));
    first.type_keys("one\r");
    first.until_text("One.").await;
    let args = ["-r", "agent:dev/session:main"];
    let mut second = Terminal::start(&home, &args, &mock.origin(), (100, 30));
    second.until_text("read-only, written by pid").await;
    second.until_text("One.").await;
    first.type_keys("two\r");
    second.until_text("Two.").await;
}

#[tokio::test]
async fn ctrl_b_moves_a_command_to_the_background_and_then_shows_it() {
    let home = Home::new();
    let command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo over";
    let mock = MockServer::start(
        Scenario::reply(Reply::new().tool("Bash", json!({ "command": command })))
            .then("It runs in the background."),
    )
    .await
    .unwrap();
    let mut terminal = Terminal::start(&home, &["run it"], &mock.origin(), (100, 30));
    terminal.until_text("? Wants to run").await;
    terminal.until_answerable().await;
    terminal.type_keys("y");
    terminal.until_text("begun").await;
    // After a while the status line says which key it is.
    terminal.until_text("Ctrl+B background").await;
    terminal.type_keys("\u{2}");
    terminal.until_text("✓ In the background as bash_1: echo begun").await;
    terminal.until_text("It runs in the background.").await;
    terminal.until_text("1 in background").await;
    terminal.until_text("ready").await;
    let sent = mock.call(2).await.json.to_string();
    assert!(sent.contains("continues as bash_1"), "{sent}");

    terminal.type_keys("\u{2}");
    terminal.until_page("▸ echo begun").await;
    terminal.type_keys("\r");
    // The page of the tasks shows the words of the command too, but not as lines.
    let line = |shown: &str, text: &str| shown.lines().any(|line| line == text);
    terminal.until(|_, shown| shown.contains("Esc back") && line(shown, "begun")).await;
    std::fs::write(home.path("project/go"), "").unwrap();
    terminal.until(|_, shown| shown.contains("Esc back") && line(shown, "over")).await;
}

#[tokio::test]
async fn a_shell_command_shows_its_output_and_esc_ends_it() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("I saw it.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &[], &mock.origin(), (80, 24));
    terminal.until_text("ready").await;
    terminal.type_keys("!echo begun; sleep 600\r");
    terminal.until_text("• Running echo begun; sleep 600").await;
    terminal.until_text("  begun").await;
    terminal.type_keys("what was it?\r");
    terminal.until_text("queued what was it?").await;
    terminal.type_keys("\u{1b}");
    terminal.until_text("[ended: interrupted]").await;
    terminal.until_text("I saw it.").await;
    let sent = mock.call(1).await.json.to_string();
    assert!(sent.contains("<bash-input>echo begun; sleep 600"), "{sent}");
}
