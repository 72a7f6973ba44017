use futures::{StreamExt as _, stream};
use robota_core::error::Diagnose as _;
use robota_core::provider::StopReason;
use std::sync::{Arc, Mutex};

use super::*;
use crate::profile::Quirks;

fn call() -> CallInfo {
    CallInfo {
        service: ServiceInfo { vendor: "Acme".into(), ..ServiceInfo::default() },
        scrub: Scrubber::new(["sk-secret"]),
        tap: PayloadSink::none(),
        wire: Wire::ChatCompletions,
        request_id: Some("req_9".into()),
        idle: None,
        prefix: "0".into(),
    }
}

fn reader(bytes: ByteStream, call: CallInfo) -> Reader {
    let decoder = crate::wire::decoder(call.wire, &Quirks::default(), "m", &Arc::from([]));
    Reader::new(bytes, decoder, Limits::default(), call)
}

fn chunks(texts: &[&'static str]) -> ByteStream {
    stream::iter(texts.to_vec()).map(|text| Ok(Bytes::from_static(text.as_bytes()))).boxed()
}

const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

async fn collect(mut reader: Reader) -> Vec<Result<Delta, ProviderError>> {
    let mut items = Vec::new();
    while let Some(item) = reader.next().await {
        items.push(item);
    }
    items
}

#[tokio::test]
async fn core_14_bytes_without_deltas_are_reported_as_activity() {
    let items = collect(reader(chunks(&[": waiting\n\n", HI, STOP, DONE]), call())).await;
    let items: Vec<_> = items.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        items,
        [
            Delta::Activity,
            Delta::Text("Hi".into()),
            Delta::Activity,
            Delta::End(StopReason::EndTurn)
        ]
    );
}

#[tokio::test]
async fn a_stream_without_end_is_truncated_and_earlier_deltas_are_kept() {
    let items = collect(reader(chunks(&[HI]), call())).await;
    assert_eq!(items[0], Ok(Delta::Text("Hi".into())));
    let error = items[1].clone().unwrap_err();
    assert_eq!(error.reason, Some(FailureReason::Truncated));
    assert!(error.retryable());
    assert_eq!(error.request_id.as_deref(), Some("req_9"));
    // A stream that is cut in the middle of an event is truncated too, not unreadable.
    let items = collect(reader(chunks(&[HI, "data: {\"choices\":[{\"del"]), call())).await;
    let error = items.last().unwrap().clone().unwrap_err();
    assert_eq!(error.reason, Some(FailureReason::Truncated));
}

