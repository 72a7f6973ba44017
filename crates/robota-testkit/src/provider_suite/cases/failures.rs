//! Failures of services, and the errors they become.

use std::time::Duration;

use robota_core::call::CallContext;
use robota_core::error::{Diagnose as _, ErrorKind};
use robota_core::provider::{AnswerEnd, FailureReason, ProviderError};
use serde_json::json;

use super::super::fixture::SuiteBlobs;
use super::super::{Feature, Suite};
use crate::mock::{Failure, FailureFormat, MockServer, Quirk, Reply, ResponseEnd, Step, Wire};

async fn fails(suite: Suite, reply: impl Into<Reply>) -> ProviderError {
    let fixture = suite.fixture(reply.into()).await;
    match fixture.hello().await {
        Err(error) => error,
        Ok(answered) => panic!("a failure was reported as an answer: {answered:?}"),
    }
}

/// A stream without a terminal event is truncated, never an answer, at every place and for every
/// kind of end.
pub async fn truncation(suite: Suite) {
    for end in [Step::Truncate, Step::Drop, Step::Reset] {
        let text = Reply::new().text("Half an ans");
        let call = Reply::new().text("I look.").tool("read", json!({"path": "a.txt"}));
        for reply in [Reply::new().thinking("Hm", None), text, call, Reply::new()] {
            // A reset as the only step happens before the headers; that is another case.
            let reply = if reply.steps.is_empty() { reply.step(Step::Activity) } else { reply };
            let error = fails(suite, reply.step(end.clone())).await;
            assert!(error.retryable(), "{end:?}: {error}");
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Network | ErrorKind::Provider), "{kind:?}: {error}");
        }
    }
}

/// Wherever an answer breaks, even inside an event, the result is a failure or the whole answer.
pub async fn truncation_anywhere(suite: Suite) {
    let reply = || {
        Reply::new()
            .thinking("Hm.", Some("c2ln"))
            .text("I look.")
            .tool("read", json!({"path": "a.txt"}))
            .tool("list", json!({}))
    };
    let whole = suite.fixture(reply()).await.hello().await.unwrap();
    for size in [super::size(4096), super::size(61)] {
        let (mut broken, mut complete) = (0, 0);
        loop {
            // One piece more in each round, until the whole answer arrives.
            let quirks = [Quirk::Bytes(size), Quirk::DropAt(broken + complete)];
            let fixture = suite.fixture(reply().quirks(quirks)).await;
            let result = fixture.hello().await;
            let ended = fixture.sent(1).ended().await;
            match result {
                Err(error) => {
                    assert!(error.retryable(), "{error:?}");
                    assert_eq!(complete, 0, "receiving more never turns success into failure");
                    broken += 1;
                }
                Ok(answered) => {
                    assert_eq!(answered.text(), whole.text());
                    assert_eq!(answered.called(), whole.called());
                    assert_eq!(answered.stop, whole.stop);
                    complete += 1;
                }
            }
            if ended == ResponseEnd::Complete {
                break;
            }
            assert!(broken < 1000, "the loop ends");
        }
        assert!(broken > 2 && complete > 0, "{broken} {complete}");
        if matches!(suite.wire, Wire::Anthropic | Wire::OpenaiResponses) && size.get() == 4096 {
            assert_eq!(complete, 1, "only the last event completes the answer");
        }
    }
}

/// A connection that closes before any response is a retryable failure.
pub async fn closed_before_headers(suite: Suite) {
    for end in [Step::Close, Step::Reset] {
        let error = fails(suite, Reply::new().step(end.clone())).await;
        assert_eq!(error.kind(), ErrorKind::Network, "{end:?}: {error}");
        assert!(error.retryable(), "{end:?}: {error}");
    }
}

