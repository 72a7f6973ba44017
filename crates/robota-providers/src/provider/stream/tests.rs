use futures::{StreamExt as _, stream};
use robota_core::error::Diagnose as _;
use robota_core::provider::StopReason;
use std::sync::{Arc, Mutex};

use super::*;
use crate::profile::Quirks;

fn call() -> Call {
    Call {
        about: About { vendor: "Acme".into(), ..About::default() },
        scrub: Scrubber::new(["sk-secret"]),
        tap: PayloadSink::none(),
        wire: Wire::ChatCompletions,
        request_id: Some("req_9".into()),
        idle: None,
    }
}

fn reader(bytes: ByteStream, call: Call) -> Reader {
    let decoder = crate::wire::decoder(call.wire, &Quirks::default(), "m", &Arc::from([]));
    Reader::new(bytes, decoder, Limits::default(), call)
}

fn chunks(all: &[&'static str]) -> ByteStream {
    stream::iter(all.to_vec()).map(|text| Ok(Bytes::from_static(text.as_bytes()))).boxed()
}

const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

async fn all(mut reader: Reader) -> Vec<Result<Delta, ProviderError>> {
    let mut items = Vec::new();
    while let Some(item) = reader.next().await {
        items.push(item);
    }
    items
}

#[tokio::test]
async fn core_14_bytes_that_say_nothing_are_activity() {
    let items = all(reader(chunks(&[": waiting\n\n", HI, STOP, DONE]), call())).await;
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
async fn a_stream_without_its_end_is_truncated_and_keeps_what_came() {
    let items = all(reader(chunks(&[HI]), call())).await;
    assert_eq!(items[0], Ok(Delta::Text("Hi".into())));
    let error = items[1].clone().unwrap_err();
    assert_eq!(error.reason, Some(FailureReason::Truncated));
    assert!(error.retryable());
    assert_eq!(error.request_id.as_deref(), Some("req_9"));
    // Cut in the middle of an event, it is truncated too, not unreadable.
    let items = all(reader(chunks(&[HI, "data: {\"choices\":[{\"del"]), call())).await;
    let error = items.last().unwrap().clone().unwrap_err();
    assert_eq!(error.reason, Some(FailureReason::Truncated));
}

#[tokio::test]
async fn what_is_no_stream_is_an_error() {
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
        let items = all(reader(chunks(&[body]), call())).await;
        let error = items.last().unwrap().clone().unwrap_err();
        assert_eq!((error.reason, error.retryable()), (Some(reason), retryable), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn core_14_silence_ends_a_call_and_bytes_put_it_off() {
    let idle = Duration::from_secs(10);
    let slow = stream::unfold(0, |count| async move {
        tokio::time::sleep(Duration::from_secs(9)).await;
        (count < 3).then(|| (Ok(Bytes::from_static(b": still here\n\n")), count + 1))
    });
    let bytes = slow.chain(stream::pending()).boxed();
    let started = Instant::now();
    let items = all(reader(bytes, Call { idle: Some(idle), ..call() })).await;
    assert_eq!(items.len(), 4);
    assert_eq!(items[3].clone().unwrap_err(), ProviderError::idle(idle));
    assert!(started.elapsed() > Duration::from_secs(36), "nine, nine, nine, and then the silence");
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_a_connection_that_stays_open() {
    let bytes = chunks(&[HI, STOP, DONE]).chain(stream::pending()).boxed();
    let started = Instant::now();
    let items = all(reader(bytes, call())).await;
    assert_eq!(items.last(), Some(&Ok(Delta::End(StopReason::EndTurn))));
    assert!(started.elapsed() <= DRAIN * 2);
}

/// A wire that ends an answer with its bytes only, or a service that leaves out the end mark.
#[tokio::test(start_paused = true)]
async fn core_14_a_model_that_stopped_is_waited_for_a_moment_only() {
    const LATE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n";
    let late = stream::once(async {
        tokio::time::sleep(AFTERMATH / 2).await;
        Ok(Bytes::from_static(LATE.as_bytes()))
    });
    // Comments put nothing off.
    let comments = stream::unfold((), |()| async {
        tokio::time::sleep(AFTERMATH / 4).await;
        Some((Ok(Bytes::from_static(b": still here\n\n")), ()))
    });
    let bytes = chunks(&[HI, STOP]).chain(late).chain(comments).boxed();
    let started = Instant::now();
    let idle = Some(Duration::from_secs(60));
    let items = all(reader(bytes, Call { idle, ..call() })).await;
    assert!(started.elapsed() <= AFTERMATH * 2, "{:?}", started.elapsed());
    let items: Vec<_> = items.into_iter().map(Result::unwrap).collect();
    assert_eq!(items.last(), Some(&Delta::End(StopReason::EndTurn)));
    let cost = items.iter().find_map(|item| match item {
        Delta::Usage(usage) => Some(usage.total()),
        _ => None,
    });
    assert_eq!(cost, Some(5), "what it cost came in time: {items:?}");

    let gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    // A record that never becomes whole is not waited for either.
    let bytes = chunks(&[gemini, "data: {\"usageMeta"]).chain(stream::pending()).boxed();
    let started = Instant::now();
    let wire = Wire::GeminiGenerateContent;
    let items = all(reader(bytes, Call { idle, wire, ..call() })).await;
    assert!(started.elapsed() <= AFTERMATH * 2, "{:?}", started.elapsed());
    let items: Vec<_> = items.into_iter().map(Result::unwrap).collect();
    assert_eq!(items.first(), Some(&Delta::Text("Hi".into())));
    assert_eq!(items.last(), Some(&Delta::End(StopReason::EndTurn)));
}

#[tokio::test]
async fn nothing_after_the_end_spoils_an_answer() {
    let decoder =
        crate::wire::decoder(Wire::ChatCompletions, &Quirks::default(), "m", &Arc::from([]));
    let limits = Limits { line: 200, event: 200, response: 1 << 20 };
    let flood: &'static str =
        Box::leak(format!("{HI}{STOP}{DONE}data: {}\n", "x".repeat(300)).into_boxed_str());
    let items = all(Reader::new(chunks(&[flood]), decoder, limits, call())).await;
    assert_eq!(items, [Ok(Delta::Text("Hi".into())), Ok(Delta::End(StopReason::EndTurn))]);
}

#[tokio::test]
async fn core_06_events_are_told_without_secrets() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let tap =
        PayloadSink::new(move |payload, sequence| seen.lock().unwrap().push((sequence, payload)));
    let leak = "data: {\"choices\":[],\"note\":\"sk-secret\"}\n\n";
    all(reader(chunks(&[leak, STOP, "data: [DONE]\n\n"]), Call { tap, ..call() })).await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0].1.kind, PayloadKind::StreamEvent);
    assert_eq!(told[0].1.api_surface.as_deref(), Some("chat-completions"));
    assert_eq!(told[0].1.payload["note"], "[REDACTED]");
    assert_eq!(told[2].1.payload, "[DONE]");
    assert_eq!(told.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(), [0, 1, 2]);
}

#[tokio::test]
async fn an_error_in_the_stream_hides_the_key() {
    let error =
        "data: {\"error\":{\"message\":\"bad key sk-secret\",\"code\":\"invalid_api_key\"}}\n\n";
    let items = all(reader(chunks(&[HI, error]), call())).await;
    let error = items[1].clone().unwrap_err();
    assert_eq!(error.to_string(), "Acme: bad key [REDACTED] (invalid_api_key, request req_9)");
    assert_eq!(items.len(), 2, "nothing comes after a failure");
}
