use super::*;

#[test]
fn of_the_output_of_a_call_only_the_shown_end_is_kept() {
    let input = ToolInput::Json(Value::Null);
    let mut call = Call::of(ToolUse::new(CallId::from("call"), "", "Bash", input));
    assert!(call.add_output("a"), "the first output is shown at once");
    let line = "ä".repeat(500);
    let shown = (0..1_000).filter(|_| call.add_output(&line)).count();
    assert!(call.output.len() <= 4 * SHOWN_OUTPUT, "{}", call.output.len());
    assert_eq!(tail(&call.output).len(), SHOWN_OUTPUT);
    // Every third line, which is 3,000 bytes.
    assert_eq!(shown, 333);
}
