//! The main path in tmux, the terminal that most people have between them and the program.
//!
//! tmux reports each piece of output to its control client. The tests look at the screen then, and
//! never wait for a time.

use std::process::Stdio;
use std::time::Duration;

use robota_testkit::mock::{MockServer, Reply, Scenario, Stall, Step};
use robota_testkit::{Part, requires};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::home::Home;
use crate::pty::KEY;

const LIMIT: Duration = Duration::from_secs(60);

/// A tmux server with one window, in which a program runs.
struct Tmux {
    socket: String,
    _client: Child,
    commands: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
    ended: bool,
}

impl Tmux {
    async fn start(home: &Home, args: &[&str], origin: &str) -> Self {
        let socket = home.path("tmux").display().to_string();
        let mut words = vec!["exec".to_owned(), quoted(env!("CARGO_BIN_EXE_robota"))];
        words.extend(args.iter().map(|word| quoted(word)));
        let mut command = tokio::process::Command::new("tmux");
        command
            .args(["-S", &socket, "-f", "/dev/null", "-C", "new-session", "-x", "100", "-y", "30"])
            .arg(words.join(" "))
            .current_dir(home.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path("home"))
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("ANTHROPIC_BASE_URL", origin)
            .env("ANTHROPIC_API_KEY", KEY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut client = command.kill_on_drop(true).spawn().unwrap();
        let commands = client.stdin.take().unwrap();
        let replies = BufReader::new(client.stdout.take().unwrap()).lines();
        let mut tmux = Self { socket, _client: client, commands, replies, ended: false };
        // The end of the program leaves its last screen.
        tmux.run("set -g remain-on-exit on").await;
        tmux.run("set -g history-limit 5000").await;
        tmux.run("set -g window-size manual").await;
        tmux.run("resize-window -x 100 -y 30").await;
        tmux
    }

    /// Runs a command of tmux and returns what it prints.
    async fn run(&mut self, command: &str) -> Vec<String> {
        self.commands.write_all(format!("{command}\n").as_bytes()).await.unwrap();
        let mut lines = None;
        loop {
            let line = self.line().await;
            match (&mut lines, line.split(' ').next().unwrap_or_default()) {
                // The first reply is that of the command that started the client: flag 0.
                (None, "%begin") if line.ends_with(" 1") => lines = Some(Vec::new()),
                (Some(_), "%end" | "%error") => return lines.unwrap_or_default(),
                (Some(lines), _) => lines.push(line),
                (None, _) => {}
            }
        }
    }

    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(LIMIT, self.replies.next_line()).await;
        line.expect("tmux is silent").unwrap().expect("tmux has ended")
    }

    async fn screen(&mut self) -> String {
        self.run("capture-pane -p").await.join("\n")
    }

    /// Returns everything that the terminal contains, with broken lines joined.
    async fn scrollback(&mut self) -> String {
        self.run("capture-pane -p -J -S -").await.join("\n")
    }

    /// Waits until the screen is as expected; checks it each time that something was written.
    async fn until(&mut self, expected: impl Fn(&str) -> bool) {
        let waiting = async {
            loop {
                let screen = self.screen().await;
                if expected(&screen) {
                    return;
                }
                while !self.line().await.starts_with('%') {}
            }
        };
        if tokio::time::timeout(LIMIT, waiting).await.is_err() {
            panic!("tmux shows:\n{}", self.screen().await);
        }
    }

    async fn until_text(&mut self, text: &str) {
        self.until(|screen| screen.contains(text)).await;
    }

    /// Waits until a question takes answers: then its keys have the colour of the composer's sign.
    async fn until_answerable(&mut self) {
        loop {
            let screen = self.run("capture-pane -e -p").await.join("\n");
            let sign = screen.lines().rev().find_map(|line| line.split_once('›'));
            let is_key = |(colour, _): (&str, &str)| screen.contains(&format!("{colour}y\u{1b}"));
            if sign.is_some_and(|sign| !sign.0.is_empty() && is_key(sign)) {
                return;
            }
            while !self.line().await.starts_with('%') {}
        }
    }

    async fn keys(&mut self, keys: &str) {
        self.run(&format!("send-keys {keys}")).await;
    }

