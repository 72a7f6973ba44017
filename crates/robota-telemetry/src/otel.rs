//! The OpenTelemetry export: OTLP over HTTP with protobuf.

mod encode;
mod error;
mod options;
mod worker;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanLimits, SpanProcessor,
};
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::driver::Observer;
use robota_core::telemetry::TARGET;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Subscriber;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

pub use error::OtelError;
pub use options::OtelOptions;

use crate::Metrics;
use worker::{Flush, Shared, Worker};

/// The name of the instrumentation scope.
const SCOPE: &str = "robota";

/// Controls a running export. Dropping it stops the export without a flush.
pub struct OtelGuard {
    tracer: SdkTracer,
    level: tracing::Level,
    shared: Arc<Shared>,
    flush: mpsc::UnboundedSender<Flush>,
    stop: CancellationToken,
}

/// Starts the OpenTelemetry export. Nothing is sent before there are spans or metrics.
///
/// One thread does all the exporting. The agent only puts finished spans into a bounded queue and
/// updates counters, so a slow or unreachable collector does not delay it. Spans that do not fit into
/// the queue are dropped and counted.
///
/// ```no_run
/// use std::time::Duration;
///
/// use robota_telemetry::{OtelOptions, install};
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let otel = install(&OtelOptions::new("http://localhost:4318".parse()?))?;
/// let subscriber = tracing_subscriber::registry().with(otel.layer());
/// tracing::subscriber::set_global_default(subscriber)?;
/// // Each session needs its own observer, which counts its events.
/// let _observer = otel.observer();
/// // At the end of the program:
/// otel.shutdown(Duration::from_secs(2))?;
/// # Ok(())
/// # }
/// ```
///
/// Only the spans of [`robota_core::telemetry`] are exported. They carry no content: no prompts,
/// answers, arguments, outputs or error messages. `docs/telemetry.md` lists what is exported.
///
/// # Errors
/// If the options are invalid, or the thread cannot be started.
pub fn install(options: &OtelOptions) -> Result<OtelGuard, OtelError> {
    let (spans, queue) = mpsc::channel(options.queue.max(1));
    // Unbounded, but each entry blocks its sender until it is done or timed out.
    let (flush, flushes) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::default());
    let stop = CancellationToken::new();
    let (level, ratio) = (options.level, options.sample_ratio);
    let worker = Worker::new(options, queue, flushes, Arc::clone(&shared), SystemClock.now())?;
    worker.start(stop.clone())?;
    // All settings that the SDK would otherwise read from the environment are set here.
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder_empty().build())
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio))))
        .with_span_limits(SpanLimits::default())
        .with_span_processor(Enqueue { spans, shared: Arc::clone(&shared) })
        // Spans must be dropped rather than awaited: the processor is called inside the agent's
        // task.
        .build();
    let tracer = provider.tracer(SCOPE);
    Ok(OtelGuard { tracer, level, shared, flush, stop })
}

impl OtelGuard {
    /// Returns the layer that collects the spans, for a `tracing` subscriber.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let level = self.level;
        let filter = filter_fn(move |metadata| {
            metadata.is_span() && metadata.target() == TARGET && *metadata.level() <= level
        });
        tracing_opentelemetry::layer()
            // The rest of `tracing`'s own metadata is switched off: it is about this program's
            // source, not about the run.
            .with_tracer(self.tracer.clone())
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_level(false)
            .with_context_activation(false)
            .with_filter(filter.with_max_level_hint(level))
    }

    /// Returns an observer that counts the events of one session. Each session needs its own.
    #[must_use]
    pub fn observer(&self) -> Observer {
        let shared = Arc::clone(&self.shared);
        let session = Mutex::new(Metrics::default());
        Arc::new(move |envelope| {
            let mut session = lock(&session);
            session.apply(envelope);
            if !session.is_empty() {
                // Merged at each event and not at the end: a session may live as long as the
                // program.
                lock(&shared.metrics).merge(session.take());
            }
        })
    }

    /// Returns the number of dropped spans: the queue was full, or the collector rejected them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Exports all finished spans and metrics. Blocks the thread for at most `timeout`.
    ///
    /// # Errors
    /// If the collector did not accept everything within that time.
    pub fn flush(&self, timeout: Duration) -> Result<(), OtelError> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.flush.send(Flush { done }).map_err(|_| OtelError::Stopped)?;
        // The channel is closed without a result when the thread has ended, which is reported as a
        // timeout, too.
        result.recv_timeout(timeout).unwrap_or(Err(OtelError::Timeout(timeout)))
    }

    /// Exports all finished spans and metrics and ends the export. Blocks the thread for at most
    /// `timeout`.
    ///
    /// # Errors
    /// If the collector did not accept everything within that time. The export ends anyway.
    pub fn shutdown(self, timeout: Duration) -> Result<(), OtelError> {
        self.flush(timeout)
    }
}

impl Drop for OtelGuard {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Puts finished spans into the queue of the exporting thread.
#[derive(Debug)]
struct Enqueue {
    spans: mpsc::Sender<SpanData>,
    shared: Arc<Shared>,
}

impl SpanProcessor for Enqueue {
    fn on_start(&self, _span: &mut Span, _context: &opentelemetry::Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.spans.try_send(span).is_err() {
            // Also after the thread has ended: the span is lost either way.
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Does nothing: [`OtelGuard::flush`] flushes.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Ignores poisoning: a panic in another thread cannot leave invalid numbers.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
