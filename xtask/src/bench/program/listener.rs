//! A port that measures when a request arrives and how large it is, and refuses it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

const REFUSAL: &str =
    r#"{"type":"error","error":{"type":"invalid_request_error","message":"Enough."}}"#;

#[derive(Debug)]
pub(super) struct Listener {
    origin: String,
    /// The arrival and the size of the body of each request.
    requests: Receiver<(Instant, u64)>,
}

impl Listener {
    /// Listens until the process ends.
    pub(super) fn start() -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?;
        let origin = format!("http://{}", port.local_addr()?);
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in port.incoming().flatten() {
                // A client that disconnects is measured as one that never connected.
                if let Ok(Some(request)) = serve(&stream) {
                    let _ = sender.send(request);
                }
            }
        });
        Ok(Self { origin, requests })
    }

    /// Runs `program` with the address, and returns the time to its first request and its size.
    pub(super) fn first<T>(
        &self,
        program: impl FnOnce(&str) -> Result<T>,
    ) -> Result<(Duration, u64)> {
        self.requests.try_iter().for_each(drop);
        let begun = Instant::now();
        program(&self.origin)?;
        // The program may end before the thread reports its request.
        let request = self.requests.recv_timeout(Duration::from_secs(1));
        let (arrival, bytes) = request.context("no request arrived")?;
        Ok((arrival.saturating_duration_since(begun), bytes))
    }
}

/// Refuses a request, and returns its arrival and its size if it is a POST.
fn serve(mut stream: &TcpStream) -> Result<Option<(Instant, u64)>> {
    let mut reader = BufReader::new(stream);
    let (mut bytes, mut head) = (0, String::new());
    reader.read_line(&mut head)?;
    let now = Instant::now();
    for line in reader.by_ref().lines() {
        let line = line?.to_ascii_lowercase();
        if let Some(length) = line.strip_prefix("content-length:") {
            bytes = length.trim().parse()?;
        } else if line.is_empty() {
            break;
        }
    }
    std::io::copy(&mut reader.take(bytes), &mut std::io::sink())?;
    let head_of_answer = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json";
    let length = REFUSAL.len();
    write!(
        stream,
        "{head_of_answer}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{REFUSAL}"
    )?;
    Ok(head.starts_with("POST").then_some((now, bytes)))
}
