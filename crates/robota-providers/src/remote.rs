//! Model calls that another host executes (CORE-29).
//!
//! [`RemoteProvider`] sends each request, with the images that it refers to, as one HTTP POST.
//! The other host answers with [`execute`], behind any HTTP server: it calls its own provider and
//! returns the answer as an event stream. So keys and network access can be kept on one host.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use robota_core::blob::Blobs;
use robota_core::call::CallContext;
use robota_core::env_ref::Secret;
use robota_core::error::ErrorKind;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;
use robota_core::provider::{
    Capabilities, Delta, DeltaStream, FailureReason, ModelRequest, Provider, ProviderError,
};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::BuildError;
use crate::failure::{Failure, ServiceInfo};
use crate::host::Host;
use crate::http::{self, Limits, Method, Request, Scrubber, Sse};
use crate::wire::encode::blobs_of;

/// The most bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// The body of a request.
#[derive(Serialize, Deserialize)]
struct RemoteRequest {
    request: ModelRequest,
    /// Images of the conversation by their hash, in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    blobs: BTreeMap<String, String>,
}

/// One event of the answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RemoteEvent {
    Delta(Delta),
    Error(ProviderError),
}

/// A provider whose model calls another host executes.
///
/// ```
/// use robota_core::env_ref::Secret;
/// use robota_core::provider::Capabilities;
/// use robota_providers::{Host, RemoteProvider};
///
/// let token = Some(Secret::new("token-of-this-host"));
/// let provider = RemoteProvider::new("http://models.internal/execute", token, &Host::default())?;
/// let provider = provider.with_capabilities(Capabilities::default());
/// # Ok::<_, robota_providers::BuildError>(())
/// ```
#[derive(Debug)]
pub struct RemoteProvider {
    url: Url,
    headers: HeaderMap,
    host: Host,
    scrub: Scrubber,
    capabilities: Capabilities,
}

impl RemoteProvider {
    /// Creates a provider that sends its requests to `url`, with `token` as bearer token.
    ///
    /// # Errors
    /// When the address is not an HTTP address, or the token cannot be sent in a header.
    pub fn new(url: &str, token: Option<Secret>, host: &Host) -> Result<Self, BuildError> {
        let bad = |reason: String| BuildError::Transport { reason };
        let address = Url::parse(url).map_err(|error| bad(format!("`{url}`: {error}")))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(bad(format!("`{url}` is not an http or https address")));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut secrets = Vec::new();
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                .map_err(|_| bad("the token has characters that no header can have".to_owned()))?;
            // Keeps the token out of debug output and out of the tables of HTTP/2.
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
            secrets.push(token.expose().to_owned());
        }
        host.client.prepare(&address)?;
        Ok(Self {
            url: address,
            headers,
            host: host.clone(),
            scrub: Scrubber::new(secrets),
            capabilities: Capabilities::default(),
        })
    }

    /// Sets what the provider of the other host can do.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    fn service(&self, model: &str) -> ServiceInfo {
        ServiceInfo {
            vendor: "remote".to_owned(),
            model: model.to_owned(),
            address: http::display_address(&self.url),
            ..ServiceInfo::default()
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<http::Response, Failure> {
        let (url, headers) = (self.url.clone(), self.headers.clone());
        let request = Request { method: Method::Post, url, headers, body: body.into() };
        let response = self.host.client.send(request).await?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let status = response.status;
        let retry_after = http::retry_after(&response.headers, self.host.clock.now());
        let mut failure = Failure::from_body(&response.text(MAX_ERROR_BODY).await?);
        failure.status = Some(status);
        failure.retry_after = retry_after.or(failure.retry_after);
        Err(failure)
    }
}

#[async_trait::async_trait]
impl Provider for RemoteProvider {
    fn name(&self) -> &str {
        "remote"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let service = self.service(&request.model);
        let body = encode(request, &*context.blobs).await?;
        let scrub = self.scrub.clone();
        let response =
            self.send(body).await.map_err(|failure| failure.into_error(&service, &scrub))?;
        Ok(Answer {
            bytes: response.into_stream(),
            sse: Sse::new(Limits::default()),
            ready: VecDeque::new(),
            ended: false,
            service,
            scrub,
        }
        .into_deltas()
        .boxed())
    }
}

/// Encodes a request together with the images that it refers to.
async fn encode(request: ModelRequest, store: &dyn Blobs) -> Result<Vec<u8>, ProviderError> {
    let failed = |error: &dyn std::fmt::Display| {
        ProviderError::new(ErrorKind::Validation, format!("cannot encode the request: {error}"))
    };
    let mut blobs = BTreeMap::new();
    let messages = request.messages.iter().map(|message| &**message);
    for blob in messages.chain(&request.instruction).flat_map(blobs_of) {
        if !blobs.contains_key(&blob.sha256)
            && let Some(bytes) = store.get(blob).await.map_err(|error| failed(&error))?
        {
            blobs.insert(blob.sha256.clone(), BASE64.encode(bytes));
        }
    }
    serde_json::to_vec(&RemoteRequest { request, blobs }).map_err(|error| failed(&error))
}

