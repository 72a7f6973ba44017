use super::*;

#[test]
fn a_retry_delay_is_parsed_from_the_message() {
    let cases = [
        ("Limit reached. Please try again in 11.054s.", Some(11_054)),
        ("Please try again in 28ms.", Some(28)),
        ("Please try again in 2m.", Some(120_000)),
        ("Please try again in 1m30.5s", Some(90_500)),
        ("* Quota exceeded for metric: x, limit: 10\nPlease retry in 15s.", Some(15_000)),
        ("Please retry in 15.002899939s.", Some(15_003)),
        ("Retry after 20 seconds", Some(20_000)),
        ("please wait 2 minutes", Some(120_000)),
        ("Please try again in a while", None),
        ("", None),
    ];
    for (message, millis) in cases {
        let delay =
            retry_delay(message).map(|delay| (delay.as_secs_f64() * 1_000.0).round() as u64);
        assert_eq!(delay, millis, "{message}");
    }
}

#[test]
fn durations_of_headers_are_parsed() {
    assert_eq!(duration("6m0s"), Some(Duration::from_secs(360)));
    assert_eq!(duration("20ms"), Some(Duration::from_millis(20)));
    assert_eq!(duration("1h2m3s"), Some(Duration::from_secs(3_723)));
    assert_eq!(duration("34.5s"), Some(Duration::from_millis(34_500)));
    for nonsense in ["", "s", "5", "1e400s", "soon", "NaNs"] {
        assert_eq!(duration(nonsense), None, "{nonsense}");
    }
}

#[test]
fn the_window_is_parsed_from_the_message() {
    let cases = [
        ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
        (
            "This model's maximum context length is 32768 tokens. However, you requested 40000",
            Some(32_768),
        ),
        (
            "the request exceeds the available context size (4096 tokens), try increasing it",
            Some(4_096),
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Some(1_048_576),
        ),
        ("Input exceeds the context window of 128,000 tokens", Some(128_000)),
        ("your input exceeds the context window of this model", None),
    ];
    for (message, window) in cases {
        assert_eq!(context_window(message), window, "{message}");
    }
}
