//! The provider: one vendor, one address, one key, any of the wires.

mod build;
mod models;
mod probe;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use robota_core::blob::{Blobs, NoBlobs};
use robota_core::call::CallContext;
use robota_core::provider::{
    Capabilities, DeltaStream, FailureReason, ModelRequest, NativePayload, NativeWeb, PayloadKind,
    PayloadSink, Provider, ProviderError, WebSupport, check_native_web,
};
use serde_json::{Map, Value};
use url::Url;

pub use build::build;
pub use probe::Probe;
pub(crate) use stream::Reader;

use crate::failure::{About, Failure};
use crate::host::Host;
use crate::http::{self, Limits, Method, Reply, Request, Scrubber};
use crate::json::merge;
use crate::profile::{Quirks, Wire};
use crate::wire::cache::{PieceCache, Writer};
use crate::wire::{self, Encode};

/// At most this much of an error's body is read.
const ERROR_BODY: usize = 256 << 10;
/// At most this much of any other answer that is no stream.
const ANSWER_BODY: usize = 16 << 20;

/// A model's service, reached over one of the wires. Made by [`build`].
pub struct HttpProvider {
    vendor: String,
    wire: Wire,
    quirks: Quirks,
    base: Url,
    headers: HeaderMap,
    model: Option<String>,
    models_path: Option<String>,
    options: Map<String, Value>,
    timeout: Option<Duration>,
    host: Host,
    scrub: Scrubber,
    about: About,
    cache: PieceCache,
    search: AtomicBool,
    fetch: AtomicBool,
}

impl HttpProvider {
    /// The wire it speaks.
    #[must_use]
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// The model it uses when a request names none.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Where it is, without anything secret.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.about.place
    }

    /// Whether it takes pictures.
    #[must_use]
    pub fn takes_images(&self) -> bool {
        self.quirks.images
    }

    /// Counts the tokens of a request before it is sent; none when this wire cannot.
    ///
    /// # Errors
    /// When the service refuses or cannot be reached.
    pub async fn count_tokens(&self, request: &ModelRequest) -> Result<Option<u64>, ProviderError> {
        let request = self.named(request.clone());
        let about = self.about(&request.model);
        let fail = |failure: Failure| failure.into_error(&about, &self.scrub);
        let encoder = wire::encoder(self.wire);
        let body = self.body(encoder, &request, &NoBlobs).await;
        let body: Value = serde_json::from_slice(&body.bytes)
            .map_err(|error| fail(Failure::unreadable(&error, "our own request")))?;
        let Some((url, body)) = encoder.count(&self.base, &request.model, &body) else {
            return Ok(None);
        };
        let reply = self
            .send(Method::Post, url, body.to_string().into_bytes().into())
            .await
            .map_err(fail)?;
        let text = reply.text(ANSWER_BODY).await.map_err(fail)?;
        let answer: Value = serde_json::from_str(&text)
            .map_err(|error| fail(Failure::unreadable(&error, &text)))?;
        Ok(encoder.counted(&answer))
    }

    /// The request with the model of the settings where it names none.
    fn named(&self, mut request: ModelRequest) -> ModelRequest {
        if request.model.is_empty()
            && let Some(model) = &self.model
        {
            request.model.clone_from(model);
        }
        request
    }

    fn about(&self, model: &str) -> About {
        About { model: model.to_owned(), ..self.about.clone() }
    }

    async fn body(
        &self,
        encoder: &dyn Encode,
        request: &ModelRequest,
        blobs: &dyn Blobs,
    ) -> wire::Body {
        let mut options = Value::Object(self.options.clone());
        merge(&mut options, &Value::Object(request.options.clone()));
        let mut options = match options {
            Value::Object(options) => options,
            _ => Map::new(),
        };
        // What we write ourselves is not for options.
        for ours in [
            "model", "messages", "input", "contents", "tools", "stream", "api", "auth", "headers",
            "quirks",
        ] {
            options.shift_remove(ours);
        }
        let web = NativeWeb {
            search: request.native_web.search || self.search.load(Ordering::Relaxed),
            fetch: request.native_web.fetch || self.fetch.load(Ordering::Relaxed),
        };
        let writer =
            Writer { wire: self.wire, encoder, quirks: &self.quirks, cache: &self.cache, blobs };
        writer.body(request, &options, web).await
    }

    /// Sends, and turns an answer that is none into a failure.
    async fn send(&self, method: Method, url: Url, body: Bytes) -> Result<Reply, Failure> {
        let request = Request { method, url, headers: self.headers.clone(), body };
        let sending = self.host.client.send(request);
        let reply = match self.timeout {
            None => sending.await?,
            Some(limit) => tokio::time::timeout(limit, sending).await.map_err(|_| {
                Failure::of(
                    FailureReason::Connection,
                    format!("the service did not begin to answer for {} s", limit.as_secs_f64()),
                )
            })??,
        };
        if (200..300).contains(&reply.status) {
            return Ok(reply);
        }
        Err(self.refused(reply).await)
    }

    async fn refused(&self, reply: Reply) -> Failure {
        let status = reply.status;
        let after = http::after(&reply.headers, self.host.clock.now());
        let should_retry = http::should_retry(&reply.headers);
        let id = http::request_id(&reply.headers);
        let moved = reply
            .headers
            .get("location")
            .filter(|_| (300..400).contains(&status))
            .and_then(|place| place.to_str().ok())
            .and_then(|place| self.base.join(place).ok());
        let mut failure = match moved {
            Some(place) => Failure::of(
                FailureReason::BadRequest,
                format!(
                    "the service is elsewhere: it points to {}, and keys do not follow redirects",
                    http::place(&place)
                ),
            ),
            None => match reply.text(ERROR_BODY).await {
                Ok(body) => Failure::from_body(&body),
                Err(_) => Failure::new("the service gave no reason"),
            },
        };
        failure.status = Some(status);
        failure.retry_after = after.or(failure.retry_after);
        failure.should_retry = should_retry;
        failure.request_id = failure.request_id.or(id);
        failure
    }

    fn tell_request(&self, tap: &PayloadSink, body: &wire::Body) {
        if !body.left_out.is_empty() {
            tracing::debug!(vendor = %self.vendor, parts = ?body.left_out, "parts of the conversation were left out");
        }
        if tap.is_enabled() {
            let text = String::from_utf8_lossy(&body.bytes);
            tap.report(NativePayload {
                api_surface: Some(self.wire.name().to_owned()),
                kind: PayloadKind::Request,
                sequence: None,
                payload: payload(&self.scrub, &text),
                metadata: wire::encode::facts(&body.left_out),
            });
        }
    }

    fn tell_failure(&self, tap: &PayloadSink, failure: &Failure) {
        if !tap.is_enabled() {
            return;
        }
        let mut metadata = Map::new();
        if let Some(status) = failure.status {
            metadata.insert("status".to_owned(), status.into());
        }
        if let Some(id) = &failure.request_id {
            metadata.insert("request_id".to_owned(), self.scrub.text(id).into());
        }
        tap.report(NativePayload {
            api_surface: Some(self.wire.name().to_owned()),
            kind: PayloadKind::Response,
            sequence: None,
            payload: self.scrub.text(&failure.message).into(),
            metadata,
        });
    }
}

