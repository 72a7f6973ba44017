//! Servers of the first version of the protocol over HTTP: answers come on one stream of events, and
//! messages go to an address that the stream names first.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::http;
use super::link::{self, LinkError, MAX_MESSAGE};
use super::options::McpOptions;
use crate::config::{HttpEndpoint, ServerConfig};
use crate::error::McpError;

/// How long the server may take to name the address for messages.
const ENDPOINT_LIMIT: Duration = Duration::from_secs(15);

/// The transport to a server.
pub(super) struct SseTransport {
    client: reqwest::Client,
    headers: HeaderMap,
    post: Url,
    received: mpsc::Receiver<Value>,
    _stop: DropGuard,
}

/// Opens the stream and waits for the address for messages.
pub(super) async fn connect(
    config: &ServerConfig,
    endpoint: &HttpEndpoint,
    options: &McpOptions,
) -> Result<SseTransport, Box<McpError>> {
    let failed =
        |problem: String| Box::new(McpError::Connect { server: config.name.clone(), problem });
    let client = http::client().map_err(failed)?;
    let headers = http::headers(endpoint, options).await.map_err(failed)?;
    let base = Url::parse(&endpoint.url).map_err(|error| failed(error.to_string()))?;
    let request =
        client.get(base.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
    let response =
        request.send().await.map_err(|error| failed(super::connection::error_chain(&error)))?;
    if response.status() == reqwest::StatusCode::UNAUTHORIZED {
        return Err(Box::new(McpError::NeedsLogin { server: config.name.clone() }));
    }
    if !response.status().is_success() {
        return Err(failed(format!("it answered with HTTP status {}", response.status())));
    }
    let (events, mut incoming) = mpsc::channel(64);
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = stopped.cancelled() => {}
            () = read_events(response, events) => {}
        }
    });
    let guard = stop.drop_guard();
    let post = tokio::time::timeout(ENDPOINT_LIMIT, async {
        while let Some(event) = incoming.recv().await {
            if event.name == "endpoint" {
                return Some(event.data);
            }
        }
        None
    });
    let post = post.await.ok().flatten();
    let post = post.ok_or_else(|| failed("it named no address for messages".to_owned()))?;
    let post = base.join(post.trim()).map_err(|error| failed(error.to_string()))?;
    if post.origin() != base.origin() {
        return Err(failed(format!("it wants messages to be sent to another server: {post}")));
    }
    let (values, received) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Some(event) = incoming.recv().await {
            let Ok(value) = serde_json::from_str(&event.data) else { continue };
            if values.send(value).await.is_err() {
                return;
            }
        }
    });
    Ok(SseTransport { client, headers, post, received, _stop: guard })
}

impl Transport<RoleClient> for SseTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let body = serde_json::to_vec(&item).map_err(LinkError::new);
        let request = self.client.post(self.post.clone()).headers(self.headers.clone());
        async move {
            let request = request.header(CONTENT_TYPE, "application/json").body(body?);
            let response = request.send().await.map_err(LinkError::new)?;
            let status = response.status();
            if status.is_success() {
                Ok(())
            } else {
                Err(LinkError::new(format!("the server answered with HTTP status {status}")))
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let value = self.received.recv().await?;
            if let Some(message) = link::decode(value) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.received.close();
        Ok(())
    }
}

/// An event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    data: String,
}

async fn read_events(response: reqwest::Response, events: mpsc::Sender<Event>) {
    let mut parser = Parser::default();
    let mut bytes = response.bytes_stream();
    while let Some(Ok(chunk)) = bytes.next().await {
        let Ok(found) = parser.push(&chunk) else { return };
        for event in found {
            if events.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// Splits a stream into events.
#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    event: Event,
    /// The last byte was a carriage return, so a line feed belongs to it.
    after_return: bool,
}

/// An event is too long.
#[derive(Debug)]
struct TooLong;

impl Parser {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut found = Vec::new();
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.line);
                    found.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                byte => self.line.push(*byte),
            }
            if self.line.len() + self.event.data.len() > MAX_MESSAGE {
                return Err(TooLong);
            }
        }
        Ok(found)
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            if event.data.ends_with('\n') {
                event.data.pop();
            }
            return (!event.data.is_empty()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            // Comments and fields without a meaning here.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
