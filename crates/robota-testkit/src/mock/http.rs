//! The part of HTTP/1.1 that model clients use. It does not use an HTTP library, because the tests
//! control what HTTP libraries hide: chunk boundaries, the moment a socket closes, and incomplete
//! responses.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _};

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 256 * 1024;
/// The largest body of a request, in bytes.
const MAX_BODY: usize = 256 * 1024 * 1024;

/// A request with its whole body.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Reads the next request; returns `None` if the client is done, or sends something else.
pub(super) async fn read<R>(reader: &mut R) -> Option<Request>
where
    R: AsyncBufRead + AsyncRead + Unpin,
{
    let mut size = 0;
    let first = line(reader, &mut size).await?;
    let mut fields = first.split(' ');
    let (method, target) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = line(reader, &mut size).await?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        // Header names have no case.
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, headers, body: Vec::new() };
    request.body = body(reader, &request).await?;
    Some(request)
}

async fn body<R>(reader: &mut R, request: &Request) -> Option<Vec<u8>>
where
    R: AsyncBufRead + AsyncRead + Unpin,
{
    let mut body = Vec::new();
    if request.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let size = line(reader, &mut 0).await?;
            let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
            exactly(reader, &mut body, size).await?;
            line(reader, &mut 0).await?;
            if size == 0 {
                return Some(body);
            }
        }
    }
    let size = request.header("content-length").map_or(Some(0), |value| value.parse().ok())?;
    exactly(reader, &mut body, size).await?;
    Some(body)
}

async fn exactly<R>(reader: &mut R, body: &mut Vec<u8>, size: usize) -> Option<()>
where
    R: AsyncRead + Unpin,
{
    // Before memory is reserved: the size is what the client claims.
    if body.len() + size > MAX_BODY {
        return None;
    }
    let start = body.len();
    body.resize(start + size, 0);
    reader.read_exact(body.get_mut(start..)?).await.ok()?;
    Some(())
}

async fn line<R: AsyncBufRead + Unpin>(reader: &mut R, size: &mut usize) -> Option<String> {
    let mut line = Vec::new();
    let read = reader.take((MAX_HEAD - *size) as u64).read_until(b'\n', &mut line).await.ok()?;
    *size += read;
    // Without a line end the client is gone, or the head is too large.
    if line.pop()? != b'\n' {
        return None;
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).ok()
}

/// Encodes the head of a response, including the empty line.
pub(super) fn head(status: u16, headers: &[(String, String)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Encodes bytes as one chunk of a body.
pub(super) fn chunk(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
