use futures::FutureExt as _;
use robota_core::ids::CallId;
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Class;

use super::*;

fn question(tool: &str) -> Question {
    let call = ToolUse::new(CallId::from("c"), "call_0", tool, ToolInput::parse(""));
    Question {
        call,
        class: Class::Execute,
        reason: "test".to_owned(),
        rules: Vec::new(),
        needs_user: false,
        metadata: serde_json::Map::new(),
        agent: None,
        task: None,
    }
}

#[test]
fn it_answers_by_name_and_records_the_questions() {
    let approver = RecordingApprover::new(
        ScriptedApprover::new().allow("yes").deny("no", "never").silent("hm"),
    );
    let ask = |tool: &str| approver.ask(question(tool)).now_or_never();
    assert_eq!(ask("yes"), Some(Answer::Allow { note: None }));
    assert_eq!(ask("no"), Some(Answer::Deny { note: Some("never".to_owned()) }));
    assert_eq!(ask("hm"), None, "it never answers");
    let other = Answer::Deny { note: Some("the test has no answer for other".to_owned()) };
    assert_eq!(ask("other"), Some(other));
    let asked: Vec<String> = approver.questions().into_iter().map(|one| one.call.name).collect();
    assert_eq!(asked, ["yes", "no", "hm", "other"]);
}
