use serde_json::json;

use super::*;

#[test]
fn core_04_later_stop_reasons_are_stored_in_the_frozen_form() {
    let cases = [
        (StopReason::EndTurn, json!("end_turn")),
        (StopReason::MaxTokens, json!("max_tokens")),
        (StopReason::Refusal, json!("refusal")),
        (StopReason::Filtered, json!({"other": "content_filter"})),
        (StopReason::WindowFull, json!({"other": "model_context_window_exceeded"})),
        (StopReason::Other("odd".to_owned()), json!({"other": "odd"})),
    ];
    for (reason, stored) in cases {
        assert_eq!(serde_json::to_value(&reason).unwrap(), stored);
        assert_eq!(serde_json::from_value::<StopReason>(stored).unwrap(), reason);
    }
}

#[test]
fn core_04_cut_refused_filtered_and_paused_answers_are_not_whole() {
    assert_eq!(StopReason::MaxTokens.answer(), AnswerEnd::Cut);
    assert_eq!(StopReason::WindowFull.answer(), AnswerEnd::Cut);
    assert_eq!(StopReason::Refusal.answer(), AnswerEnd::Refused);
    assert_eq!(StopReason::Filtered.answer(), AnswerEnd::Filtered);
    assert_eq!(StopReason::Pause.answer(), AnswerEnd::Paused);
    assert_eq!(StopReason::EndTurn.answer(), AnswerEnd::Whole);
    assert_eq!(StopReason::Other("odd".to_owned()).answer(), AnswerEnd::Whole);
}
