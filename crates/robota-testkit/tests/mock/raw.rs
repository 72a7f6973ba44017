//! A raw HTTP client that shows tests the exact bytes.

use std::net::SocketAddr;

use robota_testkit::mock::MockServer;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) fn address(mock: &MockServer) -> SocketAddr {
    mock.origin().strip_prefix("http://").unwrap().parse().unwrap()
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// Sends a request and returns everything until the connection closes.
pub(crate) async fn exchange(mock: &MockServer, request: &str) -> Vec<u8> {
    let mut socket = TcpStream::connect(address(mock)).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    // A reset also ends the response.
    let _ = socket.read_to_end(&mut all).await;
    all
}

pub(crate) async fn post(mock: &MockServer, path: &str, body: Value) -> Response {
    let request = request("POST", path, "connection: close\r\n", &body.to_string());
    Response::parse(&exchange(mock, &request).await)
}

pub(crate) async fn get(mock: &MockServer, path: &str) -> Response {
    let request = request("GET", path, "connection: close\r\n", "");
    Response::parse(&exchange(mock, &request).await)
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) head: String,
    /// The chunks of a chunked body; otherwise the body as one element.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// Whether the body ended correctly.
    pub(crate) whole: bool,
}

impl Response {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Self { head: String::new(), chunks: Vec::new(), whole: false };
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut rest = &bytes[end + 4..];
        if !head.contains("transfer-encoding: chunked") {
            return Self { head, chunks: vec![rest.to_vec()], whole: true };
        }
        let mut chunks = Vec::new();
        while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16);
            let (start, size) = (line + 2, size.unwrap());
            if size == 0 {
                return Self { head, chunks, whole: true };
            }
            chunks.push(rest[start..start + size].to_vec());
            rest = &rest[start + size + 2..];
        }
        Self { head, chunks, whole: false }
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn body(&self) -> String {
        String::from_utf8(self.chunks.concat()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&prefix))
    }
}
