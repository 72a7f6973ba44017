use std::sync::Mutex;
use std::time::Duration;

use robota_core::error::Diagnose as _;
use robota_core::ids::CountingIds;
use robota_core::journal::{JournalStore as _, MemoryStore};
use robota_core::message::{Block, Image, Message};
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const TOKEN: &str = "token-of-this-host";

/// What the test's server does with a request.
#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Execute,
    /// Closes the connection after the first event of the answer.
    Cut,
}

/// Starts a server that executes requests with `provider`, and returns its address.
async fn serve(provider: Arc<dyn Provider>, behaviour: Behaviour) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (head, body) = read_request(&mut stream).await;
            if !head.to_lowercase().contains(&format!("authorization: bearer {TOKEN}")) {
                let body = r#"{"error":{"message":"unknown token"}}"#;
                let head = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n";
                let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
                continue;
            }
            let answer = execute(provider.clone(), &body).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
            let head = format!("{head}Connection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let count = if behaviour == Behaviour::Cut { 1 } else { usize::MAX };
            let chunks: Vec<_> = answer.take(count).collect().await;
            for chunk in chunks {
                stream.write_all(&chunk).await.unwrap();
            }
        }
    });
    format!("http://{address}/execute")
}

async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length: ").and_then(|value| value.parse::<usize>().ok())
        });
        if bytes.len() >= end + 4 + length.unwrap() {
            return (head, bytes.split_off(end + 4));
        }
    }
}

fn remote(address: &str, token: &str) -> RemoteProvider {
    RemoteProvider::new(address, Some(Secret::new(token)), &Host::default()).unwrap()
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("m", Arc::new(messages.into_iter().map(Arc::new).collect()))
}

/// Passes calls on, and keeps the images that it could read.
struct ImageReader(ScriptedProvider, Mutex<Vec<Vec<u8>>>);

#[async_trait::async_trait]
impl Provider for ImageReader {
    fn name(&self) -> &str {
        "images"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        for blob in request.messages.iter().flat_map(|message| blobs_of(message)) {
            let bytes = context.blobs.get(blob).await.unwrap().unwrap();
            self.1.lock().unwrap().push(bytes);
        }
        self.0.stream(request, context).await
    }
}

#[tokio::test]
async fn core_29_another_host_executes_a_model_call() {
    let answer = ScriptedAnswer::new().thinking("hm", Some("s")).text("Look:");
    let answer = answer.tool("look", serde_json::json!({"at": "x"}));
    let script = || Script::new().answer(answer.clone());
    let here = ScriptedProvider::new(script());
    let there = Arc::new(ImageReader(ScriptedProvider::new(script()), Mutex::default()));
    let address = serve(there.clone(), Behaviour::Execute).await;

    let store = MemoryStore::new();
    let blobs = store.blobs(&"agent:a/session:b".into());
    let blob = blobs.put(b"picture").await.unwrap();
    let mut message = Message::user(&CountingIds::default(), "What is this?");
    let image = Image { blob, media_type: "image/png".into(), extra: serde_json::Map::new() };
    message.content.push(Block::Image(image));
    let request = request(vec![message]);
    let context = CallContext::detached().with_blobs(blobs);

    let expected = here.stream(request.clone(), context.clone()).await.unwrap();
    let expected: Vec<_> = expected.collect().await;
    let answer = remote(&address, TOKEN).stream(request.clone(), context).await.unwrap();
    let answer: Vec<_> = answer.collect().await;
    assert_eq!(answer, expected);
    assert!(matches!(answer.last(), Some(Ok(Delta::End(_)))));
    assert_eq!(*there.1.lock().unwrap(), [b"picture".to_vec()]);
    let sent = serde_json::to_value(&there.0.requests()[0]).unwrap();
    assert_eq!(sent, serde_json::to_value(&request).unwrap());
}

#[tokio::test]
async fn core_29_failures_of_the_other_host_keep_their_reason() {
    let error = ProviderError::new(ErrorKind::Provider, "slow down")
        .with_reason(FailureReason::RateLimit)
        .with_retry_after(Duration::from_secs(7));
    let there = ScriptedProvider::new(Script::new().error(error.clone()));
    let address = serve(Arc::new(there), Behaviour::Execute).await;
    let call = async |address: &str, token: &str| {
        let remote = remote(address, token);
        match remote.stream(request(Vec::new()), CallContext::detached()).await {
            Ok(deltas) => deltas.collect::<Vec<_>>().await.pop().unwrap().unwrap_err(),
            Err(error) => error,
        }
    };
    assert_eq!(call(&address, TOKEN).await, error);

    let refused = call(&address, "another-token").await;
    assert_eq!(refused.reason, Some(FailureReason::BadKey));
    assert!(!format!("{refused:?}").contains("another-token"));

    let there = ScriptedProvider::new(Script::new().text("a long answer"));
    let cut = call(&serve(Arc::new(there), Behaviour::Cut).await, TOKEN).await;
    assert_eq!(cut.reason, Some(FailureReason::Truncated));
    assert!(cut.retryable());
}

#[tokio::test]
async fn a_request_that_is_not_one_is_refused() {
    let provider: Arc<dyn Provider> = Arc::new(ScriptedProvider::new(Script::new()));
    let mut remote = serde_json::json!({ "request": request(Vec::new()) });
    remote["blobs"] = serde_json::json!({ "0123": BASE64.encode("other") });
    for body in [Vec::new(), b"{}".to_vec(), remote.to_string().into_bytes()] {
        let refused = execute(provider.clone(), &body).await.err().unwrap();
        assert_eq!(refused.reason, Some(FailureReason::BadRequest), "{refused}");
    }
    for address in ["no address", "ftp://host/"] {
        assert!(RemoteProvider::new(address, None, &Host::default()).is_err());
    }
}
