use robota_core::error::{ErrorData, ErrorKind};
use robota_core::usage::Usage;

use super::*;

fn report(end: TurnEnd, error: Option<ErrorData>) -> TurnReport {
    TurnReport {
        end,
        text: "Done.".to_owned(),
        stop: None,
        rounds: 2,
        tools_executed: 1,
        usage: Usage::new(10, 5),
        cost: None,
        duration: std::time::Duration::ZERO,
        error,
    }
}

#[test]
fn cli_03_every_end_has_its_exit_code() {
    let ends = [
        (TurnEnd::Complete, Exit::Ok),
        (TurnEnd::RoundLimit, Exit::Failure),
        (TurnEnd::UnknownTools, Exit::Failure),
        (TurnEnd::ContextFull, Exit::Failure),
        (TurnEnd::Blocked, Exit::Failure),
        (TurnEnd::Interrupted, Exit::Interrupted),
        (TurnEnd::ProviderFailed, Exit::Failure),
        (TurnEnd::StoreFailed, Exit::Failure),
    ];
    for (end, expected) in ends {
        assert_eq!(exit(&report(end, None)), expected, "{end:?}");
        assert_eq!(incomplete(end).is_none(), expected == Exit::Ok, "{end:?}");
    }
}

#[test]
fn cli_03_json_errors_carry_their_message() {
    let error = ErrorData::new(ErrorKind::Authentication, "the key was refused");
    let value = json(&report(TurnEnd::ProviderFailed, Some(error)), &SessionId::from("s"));
    assert_eq!(value["subtype"], "error");
    assert_eq!(value["error"]["message"], "the key was refused");
    assert_eq!(value["error"]["kind"], "authentication");
    assert_eq!(value["session_id"], "s");
}
