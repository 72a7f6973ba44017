//! What users do on the pages of the terminal program, with a real session and real keys.

use robota_testkit::mock::{MockServer, Reply, Scenario, Stall, Step};
use serde_json::json;

use crate::home::Home;
use crate::pty::{KEY, Start, Terminal};

const CONTROL_A: &str = "\u{1}";
const CONTROL_B: &str = "\u{2}";
const CONTROL_E: &str = "\u{5}";
const CONTROL_F: &str = "\u{6}";
const CONTROL_N: &str = "\u{e}";
const CONTROL_O: &str = "\u{f}";
const CONTROL_S: &str = "\u{13}";
const CONTROL_T: &str = "\u{14}";
const CONTROL_V: &str = "\u{16}";
const CONTROL_X: &str = "\u{18}";
const ESC: &str = "\u{1b}";
/// As terminals that report such keys send it.
const CONTROL_ENTER: &str = "\u{1b}[13;5u";
const DOWN: &str = "\u{1b}[B";
const ALT_UP: &str = "\u{1b}[1;3A";

async fn server(scenario: Scenario) -> MockServer {
    MockServer::start(scenario).await.unwrap()
}

fn start(home: &Home, mock: &MockServer) -> Terminal {
    Terminal::start(home, &["--model", "mock-model"], &mock.origin(), (100, 30))
}

/// Enters a prompt and waits for the end of its turn.
async fn ask(terminal: &mut Terminal, prompt: &str, answer: &str) {
    terminal.until_text("ready").await;
    terminal.type_keys(&format!("{prompt}\r"));
    terminal.until(|_, shown| shown.contains(answer) && shown.contains("ready")).await;
}

#[tokio::test]
async fn cli_01_the_session_picker_searches_shows_renames_resumes_and_forks() {
    let home = Home::new();
    let mock = server(Scenario::reply("Whales are mammals.")).await;
    let origin = mock.origin();
    let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &*origin)];
    let words = ["-p", "tell me about whales", "--model", "mock-model"];
    home.robota(&words, &variables).await;
    let mock = server(
        Scenario::reply("Owls fly at night.").then("Also about whales.").then("In the fork."),
    )
    .await;
    let mut terminal = start(&home, &mock);
    ask(&mut terminal, "tell me about owls", "Owls fly").await;

    terminal.type_keys("/resume\r");
    terminal.until_page("1/2").await;
    terminal.type_keys("whal");
    terminal.until_page("1/1").await;
    assert!(!terminal.shown().contains("owls"), "{}", terminal.shown());
    // The preview, and back to the list.
    terminal.type_keys(CONTROL_V);
    terminal.until_page("Whales are mammals.").await;
    terminal.type_keys(ESC);
    terminal.until_page("Sessions  1/1").await;
    terminal.type_keys(CONTROL_N);
    terminal.until_page("new name:").await;
    terminal.type_keys("the whale talk\r");
    terminal.until(|_, shown| shown.contains("▸ the whale talk")).await;
    terminal.type_keys("\r");
    terminal.until_text("Whales are mammals.").await;
    ask(&mut terminal, "and owls?", "Also about whales.").await;
    let sent = mock.received().last().unwrap().json.to_string();
    assert!(sent.contains("tell me about whales"), "the conversation continues: {sent}");
    assert!(!sent.contains("tell me about owls"), "{sent}");

    // A fork leaves the session as it is. The prompt is typed before the fork is open.
    terminal.type_keys("/resume\r");
    terminal.until_page("1/2").await;
    terminal.type_keys("owls");
    terminal.until_page("1/1").await;
    terminal.type_keys(CONTROL_F);
    ask(&mut terminal, "more", "In the fork.").await;
    let sent = mock.received().last().unwrap().json.to_string();
    assert!(sent.contains("tell me about owls"), "{sent}");
    terminal.type_keys("/resume\r");
    terminal.until_page("1/3").await;
    terminal.until_page(", fork").await;
}

#[tokio::test]
async fn cli_01_background_tasks_are_shown_with_their_log_and_ended() {
    let home = Home::new();
    let command = "for n in 1 2 3; do echo tick $n; done; read answer; echo got $answer; read more";
    let call = json!({"command": command, "run_in_background": true});
    let mock = server(Scenario::reply(Reply::new().tool("Bash", call)).then("It runs.")).await;
    let mut terminal = start(&home, &mock);
    terminal.until_text("ready").await;
    terminal.type_keys("start the clock\r");
    terminal.until_answerable().await;
    terminal.type_keys("y");
    terminal.until_text("It runs.").await;
    terminal.until_text("1 in background").await;
    terminal.type_keys(CONTROL_B);
    terminal.until_page("running").await;
    terminal.type_keys("\r");
    terminal.until_page("tick 3").await;
    // The log grows while it is shown.
    terminal.type_keys(ESC);
    terminal.until_page("Background tasks  1/1").await;
    terminal.type_keys(CONTROL_S);
    terminal.until_page("send:").await;
    terminal.type_keys("hello there\r");
    terminal.until_page("Enter shows the log").await;
    terminal.type_keys("\r");
    terminal.until_page("got hello there").await;
    terminal.type_keys(ESC);
    terminal.until_page("Background tasks  1/1").await;
    // The first Ctrl+X asks, and any other key is a no.
    terminal.type_keys(CONTROL_X);
    terminal.until_page("Ctrl+X again ends it").await;
    terminal.type_keys(DOWN);
    terminal.until_page("Enter shows the log").await;
    terminal.type_keys(CONTROL_X);
    terminal.until_page("Ctrl+X again ends it").await;
    terminal.type_keys(CONTROL_X);
    terminal.until_page("cancelled").await;
    terminal.close_page().await;
}

