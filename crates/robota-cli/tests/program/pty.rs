//! The program on a pseudo terminal: keys in, and the screen that a person would see.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::process::Child;
use tokio::sync::watch;

use crate::home::{Home, program};

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// How long a step may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// How a program is started on a terminal.
pub(crate) struct Start {
    words: Vec<String>,
    folder: PathBuf,
    variables: Vec<(String, String)>,
    size: (u16, u16),
    /// Whether the terminal shows typed keys until the program reads them one by one.
    pub(crate) echo: bool,
}

impl Start {
    /// Starts the program itself.
    pub(crate) fn robota(home: &Home, args: &[&str]) -> Self {
        let robota = program();
        Self::program(home, &[&[robota.as_str()][..], args].concat())
    }

    /// Starts another program, such as a shell.
    pub(crate) fn program(home: &Home, words: &[&str]) -> Self {
        let start = Self {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            folder: home.path("project"),
            variables: Vec::new(),
            size: (80, 24),
            echo: true,
        };
        let path = std::env::var("PATH").unwrap();
        let home = home.path("home").display().to_string();
        start.var("PATH", &path).var("HOME", &home).var("TERM", "xterm-256color")
    }

    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the model service.
    pub(crate) fn model(self, origin: &str) -> Self {
        self.var("ANTHROPIC_BASE_URL", origin).var("ANTHROPIC_API_KEY", KEY)
    }

    pub(crate) fn folder(mut self, folder: PathBuf) -> Self {
        self.folder = folder;
        self
    }

    pub(crate) fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    pub(crate) fn start(self) -> Terminal {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let (columns, rows) = self.size;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        if !self.echo {
            let mut modes = tcgetattr(&slave).unwrap();
            modes.local_modes.remove(LocalModes::ECHO);
            tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        }
        // `setsid -c` makes the terminal the controlling one.
        let mut command = Command::new("setsid");
        command.arg("-c").args(&self.words).current_dir(&self.folder);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
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
        let (stopped, stop) = std::io::pipe().unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut unshown = Vec::new();
            while wait(&output, &stopped)
                && let Ok(read @ 1..) = output.read(&mut bytes)
            {
                unshown.extend_from_slice(&bytes[..read]);
                let complete = complete_frames(&unshown);
                shown.lock().unwrap().process(&unshown[..complete]);
                unshown.drain(..complete);
                send.send_modify(|printed| *printed += read as u64);
            }
        });
        let open = Some(Open { keys, slave, stop, reader });
        Terminal { open, child, parser, changed }
    }
}

/// Returns how many bytes of the output a terminal shows: not those of a frame whose end has not
/// arrived, so that no test sees a half-drawn page.
fn complete_frames(output: &[u8]) -> usize {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";
    let last = |mark: &[u8]| output.windows(mark.len()).rposition(|bytes| bytes == mark);
    match (last(BEGIN), last(END)) {
        (Some(begin), None) => begin,
        (Some(begin), Some(end)) if begin > end => begin,
        _ => {
            // A mark of which a part has arrived.
            let part = (1..BEGIN.len()).rev().find(|count| output.ends_with(&BEGIN[..*count]));
            output.len() - part.unwrap_or(0)
        }
    }
}

