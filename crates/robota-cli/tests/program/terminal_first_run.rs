//! The first start: trust in the folder, and a provider.

use robota_testkit::mock::{MockServer, Reply, Scenario};

use crate::home::Home;
use crate::pty::{KEY, Start, Terminal};

/// Creates a folder whose settings run a command before each tool call.
fn untrusted() -> Home {
    let home = Home::new();
    let hook = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command",
        "command": "touch hook-ran"}]}]}}"#;
    home.write("project/.claude/settings.json", hook);
    home
}

#[tokio::test]
async fn cli_02_settings_that_run_commands_wait_for_trust() {
    let home = untrusted();
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &[], &mock.origin(), (80, 24));
    terminal.until_text("touch hook-ran").await;
    assert!(!home.path("project/hook-ran").exists());
    answer(&mut terminal, "t").await;
    terminal.until_text("ready").await;
    terminal.type_keys("hi\r");
    terminal.until_text("Hello.").await;
    assert!(home.path("project/hook-ran").exists(), "the hook of the folder runs");

    // Trust lasts.
    let mock = MockServer::start(Scenario::reply("Again.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &["hi again"], &mock.origin(), (80, 24));
    terminal.until_text("Again.").await;
}

/// Answers the question of trust when it takes keys: then the keys have the colour of keys.
async fn answer(terminal: &mut Terminal, key: &str) {
    let accent = vt100::Color::Idx(75);
    terminal
        .until(|screen, shown| {
            let row = shown.lines().position(|line| line.contains("  t trust them"));
            let row = row.and_then(|row| u16::try_from(row).ok());
            let cell = row.and_then(|row| screen.cell(row, 2));
            cell.is_some_and(|cell| cell.fgcolor() == accent)
        })
        .await;
    terminal.type_keys(key);
}

#[tokio::test]
async fn cli_02_only_what_the_question_showed_is_trusted() {
    let home = untrusted();
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &[], &mock.origin(), (80, 24));
    terminal.until_text("touch hook-ran").await;
    // The file changes while the user reads the question.
    let hook = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command",
        "command": "touch other-hook-ran"}]}]}}"#;
    home.write("project/.claude/settings.json", hook);
    answer(&mut terminal, "t").await;
    terminal.until_text("ready").await;
    terminal.type_keys("hi\r");
    terminal.until_text("Hello.").await;
    assert!(!home.path("project/hook-ran").exists());
    assert!(!home.path("project/other-hook-ran").exists(), "the user has not seen this command");
}

#[tokio::test]
async fn cli_02_without_trust_the_session_runs_without_these_settings() {
    let home = untrusted();
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let mut terminal = Terminal::start(&home, &[], &mock.origin(), (80, 24));
    terminal.until_text("touch hook-ran").await;
    answer(&mut terminal, "c").await;
    terminal.until_text("ready").await;
    terminal.type_keys("hi\r");
    terminal.until_text("Hello.").await;
    assert!(!home.path("project/hook-ran").exists());
}

#[tokio::test]
async fn cli_02_the_first_start_sets_up_a_provider_and_continues() {
    let home = Home::new();
    let scenario = Scenario::reply(Reply::new().text("ready")).then("The first answer.");
    let mock = MockServer::start(scenario).await.unwrap();
    let mut terminal = Start::robota(&home, &[]).size(100, 40).start();
    // What is typed meanwhile is kept.
    terminal.until_text("Set one up now?").await;
    terminal.type_keys("y\n");
    terminal.until_text("Provider (number or name)").await;
    terminal.type_keys("custom\n");
    terminal.until_text("Address of the server").await;
    terminal.type_keys(&format!("{}/v1\n", mock.origin()));
    terminal.until(|_, shown| shown.contains("API key") || shown.contains("Model")).await;
    if terminal.shown().contains("API key") {
        terminal.type_keys(&format!("{KEY}\n"));
        terminal.until_text("Model").await;
    }
    terminal.type_keys("mock-model\n");
    terminal.until_text("answered in").await;
    terminal.until_text("ready · ").await;
    assert!(!terminal.shown().contains(KEY), "{}", terminal.shown());
    terminal.type_keys("hello\r");
    terminal.until_text("The first answer.").await;
}

#[tokio::test]
async fn cli_02_a_prompt_without_a_provider_sets_one_up_and_is_answered() {
    let home = Home::new();
    let scenario = Scenario::reply(Reply::new().text("ready")).then("The first answer.");
    let mock = MockServer::start(scenario).await.unwrap();
    let mut terminal = Start::robota(&home, &["-p", "hello"]).size(100, 40).start();
    terminal.until_text("Set one up now?").await;
    terminal.type_keys("y\n");
    terminal.until_text("Provider (number or name)").await;
    terminal.type_keys("custom\n");
    terminal.until_text("Address of the server").await;
    terminal.type_keys(&format!("{}/v1\n", mock.origin()));
    terminal.until_text("API key, if the server asks for one").await;
    terminal.type_keys("\n");
    terminal.until_text("Model:").await;
    terminal.type_keys("mock-model\n");
    terminal.until_text("The first answer.").await;
    assert_eq!(terminal.end().await, Some(0));
}

#[tokio::test]
async fn cli_02_the_set_up_can_be_skipped() {
    let home = Home::new();
    let mut terminal = Start::robota(&home, &[]).size(100, 40).start();
    terminal.until_text("Set one up now?").await;
    terminal.type_keys("n\n");
    terminal.until_text("no session").await;
    let shown = terminal.shown();
    assert!(shown.contains("robota setup"), "it says what to do:\n{shown}");
    terminal.type_keys("\u{3}");
    terminal.until_text("again to quit").await;
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.end().await, Some(3));
    terminal.until_restored().await;
}