#[tokio::test]
async fn files_of_pages_are_opened_in_the_editor() {
    let home = Home::new();
    home.write("project/AGENTS.md", "Use tabs.\n");
    home.write("edit.sh", "#!/bin/sh\necho 'Use spaces.' >\"$1\"\n");
    let editor = home.path("edit.sh");
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mock = server(Scenario::reply("Nothing.")).await;
    let mut terminal = Start::robota(&home, &["--model", "mock-model"])
        .model(&mock.origin())
        .var("EDITOR", &editor.display().to_string())
        .size(100, 30)
        .start();
    terminal.until_text("ready").await;
    terminal.type_keys("/memory\r");
    terminal.until_page("AGENTS.md").await;
    terminal.type_keys("\r");
    terminal.until_page("Use tabs.").await;
    terminal.type_keys(CONTROL_E);
    terminal.until_page("Use spaces.").await;
    terminal.type_keys(ESC);
    terminal.until_page("Memory  1/1").await;
}

#[tokio::test]
async fn rules_are_added_and_removed_on_their_page() {
    let home = Home::new();
    let mock = server(
        Scenario::reply(Reply::new().tool("Bash", json!({"command": "make y"})))
            .then("Not allowed."),
    )
    .await;
    let mut terminal = start(&home, &mock);
    terminal.until_text("ready").await;
    terminal.type_keys("/permissions\r");
    terminal.until_page("Ctrl+A adds").await;
    terminal.type_keys(CONTROL_A);
    terminal.until_page("new allow rule:").await;
    terminal.type_keys("Bash(make *)\t\t");
    terminal.until_page("new deny rule: Bash(make *)").await;
    terminal.type_keys("\r");
    terminal.until_page("it applies now").await;
    let file = home.path("project/.robota/settings.local.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"deny\"") && text.contains("Bash(make *)"), "{text}");
    terminal.close_page().await;
    // It applies to the next call already.
    ask(&mut terminal, "run make", "Not allowed.").await;
    assert!(terminal.shown().contains("✗ Refused make y"), "{}", terminal.shown());

    // A rule that is not valid is refused, and nothing is written.
    terminal.type_keys("/permissions\r");
    terminal.until_page("deny  Bash(make *)").await;
    terminal.type_keys(&format!("{CONTROL_A}Bash(ls\r"));
    terminal.until_page("failed:").await;
    assert!(!std::fs::read_to_string(&file).unwrap().contains("Bash(ls"));
    terminal.type_keys("make");
    terminal.until_page("1/1").await;
    terminal.type_keys(CONTROL_X);
    terminal.until_page("removed Bash(make *)").await;
    assert!(!std::fs::read_to_string(&file).unwrap().contains("Bash(make *)"));
}

#[tokio::test]
async fn the_model_is_chosen_with_its_price_and_used_in_the_next_turn() {
    let home = Home::new();
    let mock = server(Scenario::reply("First.").then("Second.")).await;
    let mut terminal = start(&home, &mock);
    ask(&mut terminal, "one", "First.").await;
    terminal.type_keys("\u{1b}p");
    terminal.until_page("now: mock-model").await;
    terminal.type_keys("anthropic/claude-sonnet-4-5");
    terminal.until(|_, shown| shown.contains("1/1") && shown.contains("per million")).await;
    terminal.type_keys("\r");
    terminal.until_text("Model: claude-sonnet-4-5").await;
    ask(&mut terminal, "two", "Second.").await;
    let received = mock.received();
    assert_eq!(received[0].model(), "mock-model");
    assert!(received[1].model().starts_with("claude-sonnet-4-5"), "{}", received[1].model());
}

#[tokio::test]
async fn the_transcript_is_searched_folded_copied_and_jumps_between_prompts() {
    let home = Home::new();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    home.write("project/long.txt", lines);
    let mock = server(
        Scenario::reply(Reply::new().tool("Read", json!({"file_path": "long.txt"})))
            .then("It has **forty** lines.\n\n- first\n- last")
            .then("A second answer."),
    )
    .await;
    let mut terminal = start(&home, &mock);
    ask(&mut terminal, "count the lines", "forty lines").await;
    ask(&mut terminal, "anything else?", "A second answer.").await;
    terminal.type_keys(CONTROL_T);
    terminal.until_page("A second answer.").await;
    // All output is there, and can be folded.
    terminal.type_keys("/LINE 17\r");
    terminal.until_page("line 17").await;
    terminal.type_keys(CONTROL_O);
    terminal
        .until(|_, shown| !shown.contains("line 17") && shown.contains("✓ Read long.txt"))
        .await;
    terminal.type_keys("o");
    terminal.until_page("line 17").await;
    terminal.type_keys("G");
    terminal.until_page("A second answer.").await;
    terminal.type_keys("[");
    terminal.type_keys("[");
    terminal.until(|_, shown| shown.starts_with("› count the lines")).await;
    terminal.type_keys("]");
    terminal.until_page("› anything else?").await;
    terminal.type_keys("c");
    terminal.until_page("sent to the clipboard").await;
    terminal.type_keys("q");
    terminal.until(|screen, _| !screen.alternate_screen()).await;
}