/// A call to an address at which no server listens fails and may be retried.
pub async fn connection_refused(suite: Suite) {
    let origin = MockServer::refusing_origin().await.unwrap();
    let fixture = suite.fixture("unused").await;
    let provider =
        suite.provider(origin.clone(), &std::sync::Arc::new(SuiteBlobs::default()), false);
    let request = fixture.request(vec![fixture.user("hello")]);
    let context = CallContext::detached();
    let Err(error) = provider.stream(request, context).await else {
        panic!("no server listens there")
    };
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    assert!(error.retryable(), "{error}");
    let place = origin.strip_prefix("http://").unwrap();
    let shown = format!("{error} {}", error.hint().unwrap_or_default());
    assert!(shown.contains(place), "the error names the address: {shown}");
}

/// Every status is classified correctly, with the service's message.
pub async fn statuses(suite: Suite) {
    for status in [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529] {
        let failure = Failure::status(status, "The service says no.").retry_after("1");
        let error = fails(suite, failure).await;
        let kind = error.kind();
        let retryable = matches!(status, 408 | 409 | 429 | 500..);
        assert_eq!(error.retryable(), retryable, "{status}: {error}");
        match status {
            400 | 413 => assert_eq!(kind, ErrorKind::Validation, "{status}"),
            401 | 403 => assert_eq!(kind, ErrorKind::Authentication, "{status}"),
            404 => assert_eq!(kind, ErrorKind::ModelNotAvailable, "{status}"),
            429 => assert_eq!(kind, ErrorKind::RateLimit, "{status}"),
            _ => assert!(
                matches!(kind, ErrorKind::Provider | ErrorKind::Network),
                "{status} {kind:?}"
            ),
        }
        let text = error.to_string();
        assert!(text.contains("The service says no."), "{status}: {text}");
        assert!(text.contains(&status.to_string()), "{status}: {text}");
        let reason = match status {
            401 => Some(FailureReason::BadKey),
            404 => Some(FailureReason::UnknownModel),
            413 => Some(FailureReason::TooLarge),
            429 => Some(FailureReason::RateLimit),
            503 | 529 => Some(FailureReason::Overloaded),
            _ => None,
        };
        assert!(reason.is_none() || error.reason == reason, "{status}: {:?}", error.reason);
        if matches!(status, 401 | 403 | 404 | 413) {
            assert!(error.hint().is_some(), "{status}: there is a hint");
        }
    }
}

/// The service gives the retry delay in seconds, in milliseconds or as a date.
pub async fn retry_after(suite: Suite) {
    let limited = || Failure::status(429, "Slow down.");
    let exact = Failure { retry_after_ms: Some(1500), ..limited() };
    let error = fails(suite, exact).await;
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)), "{error}");
    if !Feature::RetryAfterHeader.on(suite.wire) {
        return;
    }
    let error = fails(suite, limited().retry_after("7")).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{error}");
    assert!(error.retryable());
    let error = fails(suite, limited().retry_after("0.25")).await;
    assert_eq!(error.retry_after, Some(Duration::from_millis(250)), "{error}");
    let error = fails(suite, limited().retry_after("Fri, 01 Jan 2100 00:00:00 GMT")).await;
    let wait = error.retry_after.expect("a date is a delay");
    assert!(wait > Duration::from_secs(86_400), "{wait:?}");
    let error = fails(suite, limited().retry_after("Sat, 01 Jan 2000 00:00:00 GMT")).await;
    assert!(error.retry_after.is_none_or(|wait| wait.is_zero()), "{error:?}");
    let error = fails(suite, limited().retry_after("soon")).await;
    assert_eq!(error.retry_after, None, "an invalid value is ignored");
}

