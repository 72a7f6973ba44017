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

use super::event_stream::{self, Event, StreamOf};
use super::http;
use super::link::{self, LinkError};
use super::nesting::flatten;
use super::options::McpClientOptions;
use crate::config::{HttpEndpoint, ServerConfig};
use crate::error::McpError;
use crate::oauth::{self, SendError, StoredToken};

/// How long the server may take to name the address for messages.
const ENDPOINT_LIMIT: Duration = Duration::from_secs(15);

/// Receives messages from an event stream and sends them as requests of their own.
pub(super) struct SseTransport {
    requests: Requests,
    post: Url,
    received: mpsc::Receiver<Value>,
    _stop: DropGuard,
}

/// Sends requests with the headers of the configuration and the token of a login.
#[derive(Clone)]
struct Requests {
    client: reqwest::Client,
    headers: HeaderMap,
    token: Option<StoredToken>,
}

impl Requests {
    async fn send(
        &self,
        request: impl Fn(&reqwest::Client) -> reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, LinkError> {
        let request = || request(&self.client).headers(self.headers.clone());
        let response = oauth::send(self.token.as_ref(), request).await;
        response.map_err(|error| match error {
            SendError::Token(error) => LinkError::new(error),
            SendError::Request(error) => LinkError::of_request(error),
        })
    }
}

/// Opens the stream and waits for the address for messages.
pub(super) async fn connect(
    config: &ServerConfig,
    endpoint: &HttpEndpoint,
    headers: HeaderMap,
    options: &McpClientOptions,
) -> Result<SseTransport, Box<McpError>> {
    let failed =
        |problem: String| Box::new(McpError::Connect { server: config.name.clone(), problem });
    let client = http::client().map_err(failed)?;
    let base = Url::parse(&endpoint.url).map_err(|error| failed(error.to_string()))?;
    let token = http::login(config, options, &headers).await.map_err(failed)?;
    let requests = Requests { client, headers, token };
    let response =
        requests.send(|client| client.get(base.clone()).header(ACCEPT, "text/event-stream"));
    let response = response.await.map_err(|error| failed(error.to_string()))?;
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
            () = forward(response, events) => {}
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
    // The request carries the user's token, which belongs to the configured server.
    if post.origin() != base.origin() {
        return Err(failed(format!("it asks to send messages to another server: {post}")));
    }
    // Bounded: a server that sends faster than messages are handled waits.
    let (values, received) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Some(event) = incoming.recv().await {
            let Ok(value) = serde_json::from_slice(&flatten(event.data.as_bytes())) else {
                continue;
            };
            if values.send(value).await.is_err() {
                return;
            }
        }
    });
    Ok(SseTransport { requests, post, received, _stop: guard })
}

async fn forward(response: reqwest::Response, events: mpsc::Sender<Event>) {
    let mut found = Box::pin(event_stream::read(response, StreamOf::Session));
    while let Some(Ok(event)) = found.next().await {
        if events.send(event).await.is_err() {
            return;
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let body = serde_json::to_vec(&item).map_err(LinkError::new);
        let (requests, post) = (self.requests.clone(), self.post.clone());
        async move {
            let body = body?;
            let response = requests.send(|client| {
                let request = client.post(post.clone()).body(body.clone());
                request.header(CONTENT_TYPE, "application/json")
            });
            let status = response.await?.status();
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
