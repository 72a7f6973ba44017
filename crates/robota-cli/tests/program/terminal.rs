//! The terminal program on a pseudo terminal, against the mock model server.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use robota_testkit::mock::{MockServer, Reply, Scenario, Stall, Step};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;
use tokio::process::Child;
use tokio::sync::watch;

use crate::home::{Home, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

/// How long a step may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The program on a terminal.
struct Terminal {
    keys: File,
    /// Kept open, so that what the program wrote last can be read after its end.
    slave: File,
    child: Child,
    parser: Arc<Mutex<vt100::Parser>>,
    changed: watch::Receiver<u64>,
}

fn nonzero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Terminal {
    fn start(home: &Home, args: &[&str], origin: &str, (columns, rows): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        // `setsid -c` makes the terminal the controlling one.
        let robota = home.command(args);
        let mut command = std::process::Command::new("setsid");
        command.arg("-c").arg(robota.get_program()).args(robota.get_args());
        command.current_dir(home.path("project")).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path("home"))
            .env("TERM", "xterm-256color")
            .env("ANTHROPIC_BASE_URL", origin)
            .env("ANTHROPIC_API_KEY", KEY);
        let stdio = || Stdio::from(OwnedFd::from(slave.try_clone().unwrap()));
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        let mut command = tokio::process::Command::from(command);
        let child = command.kill_on_drop(true).spawn().unwrap();
        let parser =
            Arc::new(Mutex::new(vt100::Parser::new(nonzero(rows), nonzero(columns), 1_000)));
        let (send, changed) = watch::channel(0);
        let keys = File::from(master);
        let mut output = keys.try_clone().unwrap();
        let shown = parser.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..count]);
                send.send_modify(|count| *count += 1);
            }
        });
        Self { keys, slave, child, parser, changed }
    }

    fn shown(&self) -> String {
        let parser = self.parser.lock().unwrap();
        let rows = parser.screen().rows(0, parser.screen().size().1.get());
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Waits until the terminal shows what is expected.
    async fn until(&mut self, expected: impl Fn(&vt100::Screen, &str) -> bool) {
        let waiting = async {
            loop {
                self.changed.mark_unchanged();
                let shown = self.shown();
                if expected(self.parser.lock().unwrap().screen(), &shown) {
                    return;
                }
                self.changed.changed().await.unwrap();
            }
        };
        let timed_out = tokio::time::timeout(LIMIT, waiting).await.is_err();
        assert!(!timed_out, "the terminal shows:\n{}", self.shown());
    }

    async fn until_text(&mut self, text: &str) {
        self.until(|_, shown| shown.contains(text)).await;
    }

    /// Waits until a question takes answers: then the cursor is hidden.
    async fn until_answerable(&mut self) {
        self.until(|screen, shown| screen.hide_cursor() && shown.contains("once")).await;
    }

    fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns the exit code.
    async fn end(&mut self) -> Option<i32> {
        let status = tokio::time::timeout(LIMIT, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("still runs:\n{}", self.shown()));
        status.unwrap().code()
    }

    /// Returns whether lines are edited and shown by the terminal itself, as a shell expects it.
    fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        let parser = self.parser.lock().unwrap();
        let screen = parser.screen();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !screen.bracketed_paste()
            && !screen.hide_cursor()
            && !screen.alternate_screen()
    }

    /// Returns the session that the program named at its end.
    async fn resume_id(&mut self) -> String {
        self.until_text("robota -r ").await;
        let shown = self.shown();
        let line = shown.lines().find(|line| line.contains("robota -r ")).unwrap();
        line.rsplit("robota -r ").next().unwrap().trim().to_owned()
    }
}

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
    assert!(!terminal.is_restored(), "keys are read one by one");
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
    assert!(terminal.is_restored(), "{}", terminal.shown());
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
async fn sigterm_restores_the_terminal_and_the_session_can_be_resumed() {
    let home = Home::new();
    let stalled = Reply::new().text("Working").step(Step::Stall(Stall::Forever));
    let mock = MockServer::start(Scenario::reply(stalled)).await.unwrap();
    let mut terminal = Terminal::start(&home, &["work hard"], &mock.origin(), (80, 24));
    terminal.until_text("Working").await;
    let pid = Pid::from_raw(i32::try_from(terminal.child.id().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(terminal.end().await, Some(143));
    let id = terminal.resume_id().await;
    assert!(terminal.is_restored(), "{}", terminal.shown());

    let mock = MockServer::start(Scenario::reply("Here I am.")).await.unwrap();
    let (origin, variables) = (mock.origin(), [("ANTHROPIC_API_KEY", KEY)]);
    let variables = [variables[0], ("ANTHROPIC_BASE_URL", &origin)];
    let output = home.robota(&["-p", "still there?", "-r", &id], &variables).await;
    assert_eq!(stdout(&output).trim(), "Here I am.");
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
