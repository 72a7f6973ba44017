//! The prompt: what is on the command line, and what is piped in.

use std::io::{IsTerminal as _, Read as _};
use std::sync::mpsc;
use std::time::Duration;

use crate::output;

/// More than this is no prompt.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// With a prompt on the command line, an open input that says nothing for this long is not
/// waited for: editors and CI leave one open that nobody ever writes to.
const FIRST_BYTE: Duration = Duration::from_secs(2);

/// Input that has begun and then says nothing for this long is taken as it is.
const NEXT_BYTE: Duration = Duration::from_secs(10);

/// The whole prompt; none when there is none.
pub(crate) fn prompt(given: Option<String>) -> anyhow::Result<Option<String>> {
    let wait_for_all = given.is_none() || given.as_deref() == Some("-");
    let given = given.filter(|given| given != "-");
    let piped = if std::io::stdin().is_terminal() {
        String::new()
    } else {
        let chunks = read_in_background();
        let waits = if wait_for_all { None } else { Some((FIRST_BYTE, NEXT_BYTE)) };
        String::from_utf8_lossy(&collect(&chunks, waits)?).into_owned()
    };
    Ok(join(given.as_deref(), &piped))
}

/// The prompt first, then what was piped in.
fn join(given: Option<&str>, piped: &str) -> Option<String> {
    let piped = piped.trim_end_matches(['\r', '\n']);
    let given = given.filter(|given| !given.trim().is_empty());
    match (given, piped.trim().is_empty()) {
        (Some(given), true) => Some(given.to_owned()),
        (Some(given), false) => Some(format!("{given}\n\n{piped}")),
        (None, false) => Some(piped.to_owned()),
        (None, true) => None,
    }
}

type Chunk = std::io::Result<Vec<u8>>;

/// Reads on a thread of its own: a blocked read must not block the program.
fn read_in_background() -> mpsc::Receiver<Chunk> {
    let (send, receive) = mpsc::sync_channel(16);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut chunk = vec![0; 64 * 1024];
            let sent = match input.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    chunk.truncate(count);
                    send.send(Ok(chunk))
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let _ = send.send(Err(error));
                    break;
                }
            };
            if sent.is_err() {
                break;
            }
        }
    });
    receive
}

/// Everything that comes, as far as `waits` has patience.
fn collect(
    chunks: &mpsc::Receiver<Chunk>,
    waits: Option<(Duration, Duration)>,
) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let chunk = match waits {
            None => chunks.recv().ok(),
            Some((first, next)) => {
                let patience = if bytes.is_empty() { first } else { next };
                match chunks.recv_timeout(patience) {
                    Ok(chunk) => Some(chunk),
                    Err(mpsc::RecvTimeoutError::Disconnected) => None,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        output::note(
                            "robota: standard input is open but silent; going on without the \
                             rest of it (to wait for all of it, give `-` as the prompt)",
                        );
                        return Ok(bytes);
                    }
                }
            }
        };
        match chunk {
            None => return Ok(bytes),
            Some(chunk) => bytes.extend(
                chunk.map_err(|error| anyhow::anyhow!("cannot read standard input: {error}"))?,
            ),
        }
        anyhow::ensure!(
            bytes.len() <= MAX_BYTES,
            "standard input is larger than {} MiB; save it to a file and name the file instead",
            MAX_BYTES / (1024 * 1024)
        );
    }
}

#[cfg(test)]
mod tests;
