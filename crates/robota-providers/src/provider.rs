//! The provider: one vendor at one address with one key, on any of the wires.

mod build;
mod limits;
mod models;
mod probe;
mod stream;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use robota_core::blob::{Blobs, NoBlobs};
use robota_core::call::CallContext;
use robota_core::provider::{
    Capabilities, DeltaStream, FailureReason, ModelLimits, ModelRequest, NativePayload, NativeWeb,
    PayloadKind, PayloadSink, Provider, ProviderError, RateLimits, ToolChoice, WebSupport,
    check_native_web,
};
use serde_json::{Map, Value};
use url::Url;

pub use build::build;
pub use probe::Probe;
pub(crate) use stream::Reader;

use crate::credentials::Signer;
use crate::failure::{Failure, ServiceInfo};
use crate::host::Host;
use crate::http::{self, Limits, Method, Request, Response, Scrubber};
use crate::json::merge;
use crate::profile::{Quirks, Wire};
use crate::wire::cache::{BodyWriter, PieceCache};
use crate::wire::{self, Encode};

/// The most bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 256 << 10;
/// The most bytes of any other response that is not a stream.
// For bodies that are not streams: token counts and model lists. A server that sends more is not
// one of these APIs.
const MAX_RESPONSE_BODY: usize = 16 << 20;

/// A model service that is reached over one of the wires. [`build`] creates it.
pub struct HttpProvider {
    vendor: String,
    wire: Wire,
    quirks: Quirks,
    base: Url,
    headers: HeaderMap,
    model: Option<String>,
    models_path: Option<String>,
    limits_path: Option<String>,
    limits_of_model: bool,
    known_limits: Mutex<HashMap<String, Option<ModelLimits>>>,
    rate_limits: Mutex<Option<RateLimits>>,
    options: Map<String, Value>,
    timeout: Option<Duration>,
    host: Host,
    scrub: Scrubber,
    service: ServiceInfo,
    signer: Option<Signer>,
    cache: PieceCache,
    search: AtomicBool,
    fetch: AtomicBool,
}

