//! The program on a pseudo terminal: keys in, bytes out, with the time of each.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::sh::Running;

/// What a terminal answers when a program asks about it: the query and the answer.
const ANSWERS: [(&[u8], &[u8]); 4] = [
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62c"),
    (b"\x1b[?u", b"\x1b[?0u"),
    (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
];

/// A program on a pseudo terminal. It is killed when this is dropped.
pub(crate) struct Pty {
    keys: File,
    pub(crate) program: Running,
    started: Instant,
    /// What the program prints, in the pieces in which it was read.
    pieces: Receiver<Vec<u8>>,
    printed: Vec<u8>,
    parser: vt100::Parser,
    /// How many of the printed bytes the parser has read.
    parsed: usize,
}

impl Pty {
    /// Starts a program on a terminal with this many columns and rows. The terminal itself shows no
    /// typed keys: what is shown was printed by the program.
    pub(crate) fn start(
        dir: &Path,
        words: &[&str],
        env: &[(&str, &str)],
        (columns, rows): (u16, u16),
    ) -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = File::options().read(true).write(true).open(name.to_str()?)?;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size)?;
        let mut modes = tcgetattr(&slave)?;
        modes.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        let size = NonZeroU16::new(rows).zip(NonZeroU16::new(columns));
        let (rows, columns) = size.context("a terminal without rows or columns")?;
        let started = Instant::now();
        let program = Running::on_terminal(dir, words, env, OwnedFd::from(slave))?;
        let (keys, output) = (File::from(master.try_clone()?), File::from(master));
        let (sender, pieces) = channel();
        let answers = keys.try_clone()?;
        std::thread::spawn(move || read_all(output, answers, &sender));
        let parser = vt100::Parser::new(rows, columns, 0);
        Ok(Self { keys, program, started, pieces, printed: Vec::new(), parser, parsed: 0 })
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &str) -> Result<()> {
        self.keys.write_all(keys.as_bytes()).context("cannot type")
    }

    /// Types a letter and returns how long it took until the program printed it; none if it did not
    /// within the time limit.
    pub(crate) fn echo(&mut self, letter: char, limit: Duration) -> Result<Option<Duration>> {
        let from = self.printed().len();
        let start = Instant::now();
        self.type_keys(letter.encode_utf8(&mut [0; 4]))?;
        Ok(self.wait_from(from, &letter.to_string(), start, limit))
    }

    /// Waits until the program has printed a text. Returns how long that took since its start.
    pub(crate) fn wait_for(&mut self, text: &str, limit: Duration) -> Result<Duration> {
        let time = self.wait_from(0, text, self.started, self.started.elapsed() + limit);
        time.with_context(|| format!("no `{text}` was printed:\n{}", self.screen().contents()))
    }

    /// Waits until the program has printed nothing for this long.
    pub(crate) fn wait_until_quiet(&mut self, quiet: Duration) {
        while self.receive(quiet) {}
    }

    /// Waits until the screen shows a text. Returns the last screen, also if it never did.
    pub(crate) fn wait_for_screen(&mut self, text: &str, limit: Duration) -> String {
        let end = Instant::now() + limit;
        loop {
            let shown = self.screen().contents();
            let left = end.saturating_duration_since(Instant::now());
            if shown.contains(text) || !self.receive(left) {
                return shown;
            }
        }
    }

    /// Returns the screen that the printed bytes make.
    pub(crate) fn screen(&mut self) -> &vt100::Screen {
        let printed = self.printed().len();
        self.parser.process(&self.printed[self.parsed..]);
        self.parsed = printed;
        self.parser.screen()
    }

    /// Returns everything that the program has printed.
    pub(crate) fn printed(&mut self) -> &[u8] {
        while self.receive(Duration::ZERO) {}
        &self.printed
    }

    /// Waits for a piece of output. Returns whether there was one.
    fn receive(&mut self, limit: Duration) -> bool {
        let piece = self.pieces.recv_timeout(limit);
        piece.map(|piece| self.printed.extend(piece)).is_ok()
    }

    fn wait_from(
        &mut self,
        mut from: usize,
        text: &str,
        start: Instant,
        limit: Duration,
    ) -> Option<Duration> {
        let needle = text.as_bytes();
        while !self.printed[from..].windows(needle.len()).any(|window| window == needle) {
            from = from.max(self.printed.len().saturating_sub(needle.len()));
            let left = limit.checked_sub(start.elapsed())?;
            self.receive(left).then_some(())?;
        }
        Some(start.elapsed())
    }
}

/// Reads until the terminal closes, and answers queries.
fn read_all(mut output: File, mut answers: File, pieces: &Sender<Vec<u8>>) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = output.read(&mut buffer) {
        let piece = &buffer[..count];
        for (query, answer) in ANSWERS {
            if piece.windows(query.len()).any(|window| window == query) {
                let _ = answers.write_all(answer);
            }
        }
        // Nothing waits for the output of a program that is being killed.
        let _ = pieces.send(piece.to_vec());
    }
}
