//! A port that tells when the first request came and how large it was, and refuses it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

const REFUSAL: &str =
    r#"{"type":"error","error":{"type":"invalid_request_error","message":"Enough."}}"#;

/// The first request since [`Listener::begin`].
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    /// How long it took to come.
    pub(super) after: Duration,
    /// The size of its body.
    pub(super) bytes: u64,
}

#[derive(Debug)]
struct Seen {
    since: Instant,
    first: Option<First>,
}

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) origin: String,
    seen: Arc<Mutex<Seen>>,
}

impl Listener {
    /// Listens until the process ends.
    pub(super) fn start() -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?;
        let origin = format!("http://{}", port.local_addr()?);
        let seen = Arc::new(Mutex::new(Seen { since: Instant::now(), first: None }));
        let shared = seen.clone();
        std::thread::spawn(move || {
            for stream in port.incoming().flatten() {
                // A client that goes away is measured as one that never came.
                let _ = serve(&stream, &shared);
            }
        });
        Ok(Self { origin, seen })
    }

    /// From now on.
    pub(super) fn begin(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = Seen { since: Instant::now(), first: None };
    }

    /// The first request since then.
    pub(super) fn first(&self) -> Option<First> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).first
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Seen>) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut bytes, mut head) = (0, String::new());
    reader.read_line(&mut head)?;
    let now = Instant::now();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(length) = line.strip_prefix("content-length:") {
            bytes = length.trim().parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    std::io::copy(&mut reader.take(bytes), &mut std::io::sink())?;
    if head.starts_with("POST") {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let after = now.saturating_duration_since(seen.since);
        seen.first.get_or_insert(First { after, bytes });
    }
    let mut writer = stream;
    write!(
        writer,
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{REFUSAL}",
        REFUSAL.len()
    )?;
    Ok(())
}
