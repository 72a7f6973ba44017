//! Encodes spans and metrics as OTLP.

use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value,
};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use opentelemetry_sdk::trace::SpanData;

use super::{OtelOptions, SCOPE};
use crate::provider_name::provider_name;
use crate::{Instrument, Measurement, Metrics, Value};

/// Returns the resource that describes this program.
pub(crate) fn resource(options: &OtelOptions) -> Resource {
    let mut attributes = vec![
        key_value("service.name", &options.service_name),
        key_value("telemetry.sdk.name", "opentelemetry"),
        key_value("telemetry.sdk.language", "rust"),
    ];
    attributes.extend(options.resource.iter().map(|(key, value)| key_value(key, value)));
    Resource { attributes, ..Resource::default() }
}

/// Returns the export request for these spans.
pub(crate) fn traces(resource: &Resource, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope_spans = ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![scope_spans],
            ..ResourceSpans::default()
        }],
    }
}

/// Converts a span to OTLP. Two attributes get the form that the conventions define: `tracing` has no
/// list values, and the core does not know the vendors.
pub(crate) fn span(data: SpanData) -> Span {
    let mut span = Span::from(data);
    for KeyValue { key, value, .. } in &mut span.attributes {
        match (key.as_str(), value.as_mut().and_then(|value| value.value.as_mut())) {
            ("gen_ai.response.finish_reasons", Some(reason)) => {
                let values = vec![AnyValue { value: Some(reason.clone()) }];
                *reason = any_value::Value::ArrayValue(ArrayValue { values });
            }
            ("gen_ai.provider.name", Some(any_value::Value::StringValue(vendor))) => {
                *vendor = provider_name(vendor).to_owned();
            }
            _ => {}
        }
    }
    span
}

/// Returns the export request for these totals, counted from `start` to `now`.
pub(crate) fn metrics(
    resource: &Resource,
    metrics: &Metrics,
    start: Timestamp,
    now: Timestamp,
) -> ExportMetricsServiceRequest {
    let (start, now) = (nanos(start), nanos(now));
    let mut encoded: Vec<(Instrument, Metric)> = Vec::new();
    // The measurements of an instrument follow each other.
    for measurement in metrics.measurements() {
        if encoded.last().is_none_or(|(instrument, _)| *instrument != measurement.instrument) {
            encoded.push((measurement.instrument, empty(measurement.instrument)));
        }
        if let Some((_, metric)) = encoded.last_mut() {
            push(metric, &measurement, start, now);
        }
    }
    let metrics = encoded.into_iter().map(|(_, metric)| metric).collect();
    let scope_metrics = ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource.clone()),
            scope_metrics: vec![scope_metrics],
            ..ResourceMetrics::default()
        }],
    }
}

fn empty(instrument: Instrument) -> Metric {
    // Totals since the start: a request that is lost loses nothing, because the next one has it.
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let data_points = Vec::new();
    let data = if instrument.bounds().is_empty() {
        metric::Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true })
    } else {
        metric::Data::Histogram(Histogram { data_points: Vec::new(), aggregation_temporality })
    };
    Metric {
        name: instrument.name().to_owned(),
        description: instrument.description().to_owned(),
        unit: instrument.unit().to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn push(metric: &mut Metric, measurement: &Measurement<'_>, start: u64, now: u64) {
    let attributes: Vec<_> =
        measurement.attributes.iter().map(|(key, value)| key_value(key, value)).collect();
    match (&mut metric.data, measurement.value) {
        (Some(metric::Data::Sum(sum)), Value::Sum(total)) => {
            // OTLP has signed numbers only.
            let total = i64::try_from(*total).unwrap_or(i64::MAX);
            sum.data_points.push(NumberDataPoint {
                attributes,
                start_time_unix_nano: start,
                time_unix_nano: now,
                value: Some(number_data_point::Value::AsInt(total)),
                ..NumberDataPoint::default()
            });
        }
        (Some(metric::Data::Histogram(histogram)), Value::Histogram(values)) => {
            histogram.data_points.push(HistogramDataPoint {
                attributes,
                start_time_unix_nano: start,
                time_unix_nano: now,
                count: values.count(),
                sum: Some(values.sum),
                bucket_counts: values.buckets.clone(),
                explicit_bounds: values.bounds.to_vec(),
                min: Some(values.min),
                max: Some(values.max),
                ..HistogramDataPoint::default()
            });
        }
        // Cannot happen: `empty` chooses the kind by the same instrument.
        (_, Value::Sum(_) | Value::Histogram(_)) => {}
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: SCOPE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

fn key_value(key: &str, value: &str) -> KeyValue {
    let value = any_value::Value::StringValue(value.to_owned());
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or(0)
}
