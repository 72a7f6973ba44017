//! Reads the prompt from the command line and from piped input.

use std::io::{IsTerminal as _, Read as _};
use std::sync::mpsc;
use std::time::Duration;

use crate::output;

/// The size limit of piped input.
// As much as Claude Code reads.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// How long to wait for the first byte of piped input if the command line has a prompt. Editors
/// and CI systems leave standard input open without ever writing to it.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for more piped input before the input so far is used.
const NEXT_BYTE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the prompt: the given text followed by piped input. None if both are empty.
pub(crate) fn prompt(given: Option<String>) -> anyhow::Result<Option<String>> {
    // Without another prompt the input is the prompt, however long its writer takes.
    let wait_for_all = given.is_none() || given.as_deref() == Some("-");
    let given = given.filter(|given| given != "-");
    let piped = if std::io::stdin().is_terminal() {
        String::new()
    } else {
        let chunks = read_in_background();
        let timeouts =
            if wait_for_all { None } else { Some((FIRST_BYTE_TIMEOUT, NEXT_BYTE_TIMEOUT)) };
        String::from_utf8_lossy(&collect(&chunks, timeouts)?).into_owned()
    };
    Ok(join(given.as_deref(), &piped))
}

/// Joins the given prompt and the piped input with a blank line.
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

/// Reads standard input on a separate thread, because a read that blocks cannot be cancelled.
fn read_in_background() -> mpsc::Receiver<Chunk> {
    // Bounded: an input without end is read about 1 MiB beyond the limit, not until the memory is
    // full.
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

/// Collects chunks until the input ends or a timeout passes. `timeouts` are those for the first
/// chunk and for each further one; none waits indefinitely.
fn collect(
    chunks: &mpsc::Receiver<Chunk>,
    timeouts: Option<(Duration, Duration)>,
) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let chunk = match timeouts {
            None => chunks.recv().ok(),
            Some((first, next)) => {
                let timeout = if bytes.is_empty() { first } else { next };
                match chunks.recv_timeout(timeout) {
                    Ok(chunk) => Some(chunk),
                    Err(mpsc::RecvTimeoutError::Disconnected) => None,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        output::note(
                            "robota: standard input is open but silent; continuing without it \
                             (to wait for all of it, pass `-` as the prompt)",
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
            "standard input is larger than {} MiB; save it to a file and name the file in the prompt",
            MAX_BYTES / (1024 * 1024)
        );
    }
}

#[cfg(test)]
mod tests;
