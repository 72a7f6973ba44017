//! A web backend: `POST` sends a message, `GET` follows the session by server-sent events. A browser
//! that reconnects sends its last event id and misses nothing.
//!
//! The server here reads just enough HTTP for the example; a program uses a web framework.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use futures::StreamExt as _;
use robota::runtime::{Pool, PoolAgent, PoolAgentOptions, Template};
use robota::scripted::{Script, ScriptedProvider};
use robota::session::{EventFilter, Session, StartAt, SubscriptionItem};
use robota::{Cursor, Envelope, Event, FileStore};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Answers one request: sends a message, or streams events.
async fn answer(stream: TcpStream, agent: PoolAgent) -> Result<(), Failure> {
    let mut stream = BufReader::new(stream);
    let (mut method, mut length, mut since) = (String::new(), 0, StartAt::Start);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if method.is_empty() {
            line.split(' ').next().unwrap_or("").clone_into(&mut method);
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        // Each client writes the names in its own way.
        match (name.to_ascii_lowercase().as_str(), value.trim()) {
            ("content-length", value) => length = value.parse()?,
            ("last-event-id", value) => since = StartAt::After(value.parse::<Cursor>()?),
            _ => {}
        }
    }
    if method == "POST" {
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let input = agent.send(String::from_utf8(body)?).await?;
        let text = format!("HTTP/1.1 202 Accepted\r\nconnection: close\r\n\r\n{input}");
        return Ok(stream.write_all(text.as_bytes()).await?);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let mut events = agent.subscribe(since, EventFilter::Minimal).await?;
    while let Some(item) = events.next().await {
        if let SubscriptionItem::Event(event) = item? {
            let (id, data) = (event.envelope.cursor(), event.envelope.to_line());
            stream.write_all(format!("id: {id}\ndata: {data}\n\n").as_bytes()).await?;
        }
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    // A real model: let model = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let model = ScriptedProvider::new(Script::new().text("Hello!").text("Still here."));
    let pool = Pool::builder(FileStore::new(folder.path()))
        .template(Template::new("chat", Session::builder(model, "scripted")))
        .start();
    let id = "user:42/agent:chat/session:web";
    let agent = pool.create(id, "chat", PoolAgentOptions::default()).await?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let served = agent.clone();
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A browser that disconnects ends its request.
            drop(tokio::spawn(answer(stream, served.clone())));
        }
    });

    // Acts as a browser: sends a message, reads the answer, loses its connection, and reconnects.
    let post = |text: &'static str| async move {
        let mut stream = TcpStream::connect(address).await?;
        let length = text.len();
        let request = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{text}");
        stream.write_all(request.as_bytes()).await?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await?;
        Ok::<bool, Failure>(reply.starts_with("HTTP/1.1 202"))
    };
    assert!(post("Hi").await?);
    let (first, seen) = read_answer(address, None).await?;
    assert!(post("Are you there?").await?);
    let (second, _) = read_answer(address, Some(seen)).await?;
    println!("{first} {second}");
    assert_eq!((first.as_str(), second.as_str()), ("Hello!", "Still here."));
    server.abort();
    pool.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Follows the events after `since` until the next whole answer; returns it and its event id.
async fn read_answer(
    address: std::net::SocketAddr,
    since: Option<String>,
) -> Result<(String, String), Failure> {
    let stream = TcpStream::connect(address).await?;
    let mut stream = BufReader::new(stream);
    let last = since.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
    stream.write_all(format!("GET / HTTP/1.1\r\n{last}\r\n").as_bytes()).await?;
    let (mut id, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err("the stream ended".into());
        }
        if let Some(value) = line.strip_prefix("id: ") {
            value.trim_end().clone_into(&mut id);
        }
        if let Some(data) = line.strip_prefix("data: ")
            && let Event::AssistantMessage(answer) =
                Envelope::decode(data.trim_end().as_bytes())?.event
        {
            return Ok((answer.message.text(), id));
        }
    }
}
