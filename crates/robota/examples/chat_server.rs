//! A chat server: `curl -d 'Hi' http://ADDRESS/alice` sends a message of Alice and prints the answer.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::runtime::{Pool, PoolAgentOptions, Template};
use robota::scripted::{Script, ScriptedProvider};
use robota::{FileStore, Session};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Answers the message of one request. Each path is a conversation of its own.
async fn answer(stream: TcpStream, pool: Pool) -> Result<(), Failure> {
    let (mut stream, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await? > 0 {}
    let name = head.split_whitespace().nth(1).unwrap_or_default().trim_matches('/');
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length:").nth(1).unwrap_or("0").split_whitespace().next();
    let mut message = Vec::new();
    (&mut stream).take(length.unwrap_or("0").parse()?).read_to_end(&mut message).await?;
    let id = format!("user:{name}/agent:chat/session:web");
    let agent = match pool.get(&id.as_str().into()) {
        Some(agent) => agent,
        None => pool.create(id.as_str(), "chat", PoolAgentOptions::default()).await?,
    };
    let text = agent.run(String::from_utf8(message)?).await?;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
    Ok(stream.write_all((head + &text).as_bytes()).await?)
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    // A real model: let model = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let model = ScriptedProvider::new(Script::new().text("Hello!").text("Welcome.").text("Yes."));
    let chat = Template::new("chat", Session::builder(model, "scripted"));
    let pool = Pool::builder(FileStore::new(folder.path())).template(chat).start();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let served = pool.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(tokio::spawn(answer(stream, served.clone())));
        }
    });
    for (path, text, expected) in
        [("alice", "Hi", "Hello!"), ("bob", "Hi", "Welcome."), ("alice", "Still there?", "Yes.")]
    {
        let mut stream = TcpStream::connect(address).await?;
        let length = text.len();
        let request = format!("POST /{path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{text}");
        stream.write_all(request.as_bytes()).await?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await?;
        println!("{path}: {text}\n{reply}");
        assert!(reply.ends_with(&format!("\r\n\r\n{expected}")), "{reply}");
    }
    Ok(())
}
