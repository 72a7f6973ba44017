//! Telemetry of Robota: metrics and named events computed from the events of a session, and the
//! export of spans and metrics with OpenTelemetry.
//!
//! [`Metrics`] and [`named::NamedProjection`] are projections of events and need no exporter. The
//! export is the feature `otel`, which is on by default; `install` starts it.

mod metrics;
pub mod named;
#[cfg(feature = "otel")]
mod otel;
mod provider_name;

pub use metrics::{Attributes, Histogram, Instrument, Measurement, Metrics, Value};
#[cfg(feature = "otel")]
pub use otel::{OtelError, OtelGuard, OtelOptions, install};
