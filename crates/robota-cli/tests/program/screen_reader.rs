//! The terminal for screen readers: the real program on a terminal, by plain lines.

use std::process::Stdio;
use std::time::Duration;

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::home::Home;

/// How long a step may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The program on a terminal that `script` makes.
struct Lined {
    child: Child,
    keys: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    seen: Vec<String>,
}

impl Lined {
    fn start(home: &Home, args: &[&str], origin: &str) -> Self {
        Self::start_on("xterm-256color", home, args, origin)
    }

    fn start_on(terminal: &str, home: &Home, args: &[&str], origin: &str) -> Self {
        let robota = home.command(args);
        let mut line = robota.get_program().to_str().unwrap().to_owned();
        for argument in robota.get_args() {
            line.push_str(&format!(" '{}'", argument.to_str().unwrap()));
        }
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]).env_clear();
        command
            .current_dir(home.path("project"))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path("home"))
            .env("TERM", terminal)
            .env("ANTHROPIC_BASE_URL", origin)
            .env("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let keys = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, keys, lines, seen: Vec::new() }
    }

    /// Waits for a line that contains the text.
    async fn until(&mut self, text: &str) {
        let waiting = async {
            loop {
                let line = self.lines.next_line().await.unwrap();
                let Some(line) = line else { panic!("no `{text}` in {:#?}", self.seen) };
                let found = line.contains(text);
                self.seen.push(line);
                if found {
                    return;
                }
            }
        };
        let waited = tokio::time::timeout(LIMIT, waiting).await;
        assert!(waited.is_ok(), "no `{text}` in {:#?}", self.seen);
    }

    async fn enter(&mut self, line: &str) {
        self.keys.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_for_a_screen_reader_is_lines_only() {
    let home = Home::new();
    let write = json!({"file_path": "notes.txt", "content": "first\n"});
    let mock = MockServer::start(
        Scenario::reply("Hello **there**.")
            .then(Reply::new().tool("Write", write))
            .then("Done it."),
    )
    .await
    .unwrap();
    let mut program = Lined::start(&home, &["--screen-reader"], &mock.origin());
    program.until("Ready in").await;
    program.enter("hello").await;
    program.until("Hello there.").await;
    program.until("Ready.").await;
    program.enter("write notes").await;
    program.until("Question: Wants to write notes.txt").await;
    program.until("Adds line 1: first").await;
    program.until("1. Yes, once").await;
    program.until("Type a number").await;
    assert!(!home.path("project/notes.txt").exists(), "nothing happens before the answer");
    program.enter("1").await;
    program.until("Wrote notes.txt").await;
    program.until("Done it.").await;
    program.until("Ready.").await;
    assert_eq!(std::fs::read_to_string(home.path("project/notes.txt")).unwrap(), "first\n");
    program.enter("/exit").await;
    program.until("robota -r ").await;
    let status = tokio::time::timeout(LIMIT, program.child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    let all = program.seen.join("\n");
    assert!(!all.contains('\u{1b}'), "no escape sequence: {all:?}");
    assert_eq!(all.matches("Hello there.").count(), 1, "every line is written once: {all}");
}

#[tokio::test]
async fn the_setting_asks_for_plain_lines_too() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.robota")).unwrap();
    std::fs::write(home.path("home/.robota/settings.json"), "{\"screenReader\": true}").unwrap();
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let mut program = Lined::start(&home, &[], &mock.origin());
    program.until("Ready in").await;
    assert!(!program.seen.concat().contains('\u{1b}'), "{:?}", program.seen);
}

#[tokio::test]
async fn a_dumb_terminal_gets_plain_lines() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let mut program = Lined::start_on("dumb", &home, &[], &mock.origin());
    program.until("Ready in").await;
    program.enter("hello").await;
    program.until("Hello.").await;
    assert!(!program.seen.concat().contains('\u{1b}'), "{:?}", program.seen);
}

#[tokio::test]
async fn a_plan_is_approved_and_carried_out_without_more_questions_about_edits() {
    let home = Home::new();
    let plan = json!({"plan": "# Steps\n\n1. Write the notes\n"});
    let write = json!({"file_path": "notes.txt", "content": "planned\n"});
    let mock = MockServer::start(
        Scenario::reply(Reply::new().tool("ExitPlanMode", plan))
            .then(Reply::new().tool("Write", write))
            .then("Done it."),
    )
    .await
    .unwrap();
    let args = ["--screen-reader", "--permission-mode", "plan"];
    let mut program = Lined::start(&home, &args, &mock.origin());
    program.until("Ready in").await;
    program.enter("plan the notes").await;
    program.until("1. Write the notes").await;
    program.until("Question: Wants to carry out the plan").await;
    program.until("2. Approve, accept edits").await;
    program.until("Type a number").await;
    program.enter("2").await;
    program.until("Approved the plan").await;
    program.until("Wrote notes.txt").await;
    program.until("Done it.").await;
    assert_eq!(std::fs::read_to_string(home.path("project/notes.txt")).unwrap(), "planned\n");
}

#[tokio::test]
async fn the_status_line_command_gets_the_session_and_its_failure_is_reported_once() {
    let home = Home::new();
    let command = "grep -q '\"session_id\":\"agent:dev/session:status\"' && exit 3; exit 4";
    let settings = json!({"statusLine": {"type": "command", "command": command}});
    home.write("home/.robota/settings.json", settings);
    let mock = MockServer::start(Scenario::reply("Hello.")).await.unwrap();
    let args = ["--screen-reader", "--session-id", "agent:dev/session:status"];
    let mut program = Lined::start(&home, &args, &mock.origin());
    program.until("the status line command failed: exit code 3").await;
    program.enter("hello").await;
    program.until("Hello.").await;
    program.until("Ready.").await;
    program.enter("/exit").await;
    program.until("robota -r ").await;
    let all = program.seen.join("\n");
    assert_eq!(all.matches("status line command failed").count(), 1, "{all}");
}

#[tokio::test]
async fn a_question_of_an_agent_has_its_name() {
    let home = Home::new();
    let task =
        json!({"prompt": "Run it.", "subagent_type": "general-purpose", "description": "run"});
    let run = json!({"command": "touch made.txt"});
    let mock = MockServer::start(
        Scenario::reply(Reply::new().tool("Agent", task))
            .then(Reply::new().tool("Bash", run))
            .then("It ran.")
            .then("All done."),
    )
    .await
    .unwrap();
    let mut program = Lined::start(&home, &["--screen-reader"], &mock.origin());
    program.until("Ready in").await;
    program.enter("give it to an agent").await;
    program.until("Question: general-purpose").await;
    assert!(
        program.seen.last().unwrap().contains("Wants to run touch made.txt"),
        "{:?}",
        program.seen
    );
    program.until("Type a number").await;
    program.enter("1").await;
    program.until("All done.").await;
    assert!(home.path("project/made.txt").exists());
}
