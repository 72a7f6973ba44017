//! A small HTTP server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

/// A request that a test server got.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// What a test server answers.
pub(crate) struct Response {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    /// What follows the body, again and again, without an end. Such a body has no length.
    pub(crate) endless: Option<String>,
}

impl Response {
    pub(crate) fn json(value: &Value) -> Self {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        Self { status: "200 OK", headers, body: value.to_string(), endless: None }
    }

    pub(crate) fn status(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: String::new(), endless: None }
    }
}

/// A small HTTP server.
pub(crate) struct Http {
    pub(crate) origin: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Http {
    pub(crate) async fn start(
        answer: impl Fn(&str, &Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (seen, base, answer) = (requests.clone(), origin.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, base, answer) = (seen.clone(), base.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    while let Some(request) = read(&mut stream).await {
                        seen.lock().unwrap().push(request.clone());
                        let Response { status, headers, body, endless } = answer(&base, &request);
                        let mut text = format!("HTTP/1.1 {status}\r\n");
                        match endless {
                            Some(_) => text.push_str("Connection: close\r\n"),
                            None => text.push_str(&format!("Content-Length: {}\r\n", body.len())),
                        }
                        for (name, value) in headers {
                            text.push_str(&format!("{name}: {value}\r\n"));
                        }
                        text.push_str(&format!("\r\n{body}"));
                        let output = stream.get_mut();
                        if output.write_all(text.as_bytes()).await.is_err() {
                            return;
                        }
                        match endless.as_deref() {
                            None => continue,
                            // An open stream that says nothing more.
                            Some("") => std::future::pending().await,
                            Some(piece) => {
                                while output.write_all(piece.as_bytes()).await.is_ok() {}
                                return;
                            }
                        }
                    }
                });
            }
        });
        Self { origin, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut BufReader<tokio::net::TcpStream>) -> Option<Request> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Returns the stream of the older transport: it names the address for messages and stays open.
pub(crate) fn event_stream(post: &str) -> Response {
    Response {
        headers: vec![("Content-Type", "text/event-stream".to_owned())],
        body: format!("event: endpoint\ndata: {post}\n\n"),
        endless: Some(String::new()),
        ..Response::status("200 OK")
    }
}

/// Answers as an MCP server of the versions with a handshake.
pub(crate) fn rpc(body: &str) -> Response {
    let message: Value = serde_json::from_str(body).unwrap();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
        "ping" => json!({}),
        method if method.starts_with("notifications/") => return Response::status("202 Accepted"),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Response::json(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    Response::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
