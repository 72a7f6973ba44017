use robota_core::env_ref::Secret;

use super::*;

#[test]
fn sdk_08_output_of_hooks_has_no_secrets_and_a_limit() {
    let redactor = Redactor::new([Secret::new("sk-12345678")]).unwrap();
    assert_eq!(text(b"key sk-12345678", &redactor), "key [REDACTED]");
    let long = "a".repeat(MAX_OUTPUT - 1) + "\u{e9}";
    assert_eq!(text(long.as_bytes(), &redactor).len(), MAX_OUTPUT - 1);
}

#[tokio::test]
async fn sdk_08_a_run_that_is_dropped_is_cancelled() {
    let (changes, mut receive) = HookChanges::new(true);
    let mut ends = changes.started(HookEvent::PreToolUse, "Bash");
    drop(changes.started(HookEvent::Stop, ""));
    ends.ended(&HookExit::code(0, "", ""));
    drop(ends);
    let mut seen = Vec::new();
    while let Ok(HookChange { run, end }) = receive.try_recv() {
        seen.push((run.number, run.name, end.map(|end| matches!(end, End::Cancelled))));
    }
    let one = |end| (1, "PreToolUse:Bash".to_owned(), end);
    let two = |end| (2, "Stop".to_owned(), end);
    assert_eq!(seen, [one(None), two(None), two(Some(true)), one(Some(false))]);
}