/// Failures that a retry cannot fix are not retryable.
pub async fn final_failures(suite: Suite) {
    let quota = match suite.wire {
        // Without a retry delay: the spend limit.
        Wire::Anthropic => Failure::status(429, "You have reached your spend limit."),
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            Failure::status(429, "You exceeded your current quota.").code("insufficient_quota")
        }
        Wire::Gemini => {
            Failure { retry_after_ms: Some(3_600_000), ..Failure::status(429, "Quota.") }
        }
    };
    let error = fails(suite, quota).await;
    assert!(!error.retryable(), "an exhausted quota: {error:?}");
    assert_eq!(error.kind(), ErrorKind::RateLimit);
    if matches!(suite.wire, Wire::OpenaiChat | Wire::OpenaiResponses) {
        assert_eq!(error.reason, Some(FailureReason::Quota));
    }

    let message = match suite.wire {
        Wire::Anthropic => "prompt is too long: 210000 tokens > 200000 maximum",
        Wire::OpenaiChat => "This model's maximum context length is 8192 tokens",
        Wire::OpenaiResponses => "Your input exceeds the context window of this model",
        Wire::Gemini => {
            "The input token count (2000000) exceeds the maximum number of tokens allowed"
        }
    };
    let error = fails(suite, Failure::status(400, message)).await;
    assert!(!error.retryable(), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Validation);
    let hint = error.hint().expect("there is a hint");
    assert!(hint.contains("compact"), "{hint}");
    assert_eq!(error.reason, Some(FailureReason::ContextTooLong));

    if suite.wire != Wire::Gemini {
        let final_failure =
            Failure { retryable: Some(false), ..Failure::status(500, "Do not try again.") };
        let error = fails(suite, final_failure).await;
        assert!(!error.retryable(), "the service forbids a retry: {error:?}");
    }
}

/// Errors inside a stream are classified like error responses.
pub async fn error_in_the_stream(suite: Suite) {
    for status in [500, 529] {
        let failure = Failure::status(status, "It broke just now.");
        let error = fails(suite, Reply::new().text("Half").error(failure)).await;
        assert!(error.retryable(), "{status}: {error:?}");
        assert!(error.to_string().contains("It broke just now."), "{error}");
    }
    let failure = Failure::status(400, "That was wrong.").code(match suite.wire {
        Wire::Anthropic => "invalid_request_error",
        Wire::OpenaiChat | Wire::OpenaiResponses => "invalid_prompt",
        Wire::Gemini => "INVALID_ARGUMENT",
    });
    let error = fails(suite, Reply::new().text("Half").error(failure)).await;
    assert!(!error.retryable(), "{error:?}");
    assert!(error.to_string().contains("That was wrong."), "{error}");
}

/// HTML pages, errors in another vendor's form, and errors with status 200.
pub async fn unusual_errors(suite: Suite) {
    for format in [
        FailureFormat::Html,
        FailureFormat::Plain,
        FailureFormat::Empty,
        FailureFormat::Openai,
        FailureFormat::List,
        FailureFormat::Native,
    ] {
        let error = fails(suite, Failure::status(502, "Bad gateway").format(format)).await;
        assert!(error.retryable(), "{format:?}: {error}");
        let text = error.to_string();
        assert!(!text.contains('<'), "{format:?}: a page is not repeated: {text}");
        assert!(text.contains("502"), "{format:?}: {text}");
        let shown = text.to_lowercase().contains("bad gateway");
        assert!(shown || format == FailureFormat::Empty, "{format:?}: {text}");
    }
    let error = fails(suite, Failure::status(503, "Still loading").format(FailureFormat::Ok)).await;
    assert!(error.to_string().contains("Still loading"), "an error with status 200: {error}");
    let error = fails(suite, Failure::status(401, "Wrong key").format(FailureFormat::Openai)).await;
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    let page = Failure {
        status: Some(200),
        ..Failure::status(200, "Sign in").format(FailureFormat::Html)
    };
    let error = fails(suite, page).await;
    assert!(!error.to_string().contains("<html"), "a page with status 200: {error}");
}

