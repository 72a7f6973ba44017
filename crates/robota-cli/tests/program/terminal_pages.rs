//! The pages and commands of the terminal program, with a real session, at three sizes.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::json;

use crate::home::Home;
use crate::pty::{Start, Terminal};

/// The pages: a name, the keys that open it, and a text by which it is complete.
const PAGES: &[(&str, &str, &str)] = &[
    ("keys", "?", "closes"),
    ("palette", "\u{10}cost", "Commands  1/1\n› cost\n"),
    ("models", "/model\rsonnet-4-5", "Models  1/1\n› sonnet-4-5\n"),
    ("sessions", "/resume\r", "now"),
    ("transcript", "\u{14}", "of"),
    ("context", "/context\r", "free"),
    ("permissions", "/permissions\r", "Edit("),
    ("background", "\u{2}", "nothing here"),
    ("rewind", "/rewind\r", "1 file changed"),
    ("agents", "/agents\rreviewer", "Agents  1/1\n› reviewer\n"),
    ("hooks", "/hooks\r", "PostToolUse"),
    ("changes", "/diff\r", "+1 -1"),
    ("memory", "/memory\r", "Memory  1/1"),
    ("todos", "/todos\r", "Greet in Chinese"),
    ("cost", "/cost\r", "calls"),
    ("export", "/export\r", "began"),
    ("reset", "/reset\r", "leave everything unchanged"),
];

/// What Enter shows of the first entry of a page, and a text of it.
const DETAILS: &[(&str, &str, &str)] = &[
    ("agents", "agent", "Read only what was changed."),
    ("hooks", "hook", "Time limit"),
    ("changes", "change", "你好"),
    ("memory", "memory_file", "Greet people politely."),
];

/// Commands that print, and a text of what they print.
const COMMANDS: &[(&str, &str)] = &[
    ("/mode", "Permission mode"),
    ("/mcp", "MCP"),
    ("/skills", "kill"),
    ("/rename greeting", "greeting"),
    ("/help", "/compact"),
    ("/agent list", "gent"),
    ("/background list", "ackground"),
    ("/mode plan", "plan"),
    ("/language English", "English"),
];

/// A home whose paths have the same length everywhere.
struct Demo(Home);