/// Waits for output. Returns whether there is some.
fn wait(output: &File, stopped: &PipeReader) -> bool {
    let mut files = [PollFd::new(output, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
    poll(&mut files, None).unwrap();
    files[1].revents().is_empty()
}

/// The two sides of a terminal that is open.
struct Open {
    keys: File,
    /// Kept open, so that what the program wrote last can be read after its end.
    slave: File,
    /// Ends the thread that reads.
    stop: PipeWriter,
    reader: JoinHandle<()>,
}

/// A program on a terminal.
pub(crate) struct Terminal {
    open: Option<Open>,
    child: Child,
    pub(crate) parser: Arc<Mutex<vt100::Parser>>,
    /// How many bytes the program has printed.
    pub(crate) changed: watch::Receiver<u64>,
}

/// Returns what a screen shows, without blanks at the ends of rows.
fn text(screen: &vt100::Screen) -> String {
    let rows = screen.rows(0, screen.size().1.get());
    rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn nonzero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Terminal {
    /// Starts the program with a model service.
    pub(crate) fn start(home: &Home, args: &[&str], origin: &str, size: (u16, u16)) -> Self {
        Start::robota(home, args).model(origin).size(size.0, size.1).start()
    }

    /// Returns what the screen shows, without blanks at the ends of rows.
    pub(crate) fn shown(&self) -> String {
        text(self.parser.lock().unwrap().screen())
    }

    /// Waits until the terminal shows what is expected.
    pub(crate) async fn until(&mut self, expected: impl Fn(&vt100::Screen, &str) -> bool) {
        let waiting = async {
            loop {
                self.changed.mark_unchanged();
                // Both from one moment: a text of the conversation is not one of the page that
                // replaces it.
                let matches = {
                    let parser = self.parser.lock().unwrap();
                    expected(parser.screen(), &text(parser.screen()))
                };
                if matches {
                    return;
                }
                self.changed.changed().await.unwrap();
            }
        };
        let timed_out = tokio::time::timeout(LIMIT, waiting).await.is_err();
        assert!(!timed_out, "the terminal shows:\n{}", self.shown());
    }

    pub(crate) async fn until_text(&mut self, text: &str) {
        self.until(|_, shown| shown.contains(text)).await;
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Waits until a page shows a text.
    pub(crate) async fn until_page(&mut self, text: &str) {
        self.until(|screen, shown| screen.alternate_screen() && shown.contains(text)).await;
    }

    /// Closes the page that is shown.
    pub(crate) async fn close_page(&mut self) {
        self.type_keys("\u{1b}");
        self.until(|screen, _| !screen.alternate_screen()).await;
    }

    /// Returns whether a page is shown.
    pub(crate) fn on_page(&self) -> bool {
        self.parser.lock().unwrap().screen().alternate_screen()
    }

    /// Goes back by one step: from a part of a page to the page, or from the page.
    pub(crate) async fn back(&mut self) {
        let before = self.shown();
        self.type_keys("\u{1b}");
        self.until(|_, shown| shown != before).await;
    }

    /// Waits until a question takes answers: then its keys have the colour of the composer's sign.
    pub(crate) async fn until_answerable(&mut self) {
        self.until(|screen, _| {
            let rows: Vec<_> = screen.rows(0, screen.size().1.get()).collect();
            let style = |start: &str, column: u16| {
                let row = rows.iter().rposition(|row| row.starts_with(start))?;
                let cell = screen.cell(u16::try_from(row).ok()?, column)?;
                Some((cell.fgcolor(), cell.bold(), cell.dim()))
            };
            let key = style("  y once", 2);
            key.is_some() && key == style("›", 0)
        })
        .await;
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.open().keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Pastes a text, as a terminal marks it.
    pub(crate) fn paste(&mut self, text: &str) {
        self.type_keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.lock().unwrap().screen_mut().set_size(nonzero(rows), nonzero(columns));
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.open().keys, size).unwrap();
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn open(&mut self) -> &mut Open {
        self.open.as_mut().unwrap()
    }

    /// Closes the terminal, as a window is closed.
    pub(crate) fn close(&mut self) {
        let Open { keys, slave, stop, reader } = self.open.take().unwrap();
        drop(stop);
        reader.join().unwrap();
        drop((slave, keys));
    }

    /// Waits for the end. Returns the exit code.
    pub(crate) async fn end(&mut self) -> Option<i32> {
        let status = tokio::time::timeout(LIMIT, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("still runs:\n{}", self.shown()));
        status.unwrap().code()
    }

    /// Returns whether lines are edited and shown by the terminal itself, as a shell expects it.
    pub(crate) fn edits_lines(&self) -> bool {
        let modes = tcgetattr(&self.open.as_ref().unwrap().slave).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits until the terminal is as a shell expects it, after the end of the program.
    pub(crate) async fn until_restored(&mut self) {
        assert!(self.edits_lines(), "{}", self.shown());
        self.until(|screen, _| {
            !screen.bracketed_paste() && !screen.hide_cursor() && !screen.alternate_screen()
        })
        .await;
    }

    /// Returns the session that the program named at its end.
    pub(crate) async fn resume_id(&mut self) -> String {
        self.until_text("robota -r ").await;
        let shown = self.shown();
        let line = shown.lines().find(|line| line.contains("robota -r ")).unwrap();
        line.rsplit("robota -r ").next().unwrap().trim().to_owned()
    }
}
