//! The program on a pseudo terminal: keys in, bytes out, with the time of each.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::sh;

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
    child: Child,
    written: Arc<Written>,
    started: Instant,
}

#[derive(Default)]
struct Written {
    bytes: Mutex<Vec<u8>>,
    changed: Condvar,
}

impl Written {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let started = Instant::now();
        let child = sh::start_on_terminal(dir, words, env, OwnedFd::from(slave))?;
        let (keys, output) = (File::from(master.try_clone()?), File::from(master));
        let written = Arc::new(Written::default());
        let (answers, shared) = (keys.try_clone()?, written.clone());
        std::thread::spawn(move || read_all(output, answers, &shared));
        Ok(Self { keys, child, written, started })
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &str) -> Result<()> {
        self.keys.write_all(keys.as_bytes()).context("cannot type")
    }

    /// Types a letter and returns how long it took until the program printed it; none if it did not
    /// within the time limit.
    pub(crate) fn echo(&mut self, letter: char, limit: Duration) -> Result<Option<Duration>> {
        let start = Instant::now();
        let from = self.written.bytes().len();
        self.type_keys(letter.encode_utf8(&mut [0; 4]))?;
        Ok(self.wait_from(from, &letter.to_string(), start, limit))
    }

    /// Waits until the program has printed a text. Returns how long that took since its start.
    pub(crate) fn wait_for(&self, text: &str, limit: Duration) -> Option<Duration> {
        self.wait_from(0, text, self.started, self.started.elapsed() + limit)
    }

    /// Waits until the program has printed nothing for this long.
    pub(crate) fn wait_until_quiet(&self, quiet: Duration) {
        let mut bytes = self.written.bytes();
        loop {
            let waited = self.written.changed.wait_timeout(bytes, quiet);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return;
            }
            bytes = guard;
        }
    }

    /// Waits until the screen is as expected. Returns the last screen, also if it never was.
    pub(crate) fn wait_for_screen(
        &self,
        size: (u16, u16),
        limit: Duration,
        expected: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let end = Instant::now() + limit;
        loop {
            let before = self.printed();
            let parser = self.screen(size)?;
            let shown = parser.screen().contents();
            let left = end.saturating_duration_since(Instant::now());
            if expected(&shown) || left.is_zero() {
                return Ok(shown);
            }
            let bytes = self.written.bytes();
            if bytes.len() == before {
                let _ = self.written.changed.wait_timeout(bytes, left);
            }
        }
    }

    /// Returns the screen that the printed bytes make.
    pub(crate) fn screen(&self, (columns, rows): (u16, u16)) -> Result<vt100::Parser> {
        let size = NonZeroU16::new(rows).zip(NonZeroU16::new(columns));
        let (rows, columns) = size.context("a terminal without rows or columns")?;
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&self.written.bytes());
        Ok(parser)
    }

    fn wait_from(
        &self,
        mut from: usize,
        text: &str,
        start: Instant,
        limit: Duration,
    ) -> Option<Duration> {
        let needle = text.as_bytes();
        let mut bytes = self.written.bytes();
        loop {
            if bytes[from..].windows(needle.len()).any(|window| window == needle) {
                return Some(start.elapsed());
            }
            from = from.max(bytes.len().saturating_sub(needle.len()));
            let left = limit.checked_sub(start.elapsed())?;
            let waited = self.written.changed.wait_timeout(bytes, left);
            bytes = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the number of bytes that the program has printed.
    pub(crate) fn printed(&self) -> usize {
        self.written.bytes().len()
    }

    /// Returns everything that the program printed.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.bytes()).into_owned()
    }

    /// Returns the end of what the program printed, for messages about failures.
    pub(crate) fn tail(&self) -> String {
        let bytes = self.written.bytes();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(2_000)..]).into_owned()
    }

    /// Returns the CPU time that each thread of the program has used. It is exact, but does not have
    /// that of threads that ended.
    pub(crate) fn cpu_of_threads(&self) -> Result<HashMap<String, Duration>> {
        let mut used = HashMap::new();
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let task = task?;
            // The thread may have ended meanwhile.
            let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
            let time = text.split_whitespace().next().context("an unknown format of /proc")?;
            let name = task.file_name().to_string_lossy().into_owned();
            used.insert(name, Duration::from_nanos(time.parse()?));
        }
        Ok(used)
    }

    /// Returns the CPU time of all threads that the program has or had, in seconds. It grows in steps
    /// of 10 ms.
    pub(crate) fn cpu(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("an unknown format of /proc")?;
        let times = fields.split_whitespace().skip(11).take(2);
        let ticks = times.map(str::parse::<u32>).sum::<Result<u32, _>>()?;
        Ok(f64::from(ticks) / 100.0)
    }

    /// Returns the memory of the program, in MB.
    pub(crate) fn memory_mb(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        Ok(f64::from(kib.context("no VmRSS")?.parse::<u32>()?) / 1024.0)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until the terminal closes, and answers queries.
fn read_all(mut output: File, mut answers: File, written: &Written) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = output.read(&mut buffer) {
        let piece = &buffer[..count];
        for (query, answer) in ANSWERS {
            if piece.windows(query.len()).any(|window| window == query) {
                let _ = answers.write_all(answer);
            }
        }
        written.bytes().extend_from_slice(piece);
        written.changed.notify_all();
    }
}
