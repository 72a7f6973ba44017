//! Telemetry of Robota: events as metrics and by name, and the export of spans and metrics by
//! OpenTelemetry.
//!
//! [`Metrics`] and [`named::NamedProjection`] are projections of events and need nothing else. The
//! export is the feature `otel`, on by default: `install` starts it.

mod metrics;
pub mod named;
#[cfg(feature = "otel")]
mod otel;

pub use metrics::{Attributes, Histogram, Instrument, Measurement, Metrics, Value};
#[cfg(feature = "otel")]
pub use otel::{OtelError, OtelGuard, OtelOptions, install};
