//! A minimal HTTP server that answers requests in order with prepared responses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// What the server does after the last chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Ends the response and keeps the connection open.
    Keep,
    /// Ends the response by closing the connection.
    Close,
    /// Closes the connection in the middle of the response.
    Drop,
    /// Sends nothing more until the client disconnects.
    Hang,
}

/// One prepared response.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) chunks: Vec<String>,
    pub(crate) after: After,
}

impl Answer {
    /// Creates an event stream in these chunks.
    pub(crate) fn stream(chunks: &[&str]) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "text/event-stream".into())],
            chunks: chunks.iter().map(|chunk| (*chunk).to_owned()).collect(),
            after: After::Keep,
        }
    }

    /// Creates a complete body.
    pub(crate) fn body(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), chunks: vec![body.to_owned()], after: After::Keep }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, after: After) -> Self {
        self.after = after;
        self
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: serde_json::Value,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
    /// Notified when the client has closed a hanging connection.
    pub(crate) disconnected: Arc<Notify>,
}

impl Server {
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self {
            url,
            connections: Arc::default(),
            received: Arc::default(),
            disconnected: Arc::default(),
        };
        let (give, take) = mpsc::unbounded_channel();
        for answer in answers {
            give.send(answer).unwrap();
        }
        let take = Arc::new(tokio::sync::Mutex::new(take));
        let (connections, received, disconnected) =
            (server.connections.clone(), server.received.clone(), server.disconnected.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(socket, take.clone(), received.clone(), disconnected.clone()));
            }
        });
        server
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

type Answers = Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Answer>>>;

async fn serve(
    mut socket: TcpStream,
    answers: Answers,
    received: Arc<Mutex<Vec<Received>>>,
    disconnected: Arc<Notify>,
) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await {
        received.lock().unwrap().push(request);
        let Ok(answer) = answers.lock().await.try_recv() else { return };
        let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let chunked = answer.after != After::Close;
        head.push_str(if chunked {
            "transfer-encoding: chunked\r\n\r\n"
        } else {
            "connection: close\r\n\r\n"
        });
        if socket.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        for chunk in &answer.chunks {
            let text =
                if chunked { format!("{:x}\r\n{chunk}\r\n", chunk.len()) } else { chunk.clone() };
            if socket.write_all(text.as_bytes()).await.is_err() {
                return;
            }
            socket.flush().await.unwrap();
        }
        match answer.after {
            After::Keep => {
                let _ = socket.write_all(b"0\r\n\r\n").await;
            }
            After::Close | After::Drop => return,
            After::Hang => {
                let mut byte = [0];
                let _ = socket.read(&mut byte).await;
                disconnected.notify_one();
                return;
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let line = lines.next().unwrap_or_default().to_owned();
            let headers: Vec<_> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let length = headers
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.parse().unwrap());
            if body.len() >= length {
                let json = serde_json::from_str(&body[..length]).unwrap_or_default();
                buffer.drain(..head.len() + 4 + length);
                return Some(Received { line, headers, body: json });
            }
        }
        let mut more = [0; 4 << 10];
        match socket.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&more[..count]),
        }
    }
}