#[tokio::test]
async fn a_response_that_is_not_a_stream_is_an_error() {
    let cases = [
        (
            "{\"error\":{\"message\":\"no credit\",\"code\":\"insufficient_quota\"}}",
            FailureReason::Quota,
            false,
        ),
        (
            "[{\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}]",
            FailureReason::Overloaded,
            true,
        ),
        ("<html><title>Welcome</title></html>", FailureReason::Unreadable, false),
        ("{\"id\":\"x\",\"choices\":[]}", FailureReason::Unreadable, false),
    ];
    for (body, reason, retryable) in cases {
        let items = collect(reader(chunks(&[body]), call())).await;
        let error = items.last().unwrap().clone().unwrap_err();
        assert_eq!((error.reason, error.retryable()), (Some(reason), retryable), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn core_14_the_idle_timeout_ends_a_call_and_bytes_restart_it() {
    let idle = Duration::from_secs(10);
    let slow = stream::unfold(0, |count| async move {
        tokio::time::sleep(Duration::from_secs(9)).await;
        (count < 3).then(|| (Ok(Bytes::from_static(b": still here\n\n")), count + 1))
    });
    let bytes = slow.chain(stream::pending()).boxed();
    let started = Instant::now();
    let items = collect(reader(bytes, CallInfo { idle: Some(idle), ..call() })).await;
    assert_eq!(items.len(), 4);
    assert_eq!(items[3].clone().unwrap_err(), ProviderError::idle(idle));
    assert!(
        started.elapsed() > Duration::from_secs(36),
        "three times nine seconds, then the idle timeout"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_a_connection_that_stays_open() {
    let bytes = chunks(&[HI, STOP, DONE]).chain(stream::pending()).boxed();
    let started = Instant::now();
    let items = collect(reader(bytes, call())).await;
    assert_eq!(items.last(), Some(&Ok(Delta::End(StopReason::EndTurn))));
    assert!(started.elapsed() <= DRAIN_TIMEOUT * 2);
}

/// A wire where an answer ends only with the body, or a service that omits the end mark.
#[tokio::test(start_paused = true)]
async fn core_14_usage_after_the_stop_is_waited_for_only_briefly() {
    const LATE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n";
    let late = stream::once(async {
        tokio::time::sleep(USAGE_TIMEOUT / 2).await;
        Ok(Bytes::from_static(LATE.as_bytes()))
    });
    // Comments do not extend the wait.
    let comments = stream::unfold((), |()| async {
        tokio::time::sleep(USAGE_TIMEOUT / 4).await;
        Some((Ok(Bytes::from_static(b": still here\n\n")), ()))
    });
    let bytes = chunks(&[HI, STOP]).chain(late).chain(comments).boxed();
    let started = Instant::now();
    let idle = Some(Duration::from_secs(60));
    let items = collect(reader(bytes, CallInfo { idle, ..call() })).await;
    assert!(started.elapsed() <= USAGE_TIMEOUT * 2, "{:?}", started.elapsed());
    let items: Vec<_> = items.into_iter().map(Result::unwrap).collect();
    assert_eq!(items.last(), Some(&Delta::End(StopReason::EndTurn)));
    let cost = items.iter().find_map(|item| match item {
        Delta::Usage(usage) => Some(usage.total()),
        _ => None,
    });
    assert_eq!(cost, Some(5), "the usage arrived in time: {items:?}");

    let gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    // An incomplete event is not waited for either.
    let bytes = chunks(&[gemini, "data: {\"usageMeta"]).chain(stream::pending()).boxed();
    let started = Instant::now();
    let wire = Wire::GeminiGenerateContent;
    let items = collect(reader(bytes, CallInfo { idle, wire, ..call() })).await;
    assert!(started.elapsed() <= USAGE_TIMEOUT * 2, "{:?}", started.elapsed());
    let items: Vec<_> = items.into_iter().map(Result::unwrap).collect();
    assert_eq!(items.first(), Some(&Delta::Text("Hi".into())));
    assert_eq!(items.last(), Some(&Delta::End(StopReason::EndTurn)));
}

#[tokio::test]
async fn failures_after_the_end_are_ignored() {
    let decoder =
        crate::wire::decoder(Wire::ChatCompletions, &Quirks::default(), "m", &Arc::from([]));
    let limits = Limits { line: 200, event: 200, response: 1 << 20 };
    let flood: &'static str =
        Box::leak(format!("{HI}{STOP}{DONE}data: {}\n", "x".repeat(300)).into_boxed_str());
    let items = collect(Reader::new(chunks(&[flood]), decoder, limits, call())).await;
    assert_eq!(items, [Ok(Delta::Text("Hi".into())), Ok(Delta::End(StopReason::EndTurn))]);
}

#[tokio::test]
async fn core_06_reported_events_contain_no_secrets() {
    let payloads = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&payloads);
    let tap =
        PayloadSink::new(move |payload, sequence| sink.lock().unwrap().push((sequence, payload)));
    let leak = "data: {\"choices\":[],\"note\":\"sk-secret\"}\n\n";
    collect(reader(chunks(&[leak, STOP, "data: [DONE]\n\n"]), CallInfo { tap, ..call() })).await;
    let payloads = payloads.lock().unwrap();
    assert_eq!(payloads.len(), 3);
    assert_eq!(payloads[0].1.kind, PayloadKind::StreamEvent);
    assert_eq!(payloads[0].1.api_surface.as_deref(), Some("chat-completions"));
    assert_eq!(payloads[0].1.payload["note"], "[REDACTED]");
    assert_eq!(payloads[2].1.payload, "[DONE]");
    assert_eq!(payloads.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(), [0, 1, 2]);
}

#[tokio::test]
async fn an_error_in_the_stream_does_not_contain_the_key() {
    let error =
        "data: {\"error\":{\"message\":\"bad key sk-secret\",\"code\":\"invalid_api_key\"}}\n\n";
    let items = collect(reader(chunks(&[HI, error]), call())).await;
    let error = items[1].clone().unwrap_err();
    assert_eq!(error.to_string(), "Acme: bad key [REDACTED] (invalid_api_key, request req_9)");
    assert_eq!(items.len(), 2, "nothing follows a failure");
}
