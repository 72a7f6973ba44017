//! The address to which the browser returns after a login, on this machine.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::login::LoginError;

/// The longest request that a browser may send, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// How long one connection may take to send its request.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// The most connections that are read at the same time.
const MAX_CONNECTIONS: usize = 32;

/// Waits for the browser.
pub(super) struct Redirect {
    listener: TcpListener,
    port: u16,
}

impl Redirect {
    /// Listens on this port, or on a free one if it is 0. Loopback only: no other machine may send the
    /// code.
    pub(super) async fn listen(port: u16) -> Result<Self, LoginError> {
        let failed =
            |error: std::io::Error| LoginError::Redirect { port, problem: error.to_string() };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    /// Returns the address, which the authorisation server compares with the registered one.
    pub(super) fn url(&self) -> String {
        format!("http://localhost:{}/callback", self.port)
    }

    /// Waits until the browser returns with `state`, and returns the address and the connection, which
    /// waits for a page. Any page or program of this machine can send requests here; those without the
    /// state are refused and do not end the login.
    pub(super) async fn returned(&self, state: &str) -> Result<(Url, TcpStream), LoginError> {
        // Browsers open connections in advance and send nothing on them, so all are read at the same
        // time.
        let mut connections = FuturesUnordered::new();
        loop {
            let path = tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted.map_err(|error| LoginError::Redirect {
                        port: self.port,
                        problem: error.to_string(),
                    })?;
                    connections.push(tokio::time::timeout(REQUEST_LIMIT, read_path(stream)));
                    continue;
                }
                Some(read) = connections.next() => read.ok().flatten(),
            };
            let Some((path, mut stream)) = path else { continue };
            match Url::parse(&format!("http://localhost{path}")) {
                Ok(url) if url.path() != "/callback" => {
                    // For instance the request for an icon.
                    answer(&mut stream, "404 Not Found", "Not found").await;
                }
                Ok(url) if has_state(&url, state) => return Ok((url, stream)),
                _ => {
                    let text = "This address does not belong to the login that is waited for.";
                    answer(&mut stream, "400 Bad Request", text).await;
                }
            }
        }
    }
}

/// Returns whether an address has this state, and no other.
pub(super) fn has_state(url: &Url, state: &str) -> bool {
    let mut states = url.query_pairs().filter(|(name, _)| name == "state");
    states.next().is_some_and(|(_, given)| given == state) && states.next().is_none()
}

/// Reads the path of a request.
async fn read_path(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while !request.windows(2).any(|pair| pair == b"\r\n") {
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(chunk.get(..read)?);
        if request.len() > MAX_REQUEST {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let mut words = text.lines().next()?.split(' ');
    // A page of another site could make the browser send other requests here.
    (words.next()? == "GET").then_some(())?;
    Some((words.next()?.to_owned(), stream))
}

/// Answers with a page of one line.
pub(super) async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let text: String = text
        .chars()
        .map(|it| match it {
            // The text can contain what the authorisation server wrote in the address.
            '<' | '>' | '&' => ' ',
            other => other,
        })
        .collect();
    let page = format!("<!doctype html><meta charset=utf-8><title>Robota</title><p>{text}</p>");
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}
