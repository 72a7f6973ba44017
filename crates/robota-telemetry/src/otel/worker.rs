//! The exporting thread: it batches spans and sends them and the metrics to the collector.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::trace::SpanData;
use prost::Message as _;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use robota_core::clock::{Clock as _, SystemClock};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{OtelError, OtelOptions, encode, lock};
use crate::Metrics;

/// The maximum number of spans in one request, which is the default of the specification for
/// batches.
const BATCH: usize = 512;

/// A request to export all finished spans and metrics.
pub(crate) struct Flush {
    /// Receives the result, once.
    pub(crate) done: std::sync::mpsc::SyncSender<Result<(), OtelError>>,
}

/// The state that the guard, its observers and the thread share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The totals of all sessions.
    pub(crate) metrics: Mutex<Metrics>,
    /// The number of dropped spans.
    pub(crate) dropped: AtomicU64,
}

pub(crate) struct Worker {
    collector: Collector,
    resource: Resource,
    interval: Duration,
    /// The capacity of `pending` and of the queue, each.
    capacity: usize,
    queue: mpsc::Receiver<SpanData>,
    pending: Vec<Span>,
    flushes: mpsc::UnboundedReceiver<Flush>,
    shared: Arc<Shared>,
    /// The totals of the last export; unchanged totals are not sent again.
    exported: Metrics,
    started: Timestamp,
}

impl Worker {
    pub(crate) fn new(
        options: &OtelOptions,
        queue: mpsc::Receiver<SpanData>,
        flushes: mpsc::UnboundedReceiver<Flush>,
        shared: Arc<Shared>,
        started: Timestamp,
    ) -> Result<Self, OtelError> {
        Ok(Self {
            resource: encode::resource(options),
            interval: options.interval,
            capacity: options.queue.max(1),
            collector: Collector::new(options)?,
            queue,
            pending: Vec::new(),
            flushes,
            shared,
            exported: Metrics::default(),
            started,
        })
    }

    /// Starts the thread. It ends when `stop` is cancelled.
    pub(crate) fn start(self, stop: CancellationToken) -> Result<(), OtelError> {
        let start = |error: std::io::Error| OtelError::Start(error.to_string());
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(start)?;
        // A thread of its own: the program's runtime may be blocked or already shut down when the
        // last spans are sent.
        std::thread::Builder::new()
            .name("robota-otel".to_owned())
            .spawn(move || runtime.block_on(stop.run_until_cancelled(self.run())))
            .map_err(start)?;
        Ok(())
    }

    async fn run(mut self) {
        let mut ticks = tokio::time::interval(self.interval);
        // After a slow collector the missed exports are not made up for; one export has everything.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick of an interval is immediate; there is nothing to export yet.
        ticks.reset();
        let mut failing = false;
        loop {
            let result = tokio::select! {
                // Flushes first: their caller blocks a thread. The queue last, so that busy agents
                // do not delay exports.
                biased;
                Some(Flush { done }) = self.flushes.recv() => {
                    let result = self.export().await;
                    // Fails if the caller no longer waits.
                    let _ = done.try_send(result.clone());
                    result
                }
                _ = ticks.tick() => self.export().await,
                Some(data) = self.queue.recv(), if self.pending.len() < self.capacity => {
                    self.pending.push(encode::span(data));
                    if !self.pending.len().is_multiple_of(BATCH) {
                        continue;
                    }
                    self.export_spans().await
                }
            };
            // Reported once per series of failures: an unreachable collector would otherwise fill
            // the log.
            if let Err(error) = &result
                && !failing
            {
                tracing::warn!(%error, "the telemetry export failed");
            }
            failing = result.is_err();
        }
    }

    async fn export(&mut self) -> Result<(), OtelError> {
        while let Ok(data) = self.queue.try_recv() {
            self.pending.push(encode::span(data));
        }
        let spans = self.export_spans().await;
        self.export_metrics().await.and(spans)
    }

