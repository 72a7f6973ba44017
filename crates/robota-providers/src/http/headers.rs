//! Reads retry advice and request ids from response headers.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use robota_core::provider::{RateLimit, RateLimits};

/// Returns how long the service asks the client to wait: `retry-after-ms`, or
/// `retry-after` in seconds or as a date. A date is compared with the response's `date`
/// header if there is one, so that a wrong local clock does not matter.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let get = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    // The SDKs of Anthropic and OpenAI prefer it, because it is finer than whole seconds.
    if let Some(millis) = get("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1_000.0).ok();
    }
    let text = get("retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = date(text)?;
    let now = get("date").and_then(date).unwrap_or(now);
    Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
}

fn date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp())
}

/// Returns whether the service explicitly asks for a retry, or forbids one.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Returns the rate limits that the headers describe; none if there are none.
pub(crate) fn rate_limits(headers: &HeaderMap, now: Timestamp) -> Option<RateLimits> {
    let mut limits: BTreeMap<String, RateLimit> = BTreeMap::new();
    for (header, value) in headers {
        let Some((name, kind)) = rate_limit_header(header.as_str()) else { continue };
        let Ok(value) = value.to_str() else { continue };
        let limit = limits.entry(name.to_owned()).or_insert_with(|| RateLimit {
            name: name.to_owned(),
            limit: None,
            remaining: None,
            reset: None,
        });
        match kind {
            "limit" => limit.limit = value.trim().parse().ok(),
            "remaining" => limit.remaining = value.trim().parse().ok(),
            _ => limit.reset = reset(value.trim(), now),
        }
    }
    (!limits.is_empty()).then(|| RateLimits(limits.into_values().collect()))
}

/// Returns what a header limits, and which number of it it holds: `limit`, `remaining` or `reset`.
fn rate_limit_header(header: &str) -> Option<(&str, &str)> {
    const KINDS: [&str; 3] = ["limit", "remaining", "reset"];
    let is_kind = |(_, kind): &(&str, &str)| KINDS.contains(kind);
    if let Some(rest) = header.strip_prefix("anthropic-ratelimit-") {
        return rest.rsplit_once('-').filter(is_kind);
    }
    let rest = header.strip_prefix("x-ratelimit-")?;
    // Services with one limit send the three headers without a name.
    let (kind, name) = rest.split_once('-').unwrap_or((rest, "requests"));
    Some((name, kind)).filter(is_kind)
}

/// Parses the time of a reset: a date, a duration such as `6m0s`, or seconds.
fn reset(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(then) = value.parse::<Timestamp>() {
        return Some(Duration::try_from(then.duration_since(now)).unwrap_or_default());
    }
    // A larger number is a time since 1970 in seconds, not a duration.
    let seconds = || value.parse::<f64>().ok().filter(|seconds| *seconds < 1e6);
    crate::failure::duration(value).or_else(|| Duration::try_from_secs_f64(seconds()?).ok())
}

/// Returns the service's id of the request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    // In this order: the id of the service itself first, that of the network before it last.
    ["request-id", "x-request-id", "x-oai-request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(|id| crate::failure::shorten(id, 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn seconds_milliseconds_and_dates() {
        let now: Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
        let read = |pairs: &[(&'static str, &'static str)]| retry_after(&headers(pairs), now);
        assert_eq!(read(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(read(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(
            read(&[("retry-after", "9"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        let date = ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(read(&[date]), Some(Duration::from_secs(7)));
        let theirs = ("date", "Sun, 06 Nov 1994 08:49:34 GMT");
        assert_eq!(read(&[date, theirs]), Some(Duration::from_secs(3)));
        let past = ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT");
        assert_eq!(read(&[past]), Some(Duration::ZERO));
        for nonsense in ["soon", "-3", "NaN", "1e400"] {
            assert_eq!(read(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn rate_limits_of_all_services_are_parsed() {
        let now: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
        let anthropic = headers(&[
            ("anthropic-ratelimit-input-tokens-limit", "30000"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-11-16T10:00:12Z"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2026-11-16T10:01:00Z"),
        ]);
        let limits = rate_limits(&anthropic, now).unwrap();
        let names: Vec<_> = limits.0.iter().map(|limit| limit.name.as_str()).collect();
        assert_eq!(names, ["input-tokens", "requests"]);
        assert_eq!((limits.0[0].limit, limits.0[0].remaining), (Some(30_000), Some(0)));
        assert_eq!(
            limits.wait(),
            Some(Duration::from_secs(12)),
            "only what is used up is waited for"
        );
        let openai = headers(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-reset-tokens", "20ms"),
        ]);
        let limits = rate_limits(&openai, now).unwrap();
        assert_eq!(limits.wait(), Some(Duration::from_secs(360)));
        assert_eq!(limits.0[1].reset, Some(Duration::from_millis(20)));
        assert_eq!(rate_limits(&headers(&[("retry-after", "1")]), now), None);
    }

    #[test]
    fn x_should_retry_and_request_id_headers() {
        assert_eq!(should_retry(&headers(&[("x-should-retry", "false")])), Some(false));
        assert_eq!(should_retry(&headers(&[("x-should-retry", "maybe")])), None);
        assert_eq!(request_id(&headers(&[("cf-ray", "a"), ("request-id", "b")])), Some("b".into()));
    }
}
