//! Telemetry of Robota: the metrics of a session, and the export of spans and metrics by
//! OpenTelemetry.
//!
//! [`Metrics`] is a projection of events and needs nothing else. The export is the feature `otel`,
//! on by default: `install` starts it.

mod metrics;
#[cfg(feature = "otel")]
mod otel;

pub use metrics::{Attributes, Histogram, Instrument, Measurement, Metrics, Value};
#[cfg(feature = "otel")]
pub use otel::{OtelError, OtelGuard, OtelOptions, install};