impl HttpProvider {
    /// Returns the wire of the service.
    #[must_use]
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Returns the model to use when a request names none.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the base URL without user, password and query.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.service.address
    }

    /// Returns whether the service accepts images.
    #[must_use]
    pub fn accepts_images(&self) -> bool {
        self.quirks.images
    }

    async fn count(&self, request: &ModelRequest) -> Result<Option<u64>, ProviderError> {
        let request = self.with_default_model(request.clone());
        let service = self.service_for(&request.model);
        let fail = |failure: Failure| failure.into_error(&service, &self.scrub);
        let encoder = wire::encoder(self.wire);
        // Attachments are not loaded for a count; a short note stands for each.
        let body = self.body(encoder, &request, &NoBlobs).await;
        let body: Value = serde_json::from_slice(&body.bytes)
            .map_err(|error| fail(Failure::unreadable(&error, "our own request")))?;
        let Some((url, body)) = encoder.count_request(&self.base, &request.model, &body) else {
            return Ok(None);
        };
        let response = self
            .send(Method::Post, url, body.to_string().into_bytes().into())
            .await
            .map_err(fail)?;
        let text = response.text(MAX_RESPONSE_BODY).await.map_err(fail)?;
        let answer: Value = serde_json::from_str(&text)
            .map_err(|error| fail(Failure::unreadable(&error, &text)))?;
        Ok(encoder.parse_count(&answer))
    }

    /// Fills in the configured model if the request names none.
    fn with_default_model(&self, mut request: ModelRequest) -> ModelRequest {
        if request.model.is_empty()
            && let Some(model) = &self.model
        {
            request.model.clone_from(model);
        }
        request
    }

    fn service_for(&self, model: &str) -> ServiceInfo {
        ServiceInfo { model: model.to_owned(), ..self.service.clone() }
    }

    /// Returns the body of a request, for tests.
    #[cfg(test)]
    pub(crate) async fn encoded(&self, request: &ModelRequest) -> Vec<u8> {
        self.body(wire::encoder(self.wire), request, &NoBlobs).await.bytes
    }

    async fn body(
        &self,
        encoder: &dyn Encode,
        request: &ModelRequest,
        blobs: &dyn Blobs,
    ) -> wire::Body {
        // The order of precedence: vendor, settings, request.
        let mut options = Value::Object(self.options.clone());
        merge(&mut options, &Value::Object(request.options.clone()));
        let mut options = match options {
            Value::Object(options) => options,
            _ => Map::new(),
        };
        // Options must not override the fields that this crate writes itself.
        for reserved in [
            "model",
            "messages",
            "input",
            "contents",
            "system",
            "instructions",
            "systemInstruction",
            "tools",
            "stream",
            "api",
            "auth",
            "headers",
            "quirks",
        ] {
            options.shift_remove(reserved);
        }
        wire::thinking::encode(&mut options, self.wire, request);
        let web = NativeWeb {
            search: request.native_web.search || self.search.load(Ordering::Relaxed),
            fetch: request.native_web.fetch || self.fetch.load(Ordering::Relaxed),
        };
        let writer = BodyWriter {
            wire: self.wire,
            encoder,
            quirks: &self.quirks,
            cache: &self.cache,
            blobs,
        };
        writer.body(request, &options, web).await
    }

    /// Sends a request and converts a response with a status other than 2xx into a failure.
    async fn send(&self, method: Method, url: Url, body: Bytes) -> Result<Response, Failure> {
        let request = Request { method, url, headers: self.headers.clone(), body };
        let renews = self.signer.as_ref().is_some_and(Signer::renews);
        // Cheap: the body and the values of the headers are shared.
        let mut response = self.exchange(request.clone(), false).await?;
        // Once: a token that was renewed a moment ago and is refused again is not expired.
        if response.status == 401 && renews {
            response = self.exchange(request, true).await?;
        }
        if let Some(limits) = http::rate_limits(&response.headers, self.host.clock.now()) {
            // Also from a refused request: its headers say when the next one may succeed.
            *self.rate_limits.lock().unwrap_or_else(PoisonError::into_inner) = Some(limits);
        }
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        Err(self.failure_from_response(response).await)
    }

    /// Signs and sends a request, and waits for the head of the response.
    async fn exchange(&self, mut request: Request, renew: bool) -> Result<Response, Failure> {
        if let Some(signer) = &self.signer {
            signer.sign(&mut request, &self.host, renew).await?;
        }
        let sending = self.host.client.send(request);
        match self.timeout {
            None => sending.await,
            Some(limit) => tokio::time::timeout(limit, sending).await.map_err(|_| {
                Failure::with_reason(
                    FailureReason::Connection,
                    format!("the service did not start to answer within {} s", limit.as_secs_f64()),
                )
            })?,
        }
    }

    async fn failure_from_response(&self, response: Response) -> Failure {
        let status = response.status;
        let retry_after = http::retry_after(&response.headers, self.host.clock.now());
        let limits = http::rate_limits(&response.headers, self.host.clock.now());
        let should_retry = http::should_retry(&response.headers);
        let id = http::request_id(&response.headers);
        let redirect = response
            .headers
            .get("location")
            .filter(|_| (300..400).contains(&status))
            .and_then(|location| location.to_str().ok())
            .and_then(|location| self.base.join(location).ok());
        let mut failure = match redirect {
            Some(target) => Failure::with_reason(
                FailureReason::BadRequest,
                format!(
                    "the service redirects to {}; redirects are not followed, to protect the key",
                    http::display_address(&target)
                ),
            ),
            None => match response.text(MAX_ERROR_BODY).await {
                Ok(body) => Failure::from_body(&body),
                Err(_) => Failure::new("the service gave no reason"),
            },
        };
        failure.status = Some(status);
        // The header is precise; the number in a message is for people.
        failure.retry_after = retry_after.or(failure.retry_after);
        // Some services only say when their limits are reset.
        if status == 429 && failure.retry_after.is_none() {
            failure.retry_after = limits.as_ref().and_then(RateLimits::wait);
        }
        failure.should_retry = should_retry;
        failure.request_id = failure.request_id.or(id);
        failure
    }

    fn report_request(&self, tap: &PayloadSink, body: &wire::Body) {
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
                metadata: wire::encode::left_out_metadata(&body.left_out),
            });
        }
    }

    fn report_failure(&self, tap: &PayloadSink, failure: &Failure) {
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

/// Converts what was sent or received to JSON if possible, otherwise to text, without secrets.
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
        // The Chat wire has no server-side tools.
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

    async fn limits(&self, model: &str) -> Option<ModelLimits> {
        self.find_limits(model).await
    }

    async fn count_tokens(&self, request: &ModelRequest) -> Result<Option<u64>, ProviderError> {
        self.count(request).await
    }

    fn rate_limits(&self) -> Option<RateLimits> {
        self.rate_limits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        check_native_web(&self.capabilities(), request.native_web)?;
        let request = self.with_default_model(request);
        let service = self.service_for(&request.model);
        let encoder = wire::encoder(self.wire);
        let body = self.body(encoder, &request, &*context.blobs).await;
        let tap = context.payloads;
        self.report_request(&tap, &body);
        let (left_out, prefix) = (body.left_out, body.prefix);
        let url = encoder.call_url(&self.base, &request.model);
        let response = match self.send(Method::Post, url, body.bytes.into()).await {
            Ok(response) => response,
            Err(failure) => {
                self.report_failure(&tap, &failure);
                return Err(failure.into_error(&service, &self.scrub));
            }
        };
        // Text that looks like a call is text if no call is allowed.
        let callable = match request.tool_choice {
            ToolChoice::None => Arc::from([]),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => request.tools.clone(),
        };
        let decoder = wire::decoder(self.wire, &self.quirks, &request.model, &callable);
        let call = stream::CallInfo {
            service,
            scrub: self.scrub.clone(),
            tap,
            wire: self.wire,
            request_id: http::request_id(&response.headers),
            idle: self.timeout,
            prefix: wire::encode::prefix_text(prefix),
        };
        let reader = Reader::new(response.into_stream(), decoder, Limits::default(), call);
        Ok(Box::pin(reader.with_left_out(left_out)))
    }
}

impl std::fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpProvider")
            .field("vendor", &self.vendor)
            .field("wire", &self.wire)
            .field("place", &self.service.address)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
