use robota_core::message::{ToolInput, ToolUse};
use serde_json::json;

use super::*;

#[test]
fn a_unified_diff_becomes_numbered_lines() {
    let text =
        "--- a\n+++ a\n@@ -3,3 +3,3 @@\n keep\n-old\n+new\n\n@@ -9 +9,2 @@\n+more\n\\ No newline\n";
    let lines = diff_lines(text);
    assert_eq!(
        lines,
        [
            DiffLine::Hunk { text: "-3,3 +3,3".into() },
            DiffLine::Context { line: 3, text: "keep".into() },
            DiffLine::Remove { line: 4, text: "old".into() },
            DiffLine::Add { line: 4, text: "new".into() },
            DiffLine::Context { line: 5, text: String::new() },
            DiffLine::Hunk { text: "-9 +9,2".into() },
            DiffLine::Add { line: 9, text: "more".into() },
        ]
    );
    assert!(diff_lines("no diff").is_empty());
}

#[test]
fn the_first_argument_is_the_most_descriptive_one() {
    let first = |input| first_argument(Some(&input));
    assert_eq!(first(json!({"content": "x", "file_path": "a.rs"})), "a.rs");
    assert_eq!(first(json!({"count": 3, "topic": "t"})), "t");
    assert_eq!(first(json!([1])), "");
}

#[test]
fn a_denied_call_is_not_an_error() {
    let call = ToolUse::new("c1".into(), "t1", "Bash", ToolInput::Json(json!({"command": "rm x"})));
    let state = ToolState::started(&call, None);
    assert!(state.running && state.first_argument == "rm x");
    let ended = state.clone().ended(&ToolOutcome::not_run("denied", "no"));
    assert_eq!(ended.end, Some(ToolEnd::Denied));
    assert_eq!(state.clone().ended(&ToolOutcome::failed("x", "no")).end, Some(ToolEnd::Error));
    assert_eq!(state.ended(&ToolOutcome::ok("yes")).end, Some(ToolEnd::Success));
}
