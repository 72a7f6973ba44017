use robota_core::error::{ErrorData, ErrorKind};

use super::*;

fn ended(end: TurnEnd) -> TurnRecord {
    let answer = "words".to_owned().into();
    TurnRecord { end: Some(end), answer, rounds: 2, ..TurnRecord::default() }
}

#[test]
fn cli_03_every_end_has_its_exit_code() {
    use ResultSubtype::{ErrorDuringExecution, ErrorMaxTurns, Success};
    use TerminalReason as R;
    for (end, subtype, is_error, reason, code) in [
        (TurnEnd::Complete, Success, false, R::Completed, 0),
        (TurnEnd::RoundLimit, ErrorMaxTurns, true, R::MaxTurns, 4),
        (TurnEnd::UnknownTools, ErrorDuringExecution, true, R::Completed, 1),
        (TurnEnd::ContextFull, Success, true, R::PromptTooLong, 1),
        (TurnEnd::Blocked, Success, false, R::Completed, 1),
        (TurnEnd::Stopped, Success, false, R::HookStopped, 1),
        (TurnEnd::Interrupted, ErrorDuringExecution, true, R::AbortedStreaming, 130),
        (TurnEnd::ProviderFailed, Success, true, R::ApiError, 1),
        (TurnEnd::StoreFailed, ErrorDuringExecution, true, R::ApiError, 1),
    ] {
        let outcome = classify(&ended(end));
        assert_eq!(
            (outcome.subtype, outcome.is_error, outcome.reason, outcome.exit.code()),
            (subtype, is_error, reason, code),
            "{end:?}"
        );
    }
}

#[test]
fn a_cut_or_refused_answer_is_not_a_success() {
    for (stop, code) in [
        (StopReason::MaxTokens, 4),
        (StopReason::WindowFull, 4),
        (StopReason::Refusal, 1),
        (StopReason::Filtered, 1),
    ] {
        let record = TurnRecord { stop: Some(stop.clone()), ..ended(TurnEnd::Complete) };
        let outcome = classify(&record);
        assert!(outcome.is_error, "{stop:?}");
        assert_eq!((outcome.exit.code(), outcome.text.as_str()), (code, "words"));
        assert_eq!(outcome.stop, Some(stop_name(&stop)));
    }
}

#[test]
fn limits_win_over_the_way_in_which_the_turn_was_stopped() {
    let record = TurnRecord {
        budget: Some("Reached maximum budget ($0.5)".to_owned()),
        ..ended(TurnEnd::Stopped)
    };
    assert_eq!(classify(&record).text, "Reached maximum budget ($0.5)");
    let record = TurnRecord { max_rounds: 2, ..ended(TurnEnd::RoundLimit) };
    let outcome = classify(&record);
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Reached maximum number of turns (2)", 3));
    let record = TurnRecord { structured_exhausted: true, ..ended(TurnEnd::Interrupted) };
    assert_eq!(classify(&record).subtype, ResultSubtype::ErrorMaxStructuredOutputRetries);
}

#[test]
fn a_failed_model_call_is_reported_in_the_result() {
    let error = Some(ErrorData::new(ErrorKind::Provider, "400 bad request"));
    let outcome = classify(&TurnRecord { error, ..ended(TurnEnd::ProviderFailed) });
    assert_eq!(outcome.text, "API Error: 400 bad request");
    assert_eq!(outcome.stop.as_deref(), Some("stop_sequence"));
    let error = ErrorData {
        http_status: Some(400),
        ..ErrorData::new(ErrorKind::Validation, "bad request")
    };
    let outcome = classify(&TurnRecord { error: Some(error), ..ended(TurnEnd::ProviderFailed) });
    assert_eq!(outcome.text, "API Error: 400 bad request");
}