/// Errors inside a stream in an unexpected form.
pub async fn unusual_errors_in_the_stream(suite: Suite) {
    let event = match suite.wire {
        // The form of local servers.
        Wire::Anthropic | Wire::OpenaiChat => {
            Step::Event(json!({"error": {"message": "It broke just now.", "code": 500}}))
        }
        // The second of the two forms.
        Wire::OpenaiResponses => Step::Event(json!({
            "type": "error", "code": "server_error", "message": "It broke just now.",
            "param": null, "sequence_number": 9,
        })),
        // Bare JSON between the events.
        Wire::Gemini => {
            let error = json!({"error": {"code": 500, "message": "It broke just now.", "status": "INTERNAL"}});
            Step::Bytes(format!("{error:#}\r\n"))
        }
    };
    let error = fails(suite, Reply::new().text("Half").step(event).step(Step::Truncate)).await;
    assert!(error.to_string().contains("It broke just now."), "{error}");
    assert!(error.retryable(), "{error:?}");
}

/// A blocked prompt is a refusal or a failure that is not retryable.
pub async fn blocked_prompt(suite: Suite) {
    let reply = match suite.wire {
        Wire::Gemini => Reply::new()
            .step(Step::Event(json!({"promptFeedback": {"blockReason": "SAFETY"}})))
            .step(Step::Truncate),
        Wire::Anthropic => {
            Failure::status(400, "Output blocked by content filtering policy").into()
        }
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            Failure::status(400, "The content is filtered.").code("content_filter").into()
        }
    };
    let fixture = suite.fixture(reply).await;
    match fixture.hello().await {
        Ok(answered) => assert_eq!(answered.stop.answer(), AnswerEnd::Filtered),
        Err(error) => assert!(!error.retryable(), "{error:?}"),
    }
}

/// The error contains the service's request id, for its support.
pub async fn request_id(suite: Suite) {
    if !Feature::RequestId.on(suite.wire) {
        return;
    }
    let error = fails(suite, Failure::status(500, "It broke.")).await;
    assert!(error.to_string().contains("req_0"), "{error}");
    assert_eq!(error.request_id.as_deref(), Some("req_0"));
    let broken = Reply::new().text("Half").step(Step::Drop);
    assert_eq!(fails(suite, broken).await.request_id.as_deref(), Some("req_0"));
}

/// The key is not in any error, hint, debug output or payload, even if the service repeats it.
pub async fn the_key_is_never_exposed(suite: Suite) {
    use std::sync::{Arc, Mutex};

    use robota_core::provider::PayloadSink;

    use super::super::fixture::KEY;

    let echo = format!("Incorrect API key provided: {KEY}. Try another.");
    let replies = [
        Reply::from(Failure::status(401, echo.clone())),
        Reply::from(Failure::status(500, echo.clone()).format(FailureFormat::Html)),
        Reply::from(Failure::status(500, echo.clone()).format(FailureFormat::Plain)),
        Reply::new().text("Half").error(Failure::status(500, echo)),
        Reply::new().step(Step::Close),
    ];
    for reply in replies {
        let error = fails(suite, reply).await;
        let shown = format!("{error} {error:?} {:?} {:?}", error.hint(), error.to_data());
        assert!(!shown.contains(KEY), "{shown}");
        assert!(!shown.contains("TOPSECRET"), "{shown}");
    }
    let fixture = suite.fixture("fine").await;
    let payloads: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = payloads.clone();
    let tap = PayloadSink::new(move |payload, _| crate::lock(&sink).push(format!("{payload:?}")));
    let request = fixture.request(vec![fixture.user("hello")]);
    let stream =
        fixture.provider.stream(request, CallContext::detached().with_payloads(tap)).await.unwrap();
    drop(futures::StreamExt::collect::<Vec<_>>(stream).await);
    let payloads = crate::lock(&payloads).clone();
    assert!(!payloads.is_empty(), "payloads are reported to the tap");
    assert!(payloads.iter().all(|payload| !payload.contains(KEY)), "{payloads:?}");
    let sent = fixture.sent(1);
    assert!(!sent.query.contains(KEY) && !sent.path.contains(KEY), "URLs are logged");
}