#[tokio::test]
async fn waiting_prompts_are_moved_edited_and_cancelled() {
    let home = Home::new();
    let stalled = Reply::new().text("Working").step(Step::Stall(Stall::Forever));
    let mock = server(Scenario::reply(stalled)).await;
    let mut terminal = start(&home, &mock);
    terminal.until_text("ready").await;
    terminal.type_keys("begin\r");
    terminal.until_text("Working").await;
    terminal.type_keys("prompt A\r");
    terminal.until_text("queued prompt A").await;
    terminal.type_keys("prompt B\r");
    terminal.until_text("queued prompt B").await;
    terminal.type_keys(ALT_UP);
    terminal
        .until(|_, shown| {
            let at = |text: &str| shown.find(text).unwrap_or(usize::MAX);
            at("queued prompt B") < at("queued prompt A")
        })
        .await;
    // ↑ takes the last one back to be edited.
    terminal.type_keys("\u{1b}[A");
    terminal.until_text("› prompt A").await;
    terminal.type_keys(", please\r");
    terminal.until_text("queued prompt A, please").await;
    // Esc stops the turn. What waited is not sent, and not lost.
    terminal.type_keys(ESC);
    terminal.until(|_, shown| !shown.contains("queued") && shown.contains("ready")).await;
    terminal.until_text("› prompt B\n  prompt A, please").await;
    assert_eq!(mock.received().len(), 1);
}

#[tokio::test]
async fn a_prompt_that_is_sent_now_stops_the_turn_and_the_others_keep_waiting() {
    let home = Home::new();
    let stalled = Reply::new().text("Working").step(Step::Stall(Stall::Forever));
    let mock = server(Scenario::reply(stalled).then("About B.").then("About A.")).await;
    let mut terminal = start(&home, &mock);
    terminal.until_text("ready").await;
    terminal.type_keys("begin\r");
    terminal.until_text("Working").await;
    terminal.type_keys("prompt A\r");
    terminal.until_text("queued prompt A").await;
    terminal.type_keys("prompt B");
    terminal.until_text("› prompt B").await;
    terminal.type_keys(CONTROL_ENTER);
    terminal.until_text("About B.").await;
    terminal.until_text("About A.").await;
    terminal.until_text("ready").await;
    let last = mock.call(3).await.json.to_string();
    let at = |text: &str| last.find(text).unwrap_or_else(|| panic!("{text}: {last}"));
    assert!(at("prompt B") < at("prompt A"), "{last}");
}

#[tokio::test]
async fn cli_01_questions_are_answered_with_arrow_keys() {
    let home = Home::new();
    let write =
        |name: &str| Reply::new().tool("Write", json!({"file_path": name, "content": "x\n"}));
    let mock = server(Scenario::reply(write("a.txt")).then(write("b.txt")).then("Done.")).await;
    let mut terminal = start(&home, &mock);
    terminal.until_text("ready").await;
    terminal.type_keys("write them\r");
    terminal.until_text("Wants to write a.txt").await;
    terminal.until_answerable().await;
    // Enter alone is no answer.
    terminal.type_keys("\r");
    terminal.until_text("Enter confirms it").await;
    assert!(!home.path("project/a.txt").exists());
    terminal.type_keys(DOWN);
    terminal.until(|screen, shown| is_selected(screen, shown, "y once")).await;
    terminal.type_keys("\r");
    terminal.until_text("✓ Wrote a.txt").await;
    terminal.until_text("Wants to write b.txt").await;
    terminal.until_answerable().await;
    // y, s, a, e, n
    terminal.type_keys(&DOWN.repeat(5));
    terminal.until(|screen, shown| is_selected(screen, shown, "n no")).await;
    terminal.type_keys("\r");
    terminal.until_text("✗ Refused b.txt").await;
    terminal.until_text("Done.").await;
    assert!(home.path("project/a.txt").exists() && !home.path("project/b.txt").exists());
}

/// Returns whether an answer is marked as the selected one.
fn is_selected(screen: &vt100::Screen, shown: &str, answer: &str) -> bool {
    shown.lines().enumerate().any(|(row, line)| {
        let Some(at) = line.find(answer) else { return false };
        let column = line[..at].chars().count();
        let place = u16::try_from(row).ok().zip(u16::try_from(column).ok());
        let cell = place.and_then(|(row, column)| screen.cell(row, column));
        cell.is_some_and(|cell| cell.bgcolor() != vt100::Color::Default || cell.inverse())
    })
}
