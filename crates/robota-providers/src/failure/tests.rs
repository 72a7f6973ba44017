use robota_core::error::Diagnose as _;
use robota_core::error::ErrorKind;

use super::*;

fn service() -> ServiceInfo {
    ServiceInfo {
        vendor: "Acme".into(),
        model: "m-1".into(),
        address: "https://api.acme.test".into(),
        key_env: Some("ACME_API_KEY".into()),
        address_env: Some("ACME_BASE_URL".into()),
        help: Some("https://acme.test/keys".into()),
        local: false,
        has_options: false,
        bare_429_is_final: false,
    }
}

fn error(status: Option<u16>, body: &str) -> ProviderError {
    let mut failure = Failure::from_body(body);
    failure.status = status.or(failure.status);
    failure.into_error(&service(), &Scrubber::default())
}

#[test]
fn error_bodies_of_every_wire_are_classified() {
    use FailureReason as R;
    #[rustfmt::skip]
    let cases = [
        (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#, R::BadKey, false),
        (400, r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#, R::BadKey, false),
        (404, r#"{"error":{"message":"The model `x` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#, R::UnknownModel, false),
        (400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#, R::ContextTooLong, false),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#, R::ContextTooLong, false),
        (400, r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, R::ContextTooLong, false),
        (429, r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#, R::Quota, false),
        (402, r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#, R::Quota, false),
        (429, r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#, R::RateLimit, true),
        (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#, R::RateLimit, true),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, R::Overloaded, true),
        (503, "{\"error\":{\"message\":\"Loading model\",\"type\":\"unavailable_error\",\"code\":503}}", R::Overloaded, true),
        (400, r#"{"error":{"code":"content_filter","message":"The response was filtered"}}"#, R::ContentFilter, false),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"too big"}}"#, R::TooLarge, false),
        (409, r#"{"error":"conflict"}"#, R::Server, true),
        (408, "", R::Server, true),
        (502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", R::Server, true),
        (422, r#"{"detail":"bad field"}"#, R::BadRequest, false),
        (400, r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}"#, R::Server, true),
        (400, r#"[{"error":{"code":400,"message":"nope","status":"FAILED_PRECONDITION"}}]"#, R::BadRequest, false),
    ];
    for (status, body, reason, retryable) in cases {
        let error = error(Some(status), body);
        assert_eq!((error.reason, error.retryable()), (Some(reason), retryable), "{body}");
    }
}

#[test]
fn errors_inside_a_stream_have_no_status() {
    let overloaded = error(
        None,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    );
    assert_eq!(overloaded.reason, Some(FailureReason::Overloaded));
    assert!(overloaded.retryable());
    let broken = error(None, r#"{"error":{"message":"boom"}}"#);
    assert_eq!((broken.reason, broken.retryable()), (Some(FailureReason::Server), true));
    let wrong = error(
        None,
        r#"{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}"#,
    );
    assert_eq!((wrong.reason, wrong.retryable()), (Some(FailureReason::ContentFilter), false));
}

#[test]
fn google_details_give_retry_delay_and_quota() {
    let body = |quota: &str| {
        format!(
            r#"{{"error":{{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
               {{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}},
               {{"@type":"x","violations":[{{"quotaId":"{quota}"}}]}}]}}}}"#
        )
    };
    let minute = error(None, &body("RequestsPerMinutePerProject"));
    assert_eq!(minute.reason, Some(FailureReason::RateLimit));
    assert_eq!(minute.retry_after, Some(Duration::from_millis(34_500)));
    assert!(minute.retryable());
    let day = error(None, &body("GenerateRequestsPerDayPerProject"));
    assert_eq!((day.reason, day.retryable()), (Some(FailureReason::Quota), false));
}

#[test]
fn the_error_has_the_service_message_request_id_and_hint() {
    let error = error(
        Some(401),
        r#"{"type":"error","error":{"type":"authentication_error","message":"bad key"},"request_id":"req_7"}"#,
    );
    assert_eq!(error.to_string(), "Acme: bad key (HTTP 401, authentication_error, request req_7)");
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert_eq!(error.request_id.as_deref(), Some("req_7"));
    let hint = error.hint().unwrap();
    assert!(hint.contains("ACME_API_KEY") && hint.contains("https://acme.test/keys"), "{hint}");
}

#[test]
fn an_html_body_becomes_one_line() {
    let error = error(Some(502), "<!DOCTYPE html><html><body><h1>Bad\n gateway</h1></body></html>");
    assert_eq!(
        error.to_string(),
        "Acme: received HTML instead of an API response: Bad gateway (HTTP 502)"
    );
}

#[test]
fn errors_never_contain_keys() {
    let scrub = Scrubber::new(["sk-very-secret"]);
    let failure =
        Failure::new("Incorrect API key provided: sk-very-secret").code("invalid_api_key");
    let error = failure.into_error(&service(), &scrub);
    let shown = format!("{error} {error:?} {:?}", error.to_data());
    assert!(!shown.contains("sk-very-secret"), "{shown}");
    assert!(shown.contains("[REDACTED]"));
}

#[test]
fn a_minute_limit_whose_message_mentions_billing_is_retried() {
    let message = "You exceeded your current quota, please check your plan and billing details. \
                   Please retry in 15s.";
    let body = serde_json::json!({"error": {"code": 429, "message": message,
        "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "x.QuotaFailure",
        "violations": [{"quotaId": "GenerateContentInputTokensPerModelPerMinute-FreeTier"}]}]}});
    let minute = error(Some(429), &body.to_string());
    assert_eq!((minute.reason, minute.retryable()), (Some(FailureReason::RateLimit), true));
    assert_eq!(minute.retry_after, Some(Duration::from_secs(15)));
    assert!(!minute.hint().unwrap().contains("credit"), "{minute:?}");
    // The same message with the code of an empty account, or without any hint at a rate, is final.
    let empty = error(
        Some(429),
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
    );
    assert_eq!((empty.reason, empty.retryable()), (Some(FailureReason::Quota), false));
    let unpaid = error(Some(403), r#"{"error":{"message":"enable billing for this project"}}"#);
    assert_eq!(unpaid.reason, Some(FailureReason::Quota));
}

#[test]
fn a_429_without_a_delay_is_final_where_it_means_the_spending_limit() {
    let service = ServiceInfo { bare_429_is_final: true, ..service() };
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"limit reached"}}"#;
    let mut failure = Failure::from_body(body);
    failure.status = Some(429);
    let bare = failure.clone().into_error(&service, &Scrubber::default());
    assert_eq!((bare.reason, bare.retryable()), (Some(FailureReason::Quota), false));
    failure.retry_after = Some(Duration::from_secs(3));
    let delayed = failure.into_error(&service, &Scrubber::default());
    assert_eq!((delayed.reason, delayed.retryable()), (Some(FailureReason::RateLimit), true));
}

#[test]
fn a_rejected_request_blames_the_options_only_if_the_user_set_some() {
    let rejected = |service: &ServiceInfo| {
        let failure = Failure { status: Some(400), ..Failure::truncated() };
        let failure = Failure { reason: Some(FailureReason::BadRequest), ..failure };
        failure.into_error(service, &Scrubber::default()).hint()
    };
    assert_eq!(rejected(&service()), None);
    let with_options = ServiceInfo { has_options: true, ..service() };
    assert!(rejected(&with_options).unwrap().contains("`options`"));
}

#[test]
fn a_cut_stream_and_a_full_window_have_hints_of_their_own() {
    let local = ServiceInfo { local: true, ..service() };
    let cut = Failure::truncated().into_error(&local, &Scrubber::default());
    assert!(cut.hint().unwrap().contains("while the model was answering"), "{cut:?}");
    let full = error(Some(400), r#"{"error":{"message":"maximum context length is 8192 tokens"}}"#);
    assert_eq!(full.context_window, Some(8_192));
    assert!(!full.hint().unwrap().contains("/compact"), "there is no such command");
}