/// What went over the wire, as JSON where it is, without secrets.
pub(crate) fn payload(scrub: &Scrubber, text: &str) -> Value {
    let text = scrub.borrowed(text);
    serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned().into())
}

#[async_trait::async_trait]
impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.vendor
    }

    fn capabilities(&self) -> Capabilities {
        let support = |kind: &Option<String>, on: &AtomicBool| match kind {
            None => WebSupport::Unsupported,
            Some(_) if on.load(Ordering::Relaxed) => WebSupport::Enabled,
            Some(_) => WebSupport::Supported,
        };
        // The Chat wire has no tools of the service's own.
        let (search, fetch) = match self.wire {
            Wire::ChatCompletions => (&None, &None),
            Wire::Responses => (&self.quirks.web_search, &None),
            Wire::AnthropicMessages | Wire::GeminiGenerateContent => {
                (&self.quirks.web_search, &self.quirks.web_fetch)
            }
        };
        Capabilities {
            function_calling: true,
            web_search: support(search, &self.search),
            web_fetch: support(fetch, &self.fetch),
        }
    }

    fn configure_native_web(&self, web: NativeWeb) -> Result<(), ProviderError> {
        check_native_web(&self.capabilities(), web)?;
        self.search.store(web.search, Ordering::Relaxed);
        self.fetch.store(web.fetch, Ordering::Relaxed);
        Ok(())
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        check_native_web(&self.capabilities(), request.native_web)?;
        let request = self.named(request);
        let about = self.about(&request.model);
        let encoder = wire::encoder(self.wire);
        let body = self.body(encoder, &request, &*context.blobs).await;
        let tap = context.payloads;
        self.tell_request(&tap, &body);
        let left_out = body.left_out;
        let url = encoder.call_url(&self.base, &request.model);
        let reply = match self.send(Method::Post, url, body.bytes.into()).await {
            Ok(reply) => reply,
            Err(failure) => {
                self.tell_failure(&tap, &failure);
                return Err(failure.into_error(&about, &self.scrub));
            }
        };
        let decoder = wire::decoder(self.wire, &self.quirks, &request.model, &request.tools);
        let call = stream::Call {
            about,
            scrub: self.scrub.clone(),
            tap,
            wire: self.wire,
            request_id: http::request_id(&reply.headers),
            idle: self.timeout,
        };
        let reader = Reader::new(reply.into_stream(), decoder, Limits::default(), call);
        Ok(Box::pin(reader.without(left_out)))
    }
}

impl std::fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpProvider")
            .field("vendor", &self.vendor)
            .field("wire", &self.wire)
            .field("place", &self.about.place)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