/// An answer that is being received.
struct Answer {
    bytes: futures::stream::BoxStream<'static, Result<Bytes, reqwest::Error>>,
    sse: Sse,
    ready: VecDeque<Result<Delta, ProviderError>>,
    /// Whether `ready` has the last item of the answer.
    ended: bool,
    service: ServiceInfo,
    scrub: Scrubber,
}

impl Answer {
    fn into_deltas(self) -> impl Stream<Item = Result<Delta, ProviderError>> + Send {
        futures::stream::unfold(self, |mut answer| async move {
            while answer.ready.is_empty() && !answer.ended {
                answer.receive().await;
            }
            Some((answer.ready.pop_front()?, answer))
        })
    }

    /// Waits for more bytes and decodes the events in them.
    async fn receive(&mut self) {
        let mut events = Vec::new();
        let mut on_event = |_: &str, data: &str| {
            let event = serde_json::from_str::<RemoteEvent>(data)
                .map_err(|error| Failure::unreadable(&error, data))?;
            events.push(event);
            Ok(())
        };
        let result = match self.bytes.next().await {
            Some(Ok(chunk)) => self.sse.push(&chunk, &mut on_event),
            Some(Err(error)) => Err(http::network_failure(&error)),
            None => match self.sse.finish(&mut on_event) {
                Ok(Some(other)) => Err(Failure::from_body(&other)),
                Ok(None) => Err(Failure::truncated()),
                Err(failure) => Err(failure),
            },
        };
        for event in events {
            let item = match event {
                RemoteEvent::Delta(delta) => Ok(delta),
                RemoteEvent::Error(error) => Err(error),
            };
            self.push(item);
        }
        if let Err(failure) = result {
            self.push(Err(failure.into_error(&self.service, &self.scrub)));
        }
    }

    /// Adds an item, unless the answer has ended.
    fn push(&mut self, item: Result<Delta, ProviderError>) {
        if !self.ended {
            // What follows the end is ignored: a caller must not receive two ends.
            self.ended = matches!(item, Ok(Delta::End(_)) | Err(_));
            self.ready.push_back(item);
        }
    }
}

/// Executes a request of a [`RemoteProvider`] with the given provider. `body` is the body of the
/// HTTP request; the returned chunks are the body of the answer, of type `text/event-stream`.
/// Dropping them ends the model call.
///
/// The caller checks who may send requests, and limits the size of `body`.
///
/// # Errors
/// When the body is not such a request.
pub async fn execute(
    provider: Arc<dyn Provider>,
    body: &[u8],
) -> Result<impl Stream<Item = Bytes> + Send + use<>, ProviderError> {
    let invalid = |reason: String| {
        ProviderError::new(ErrorKind::Validation, format!("cannot read the request: {reason}"))
            .with_reason(FailureReason::BadRequest)
    };
    let remote: RemoteRequest =
        serde_json::from_slice(body).map_err(|error| invalid(error.to_string()))?;
    let mut blobs = Vec::with_capacity(remote.blobs.len());
    for (sha256, content) in remote.blobs {
        let bytes = BASE64.decode(content).map_err(|error| invalid(error.to_string()))?;
        // The other host trusts the hash as the name of the content, so it is checked.
        if BlobRef::of(&bytes).sha256 != sha256 {
            return Err(invalid(format!("blob {sha256} has other content")));
        }
        blobs.push((sha256, bytes));
    }
    let context = CallContext::detached().with_blobs(Arc::new(RequestBlobs(blobs)));
    let answer = match provider.stream(remote.request, context).await {
        Ok(deltas) => {
            deltas.map(|item| item.map_or_else(RemoteEvent::Error, RemoteEvent::Delta)).boxed()
        }
        Err(error) => futures::stream::iter([RemoteEvent::Error(error)]).boxed(),
    };
    // The answer keeps the provider.
    Ok(answer.map(move |event| {
        let _ = &provider;
        sse_event(&event)
    }))
}

fn sse_event(event: &RemoteEvent) -> Bytes {
    match serde_json::to_string(event) {
        Ok(json) => format!("data: {json}\n\n").into(),
        // The receiver reports an answer without an end.
        Err(error) => format!(": {error}\n\n").into(),
    }
}

/// The images of one request.
struct RequestBlobs(Vec<(String, Vec<u8>)>);

#[async_trait::async_trait]
impl Blobs for RequestBlobs {
    async fn put(&self, _bytes: &[u8]) -> Result<BlobRef, JournalError> {
        Err(JournalError::Unsuitable {
            place: "a request from another host".to_owned(),
            reason: "its blobs cannot be changed".to_owned(),
        })
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        let found = self.0.iter().find(|(sha256, _)| *sha256 == blob.sha256);
        Ok(found.map(|(_, bytes)| bytes.clone()))
    }
}

#[cfg(test)]
mod tests;
