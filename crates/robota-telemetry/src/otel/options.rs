//! The options of the export.

use std::fmt;
use std::time::Duration;

use url::Url;

use super::OtelError;

/// Where spans and metrics are exported to, and which.
#[derive(Clone)]
pub struct OtelOptions {
    /// The base URL of the collector. `/v1/traces` and `/v1/metrics` are appended to its path.
    pub endpoint: Url,
    /// Headers of every request, for example with the API key of a hosted collector.
    pub headers: Vec<(String, String)>,
    /// The resource's `service.name`; `robota` by default.
    pub service_name: String,
    /// Further attributes of the resource, which describes this process.
    pub resource: Vec<(String, String)>,
    /// The share of traces that is exported, from 0 to 1. A turn inside another trace uses the
    /// sampling decision of that trace.
    pub sample_ratio: f64,
    /// The most detailed level that is exported. INFO excludes the appends of streamed chunks.
    pub level: tracing::Level,
    /// The timeout of one request to the collector; 10 seconds by default.
    pub timeout: Duration,
    /// The time between two exports; 5 seconds by default.
    pub interval: Duration,
    /// How many finished spans the queue holds; 2048 by default. Further spans are dropped.
    pub queue: usize,
}

impl OtelOptions {
    /// Exports all traces and metrics to that collector.
    #[must_use]
    pub fn new(endpoint: Url) -> Self {
        Self {
            endpoint,
            headers: Vec::new(),
            service_name: "robota".to_owned(),
            resource: Vec::new(),
            sample_ratio: 1.0,
            level: tracing::Level::INFO,
            timeout: Duration::from_secs(10),
            interval: Duration::from_secs(5),
            queue: 2048,
        }
    }

    /// Reads OpenTelemetry's standard environment variables through `variable`. Returns `None` if they
    /// do not enable the export. An empty value counts as unset.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn from_variables<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Option<Self>, OtelError> {
        // The specification says that an empty value has the same meaning as an unset variable.
        let given = |name: &str| variable(name).map(str::trim).filter(|value| !value.is_empty());
        if given("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let Some(endpoint) = given(ENDPOINT) else { return Ok(None) };
        let endpoint =
            Url::parse(endpoint).map_err(|error| invalid(ENDPOINT, error.to_string()))?;
        let mut options = Self::new(endpoint);
        // An error rather than another protocol: a collector for gRPC would reject every request.
        if let Some(protocol) = given(PROTOCOL).filter(|protocol| *protocol != "http/protobuf") {
            let reason = format!("{protocol:?} is not supported, only \"http/protobuf\" is");
            return Err(invalid(PROTOCOL, reason));
        }
        if let Some(headers) = given(HEADERS) {
            options.headers = pairs(HEADERS, headers)?;
        }
        if let Some(resource) = given(RESOURCE) {
            options.resource = pairs(RESOURCE, resource)?;
            if let Some(at) = options.resource.iter().position(|(key, _)| key == "service.name") {
                options.service_name = options.resource.remove(at).1;
            }
        }
        // The specification lets this variable win over the attribute of the resource.
        if let Some(name) = given("OTEL_SERVICE_NAME") {
            name.clone_into(&mut options.service_name);
        }
        match given("OTEL_TRACES_SAMPLER").unwrap_or_default() {
            "always_off" | "parentbased_always_off" => options.sample_ratio = 0.0,
            "traceidratio" | "parentbased_traceidratio" => {
                options.sample_ratio = number(SAMPLER_ARG, given(SAMPLER_ARG).unwrap_or("1"))?;
            }
            // The default of the specification is `parentbased_always_on`. A name that is not known
            // is no reason to export nothing.
            _ => {}
        }
        if let Some(timeout) = given(TIMEOUT) {
            options.timeout = Duration::from_millis(number(TIMEOUT, timeout)?);
        }
        Ok(Some(options))
    }
}

/// The values of headers are not shown, because they may be API keys.
impl fmt::Debug for OtelOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("OtelOptions")
            .field("endpoint", &self.endpoint.as_str())
            .field("headers", &headers)
            .field("service_name", &self.service_name)
            .field("resource", &self.resource)
            .field("sample_ratio", &self.sample_ratio)
            .field("level", &self.level)
            .field("timeout", &self.timeout)
            .field("interval", &self.interval)
            .field("queue", &self.queue)
            .finish()
    }
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";

fn invalid(name: &'static str, reason: String) -> OtelError {
    OtelError::Option { name, reason }
}

fn number<T: std::str::FromStr>(name: &'static str, text: &str) -> Result<T, OtelError> {
    text.parse().map_err(|_| invalid(name, format!("{text:?} is not a valid number")))
}

/// Parses `key=value,key=value` with percent-encoded values. Errors never contain a value, because it
/// may be a secret.
fn pairs(name: &'static str, text: &str) -> Result<Vec<(String, String)>, OtelError> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| invalid(name, "an entry is not of the form key=value".to_owned()))?;
            let value = decode(value.trim())
                .ok_or_else(|| invalid(name, format!("the value of {key:?} is not UTF-8")))?;
            Ok((key.trim().to_owned(), value))
        })
        .collect()
}

/// Decodes percent-encoding; `None` if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            // A `%` that is not followed by two hex digits is kept as it is, so that a key with `%`
            // still works.
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