impl Demo {
    fn new() -> Self {
        let home = Home::in_folder("/tmp");
        home.write("home/demo/app.py", "def greet(name):\n    return \"Hello, \" + name\n");
        home.write("home/demo/AGENTS.md", "Greet people politely.\n");
        let agent = "---\nname: reviewer\ndescription: Reviews changes\ntools: Read, Grep\n---\n\
                     Read only what was changed.\n";
        home.write("home/.claude/agents/reviewer.md", agent);
        let hook = r#"{"hooks": {"PostToolUse": [{"matcher": "Edit",
            "hooks": [{"type": "command", "command": "true"}]}]}}"#;
        home.write("home/.claude/settings.json", hook);
        Self(home)
    }

    /// Returns a screen without what differs between two runs.
    fn stable(&self, shown: &str) -> String {
        let folder = self.0.path("").display().to_string();
        let shown = shown.replace(folder.trim_end_matches('/'), "/tmp/.tmp000000");
        let lines = shown.trim_end().lines().map(|line| without_times(&without_ids(line)));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Replaces ids of sessions.
fn without_ids(line: &str) -> String {
    let id = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let words = line.split(' ').map(|word| if id(word) { "SESSION" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Removes how long a call took.
fn without_times(line: &str) -> String {
    let timed = line.strip_suffix('s').and_then(|rest| rest.rsplit_once(' '));
    match timed {
        Some((rest, time)) if time.contains('.') && time.parse::<f64>().is_ok() => {
            rest.trim_end().to_owned()
        }
        _ => line.to_owned(),
    }
}

/// Starts a session with a conversation that edited a file.
async fn with_conversation(demo: &Demo, (columns, rows): (u16, u16)) -> (Terminal, MockServer) {
    let edit = json!({"file_path": "app.py", "old_string": "\"Hello, \" + name",
        "new_string": "f\"你好, {name}!\""});
    let todos = json!({"todos": [
        {"content": "Read the greeting", "status": "completed", "activeForm": "Reading"},
        {"content": "Greet in Chinese", "status": "in_progress", "activeForm": "Greeting"},
    ]});
    let answers = Scenario::reply(Reply::new().tool("Read", json!({"file_path": "app.py"})))
        .then(Reply::new().tool("TodoWrite", todos))
        .then(Reply::new().tool("Edit", edit))
        .then("`greet` speaks **Chinese** now.\n\n- one file changed\n- 👩‍👩‍👧 greeted");
    let mock = MockServer::start(answers).await.unwrap();
    let mut terminal = Start::robota(&demo.0, &["--model", "mock-model"])
        .model(&mock.origin())
        .folder(demo.0.path("home/demo"))
        .size(columns, rows)
        .start();
    terminal.until_text("ready").await;
    terminal.type_keys("greet in Chinese\r");
    terminal.until_text("Wants to edit app.py").await;
    terminal.until_answerable().await;
    // "Always" needs the whole change to have been seen; a small terminal shows a part of it.
    while terminal.shown().contains("more changed") {
        let before = terminal.shown();
        terminal.type_keys("\u{1b}[6~");
        terminal.until(|_, shown| shown != before).await;
    }
    terminal.type_keys("a");
    terminal.until_text("greeted").await;
    terminal.until_text("ready").await;
    (terminal, mock)
}

async fn pages(size: (u16, u16)) {
    let demo = Demo::new();
    let (mut terminal, _mock) = with_conversation(&demo, size).await;
    let name = |name: &str| format!("{name}_{}x{}", size.0, size.1);
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "0000-00-00 00:00:00Z");
    let _settings = settings.bind_to_scope();
    insta::assert_snapshot!(name("conversation"), demo.stable(&terminal.shown()));
    for (page, keys, complete) in PAGES {
        terminal.type_keys(keys);
        terminal.until_page(complete).await;
        insta::assert_snapshot!(name(page), demo.stable(&terminal.shown()));
        if let Some((_, details, text)) = DETAILS.iter().find(|(list, ..)| list == page) {
            terminal.type_keys("\r");
            terminal.until_page(text).await;
            insta::assert_snapshot!(name(details), demo.stable(&terminal.shown()));
        }
        while terminal.on_page() {
            terminal.back().await;
        }
    }
    // The preview of a rewind.
    terminal.type_keys("/rewind\r");
    terminal.until_page("1 file changed").await;
    terminal.type_keys("\r");
    terminal.until_page("Files: 1 differs").await;
    insta::assert_snapshot!(name("rewind_preview"), demo.stable(&terminal.shown()));
    terminal.type_keys("\u{1b}");
    terminal.until_page("1 file changed").await;
    terminal.close_page().await;
    // The checks depend on the machine.
    terminal.type_keys("/doctor\r");
    terminal.until_page("ok    settings").await;
    terminal.close_page().await;
    terminal.until_text("ready").await;
}

#[tokio::test]
async fn cli_01_pages_at_80x24() {
    pages((80, 24)).await;
}

#[tokio::test]
async fn cli_01_pages_at_120x40() {
    pages((120, 40)).await;
}

#[tokio::test]
async fn cli_01_pages_at_40x15() {
    pages((40, 15)).await;
}

/// Enters commands that print. The rows are many, so that all of it is on the screen.
async fn commands(columns: u16) {
    let demo = Demo::new();
    let rows = if columns < 80 { 200 } else { 80 };
    let (mut terminal, _mock) = with_conversation(&demo, (columns, rows)).await;
    for (command, printed) in COMMANDS {
        // Only the output of this command is on the screen.
        terminal.type_keys("\u{c}");
        terminal.until_text("ready").await;
        terminal.type_keys(&format!("{command}\r"));
        let sent = format!("› {command}");
        terminal
            .until(|_, shown| {
                let after = shown.split_once(&sent).map_or("", |(_, after)| after);
                after.contains(printed) && after.contains("ready")
            })
            .await;
        let shown = terminal.shown();
        let output = shown.split_once(&sent).map_or("", |(_, after)| after);
        let output = output.split("────").next().unwrap_or_default();
        let name = command.trim_start_matches('/').replace(' ', "_");
        insta::assert_snapshot!(format!("command_{name}_{columns}"), demo.stable(output));
    }
    // What cannot be executed is in the composer again, to be corrected.
    terminal.type_keys("/unknown\r");
    terminal.until_text("✗ there is no command or skill").await;
    terminal.until_text("› /unknown").await;
}

#[tokio::test]
async fn cli_01_commands_print_below_the_conversation_at_80() {
    commands(80).await;
}

#[tokio::test]
async fn cli_01_commands_print_below_the_conversation_at_120() {
    commands(120).await;
}

#[tokio::test]
async fn cli_01_commands_print_below_the_conversation_at_40() {
    commands(40).await;
}

#[tokio::test]
async fn a_rewind_restores_the_file_and_the_conversation() {
    let demo = Demo::new();
    let file = demo.0.path("home/demo/app.py");
    let (mut terminal, _mock) = with_conversation(&demo, (80, 24)).await;
    assert!(std::fs::read_to_string(&file).unwrap().contains("你好"));
    terminal.type_keys("\u{1b}");
    terminal.until_text("press Esc again to go back").await;
    terminal.type_keys("\u{1b}");
    terminal.until_page("1 file changed").await;
    terminal.type_keys("\r");
    terminal.until_page("Files: 1 differs").await;
    terminal.type_keys("b");
    terminal.until(|screen, shown| !screen.alternate_screen() && shown.contains("/rewind")).await;
    terminal.until(|_, shown| shown.contains("estored") || shown.contains("Went back")).await;
    assert!(!std::fs::read_to_string(&file).unwrap().contains("你好"));
}

#[tokio::test]
async fn a_resize_in_mid_stream_keeps_every_paragraph_once() {
    let demo = Demo::new();
    let mut reply = Reply::new();
    for number in 1..=60 {
        reply = reply.text(format!("Paragraph {number} of the answer, with some more words.\n\n"));
    }
    let mock = MockServer::start(Scenario::reply(reply.text("The end."))).await.unwrap();
    let mut terminal = Start::robota(&demo.0, &["count for me"])
        .model(&mock.origin())
        // Such a terminal cuts rows, as the parser of this test does.
        .var("XTERM_VERSION", "XTerm(390)")
        .folder(demo.0.path("home/demo"))
        .size(100, 200)
        .start();
    for (columns, seen) in [(60, "Paragraph 3 "), (100, "Paragraph 9 "), (70, "Paragraph 20 ")] {
        terminal.until_text(seen).await;
        terminal.resize(columns, 200);
    }
    terminal.until_text("The end.").await;
    terminal.until_text("ready").await;
    let shown = terminal.shown();
    for number in 1..=60 {
        let count = shown.matches(&format!("Paragraph {number} of")).count();
        assert_eq!(count, 1, "paragraph {number}:\n{shown}");
    }
    assert_eq!(shown.matches("› count for me").count(), 1, "{shown}");
}

#[tokio::test]
async fn a_paste_of_5000_lines_is_one_placeholder_and_arrives_whole() {
    let demo = Demo::new();
    let mock = MockServer::start(Scenario::reply("Read all of it.")).await.unwrap();
    let mut terminal = Start::robota(&demo.0, &[])
        .model(&mock.origin())
        .folder(demo.0.path("home/demo"))
        .size(80, 24)
        .start();
    terminal.until_text("ready").await;
    let lines: Vec<String> = (1..=5_000).map(|number| format!("pasted line {number}")).collect();
    terminal.paste(&lines.join("\n"));
    terminal.until_text("5000 lines").await;
    assert!(!terminal.shown().contains("pasted line"), "{}", terminal.shown());
    terminal.type_keys(" what is this?\r");
    terminal.until_text("Read all of it.").await;
    let sent = mock.received()[0].json.to_string();
    assert!(sent.contains("pasted line 1\\n") && sent.contains("pasted line 5000"));
    assert!(sent.contains("what is this?"));
}

#[tokio::test]
async fn a_word_is_the_first_prompt_and_a_misspelt_command_is_not() {
    let demo = Demo::new();
    let mock = MockServer::start(Scenario::reply("Hello to you.")).await.unwrap();
    let mut terminal = Terminal::start(&demo.0, &["hello"], &mock.origin(), (80, 24));
    terminal.until_text("Hello to you.").await;
    let mut terminal = Terminal::start(&demo.0, &["sesions"], &mock.origin(), (80, 24));
    terminal.until_text("unknown command `sesions`; similar: robota sessions").await;
    assert_eq!(terminal.end().await, Some(2));
}

#[tokio::test]
async fn the_terminal_says_why_a_fallback_model_is_not_used() {
    let demo = Demo::new();
    let hook = r#"{"hooks": {"PreModelSwitch": [{"hooks": [
        {"type": "command", "command": "echo too small >&2; exit 2"}]}]}}"#;
    demo.0.write("home/.robota/settings.json", hook);
    let overloaded = robota_testkit::mock::Failure::status(529, "Overloaded");
    let mock = MockServer::start(Scenario::reply(overloaded).then("Later.")).await.unwrap();
    let args = ["--model", "first", "--fallback-model", "second"];
    let mut terminal = Terminal::start(&demo.0, &args, &mock.origin(), (120, 30));
    terminal.until_text("ready").await;
    terminal.type_keys("hello\r");
    terminal
        .until_text("the fallback model second is not used: PreModelSwitch hook: too small")
        .await;
    terminal.until_text("Later.").await;
}

#[tokio::test]
async fn flags_of_a_run_work_in_the_terminal() {
    let demo = Demo::new();
    let overloaded = robota_testkit::mock::Failure::status(529, "Overloaded");
    let answers = Scenario::reply(overloaded).then("From the second model.").then("More.");
    let mock = MockServer::start(answers).await.unwrap();
    let args = ["--model", "first", "--fallback-model", "second", "--budget", "turns=1", "--debug"];
    let mut terminal = Terminal::start(&demo.0, &args, &mock.origin(), (100, 30));
    terminal.until_text("writing the debug log to").await;
    terminal.until_text("ready").await;
    terminal.type_keys("hello\r");
    terminal.until_text("From the second model.").await;
    terminal.until_text("ready").await;
    assert_eq!(mock.received().last().unwrap().json["model"], "second");
    terminal.type_keys("again\r");
    terminal.until(|_, shown| shown.to_lowercase().contains("budget")).await;
    assert_eq!(mock.received().len(), 2, "no request after the budget is used up");
    let log = demo.0.path("project/.robota/logs/debug.log");
    assert!(std::fs::metadata(log).unwrap().len() > 0);
}