    /// Sends the pending spans, oldest first. After a temporary error they are kept for a retry, up to
    /// the capacity.
    async fn export_spans(&mut self) -> Result<(), OtelError> {
        while !self.pending.is_empty() {
            // Copied, because the spans stay in `pending` until the collector has accepted them.
            let batch = self.pending[..self.pending.len().min(BATCH)].to_vec();
            let sent = batch.len();
            let body = encode::traces(&self.resource, batch).encode_to_vec();
            match self.collector.post(Signal::Traces, body).await {
                Ok(()) => drop(self.pending.drain(..sent)),
                Err(Rejected { retryable: true, error }) => {
                    let surplus = self.pending.len().saturating_sub(self.capacity);
                    self.drop_spans(surplus);
                    return Err(error);
                }
                Err(Rejected { retryable: false, error }) => {
                    self.drop_spans(sent);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn drop_spans(&mut self, count: usize) {
        self.pending.drain(..count);
        self.shared.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    async fn export_metrics(&mut self) -> Result<(), OtelError> {
        let metrics = lock(&self.shared.metrics).clone();
        // Cumulative totals that did not change are nothing new for the collector.
        if metrics == self.exported {
            return Ok(());
        }
        let request = encode::metrics(&self.resource, &metrics, self.started, SystemClock.now());
        let result = self.collector.post(Signal::Metrics, request.encode_to_vec()).await;
        result.map_err(|rejected| rejected.error)?;
        self.exported = metrics;
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Traces,
    Metrics,
}

/// A request that the collector did not accept.
struct Rejected {
    /// Whether the same request may succeed later.
    retryable: bool,
    error: OtelError,
}

/// The collector, over HTTP.
struct Collector {
    client: Option<reqwest::Client>,
    traces: Url,
    metrics: Url,
    headers: HeaderMap,
    timeout: Duration,
}

impl Collector {
    fn new(options: &OtelOptions) -> Result<Self, OtelError> {
        let invalid =
            |reason: &str| OtelError::Option { name: "the endpoint", reason: reason.to_owned() };
        if !matches!(options.endpoint.scheme(), "http" | "https") {
            return Err(invalid("it must start with http:// or https://"));
        }
        let signal_url = |signal: &str| {
            let mut url = options.endpoint.clone();
            url.path_segments_mut()
                .map_err(|()| invalid("it has no path"))?
                .pop_if_empty()
                .extend(["v1", signal]);
            Ok(url)
        };
        let (traces, metrics) = (signal_url("traces")?, signal_url("metrics")?);
        let mut headers = HeaderMap::new();
        for (name, value) in &options.headers {
            let invalid = |reason: String| OtelError::Option { name: "a header", reason };
            let value = HeaderValue::from_str(value);
            let mut value = value
                .map_err(|_| invalid(format!("the value of {name:?} has invalid characters")))?;
            // Keeps keys out of debug output of the HTTP client.
            value.set_sensitive(true);
            let name: HeaderName =
                name.parse().map_err(|_| invalid(format!("{name:?} is not a header name")))?;
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self { client: None, traces, metrics, headers, timeout: options.timeout })
    }

    async fn post(&mut self, signal: Signal, body: Vec<u8>) -> Result<(), Rejected> {
        let url = match signal {
            Signal::Traces => self.traces.clone(),
            Signal::Metrics => self.metrics.clone(),
        };
        let client = self.client().map_err(|error| Rejected { retryable: false, error })?;
        let request = client.post(url).headers(self.headers.clone()).body(body);
        let rejected =
            |retryable, reason: String| Rejected { retryable, error: OtelError::Collector(reason) };
        match request.timeout(self.timeout).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => {
                let status = response.status();
                // The statuses that OTLP over HTTP names as retryable. All others mean that this
                // data is never accepted.
                let retryable = matches!(
                    status,
                    StatusCode::TOO_MANY_REQUESTS
                        | StatusCode::BAD_GATEWAY
                        | StatusCode::SERVICE_UNAVAILABLE
                        | StatusCode::GATEWAY_TIMEOUT
                );
                Err(rejected(retryable, format!("it answered {status}")))
            }
            // Without the URL, because it can contain a password.
            Err(error) => Err(rejected(true, error_chain(&error.without_url()))),
        }
    }

    /// Returns the HTTP client. It is created on first use by the exporting thread, because reading the
    /// system's certificates takes time.
    fn client(&mut self) -> Result<reqwest::Client, OtelError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        // Fails if the program has already chosen a TLS provider, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            // A redirect would send the headers, which may contain keys, to another server.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("robota/", env!("CARGO_PKG_VERSION")))
            // All settings come from the options; the proxy variables of the environment are not
            // read.
            .no_proxy();
        if self.traces.scheme() == "http" {
            // Plain HTTP needs no certificates.
            let none = rustls::ClientConfig::builder()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            builder = builder.tls_backend_preconfigured(none);
        }
        let client = builder.build().map_err(|error| OtelError::Start(error_chain(&error)))?;
        Ok(self.client.insert(client).clone())
    }
}

/// Returns the messages of an error and its causes.
fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    std::iter::successors(error.source(), |error| error.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