    async fn end(mut self) {
        self.ended = true;
        self.run("kill-server").await;
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        if !self.ended {
            let words = ["-S", &self.socket, "kill-server"];
            let _ = std::process::Command::new("tmux").args(words).status();
        }
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns whether tmux is installed.
fn installed() -> Option<()> {
    let found = std::process::Command::new("tmux").arg("-V").output().is_ok();
    requires(Part::Tmux, found.then_some(()))
}

#[tokio::test]
async fn cli_01_the_main_path_in_tmux() {
    if installed().is_none() {
        return;
    }
    let home = Home::new();
    let write = json!({"file_path": "notes.txt", "content": "first\nsecond\n"});
    let mock = MockServer::start(
        Scenario::reply("Hello **there**, 世界. 👩‍👩‍👧")
            .then(Reply::new().tool("Write", write))
            .then("The notes are written."),
    )
    .await
    .unwrap();
    let mut tmux = Tmux::start(&home, &["--model", "mock-model"], &mock.origin()).await;
    tmux.until_text("ready").await;
    tmux.keys("-l hello").await;
    tmux.until_text("› hello").await;
    tmux.keys("Enter").await;
    tmux.until_text("Hello there, 世界.").await;
    tmux.until_text("ready").await;
    tmux.keys("-l 'write notes'").await;
    tmux.keys("Enter").await;
    tmux.until_text("Wants to write notes.txt").await;
    tmux.until_answerable().await;
    tmux.keys("y").await;
    tmux.until_text("The notes are written.").await;
    tmux.until_text("ready").await;
    assert_eq!(std::fs::read_to_string(home.path("project/notes.txt")).unwrap(), "first\nsecond\n");

    // A page, and back.
    tmux.keys("C-t").await;
    tmux.until_text("prompts").await;
    tmux.keys("q").await;
    tmux.until_text("ready").await;

    tmux.keys("C-c").await;
    tmux.until_text("press Ctrl+C again to quit").await;
    tmux.keys("C-c").await;
    tmux.until_text("To resume this session: robota -r ").await;
    let all = tmux.scrollback().await;
    for once in ["› hello", "Hello there", "✓ Wrote notes.txt", "The notes are written."] {
        assert_eq!(all.matches(once).count(), 1, "{once}:\n{all}");
    }
    tmux.end().await;
}

#[tokio::test]
async fn many_resizes_in_tmux_leave_nothing_behind_and_lose_nothing() {
    if installed().is_none() {
        return;
    }
    const WIDTHS: [usize; 12] = [60, 80, 50, 120, 70, 100, 45, 110, 64, 100, 55, 100];
    const PARAGRAPHS: usize = 10 * WIDTHS.len();
    let home = Home::new();
    let mut reply = Reply::new();
    for number in 0..PARAGRAPHS {
        if number % 10 == 0 {
            reply = reply.step(Step::Stall(Stall::Gate(format!("gate {}", number / 10))));
        }
        reply = reply.text(format!(
            "P{number} has words enough to be broken into several rows where it is narrow.\n\n"
        ));
    }
    let mock = MockServer::start(Scenario::reply(reply.text("The end."))).await.unwrap();
    let mut tmux = Tmux::start(&home, &["count for me"], &mock.origin()).await;
    tmux.until_text("› count for me").await;
    // Text arrives while the size changes, and tmux reports most of these sizes late.
    for (turn, columns) in WIDTHS.into_iter().enumerate() {
        mock.release(&format!("gate {turn}"));
        tmux.run(&format!("resize-window -x {columns} -y 30")).await;
        if turn % 4 == 3 {
            tmux.until_text(&format!("P{} has", turn * 10 + 9)).await;
        }
    }
    tmux.until(|screen| screen.contains("The end.") && screen.contains("ready")).await;
    let all = tmux.scrollback().await;
    for number in 0..PARAGRAPHS {
        assert_eq!(all.matches(&format!("P{number} has")).count(), 1, "P{number}:\n{all}");
    }
    for once in ["› count for me", "ready · "] {
        assert_eq!(all.matches(once).count(), 1, "{once}:\n{all}");
    }
    assert!(!all.contains("writing 0:"), "{all}");
    tmux.end().await;
}
