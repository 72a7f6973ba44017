//! Lines of protocols: standard input and output, each on a thread of its own, because a read or
//! write that blocks cannot be cancelled.

use std::io::{BufRead as _, Read as _};
use std::time::Duration;

use robota_server::acp::InputLine;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::output;

/// How many lines may wait on each side.
const QUEUE: usize = 64;

/// How long the end of a run waits for the last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Reads standard input. The channel closes at its end.
pub(crate) fn read_stdin(max_line: u64) -> mpsc::Receiver<InputLine> {
    let (send, receive) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Some(line) = next_line(&mut input, max_line) {
            // Waits while the queue is full: a host that writes fast cannot fill the memory.
            if send.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// Reads a line; none at the end of the input, or if it cannot be read. A line that is too long is
/// skipped.
fn next_line(input: &mut impl std::io::BufRead, max: u64) -> Option<InputLine> {
    let mut line = Vec::new();
    input.by_ref().take(max).read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Some(InputLine::Line(line));
    }
    if (line.len() as u64) < max {
        return Some(InputLine::Line(line));
    }
    drop(line);
    // A host that sends a line without end would otherwise fill the memory.
    // The rest of the line is dropped piece by piece.
    loop {
        let mut rest = Vec::new();
        let read = input.by_ref().take(64 * 1024).read_until(b'\n', &mut rest).ok()?;
        if read == 0 || rest.last() == Some(&b'\n') {
            return Some(InputLine::TooLong);
        }
    }
}

/// Writes lines to standard output.
pub(crate) struct StdoutLines {
    /// Takes the lines.
    pub(crate) lines: mpsc::Sender<String>,
    written: oneshot::Receiver<()>,
}

impl StdoutLines {
    /// Starts the thread. `gone` is cancelled when no process reads standard output.
    pub(crate) fn start(gone: CancellationToken) -> Self {
        let (lines, mut receive) = mpsc::channel::<String>(QUEUE);
        let (done, written) = oneshot::channel();
        std::thread::spawn(move || {
            while let Some(mut line) = receive.blocking_recv() {
                line.push('\n');
                if output::try_bytes(line.as_bytes()).is_err() {
                    gone.cancel();
                    break;
                }
            }
            let _ = done.send(());
        });
        Self { lines, written }
    }

    /// Waits until all lines are written. All senders must be dropped before.
    pub(crate) async fn finish(self) {
        drop(self.lines);
        let _ = tokio::time::timeout(LAST_LINES, self.written).await;
    }
}

#[cfg(test)]
mod tests;
