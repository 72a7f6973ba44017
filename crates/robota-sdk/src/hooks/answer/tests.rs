use robota_core::hook::{HookDefinition, HookEnd};

use super::*;

fn exit(text: &str) -> HookExit {
    exit_of(text, r#"{"hook_event_name": "PreToolUse"}"#)
}

fn stdout(exit: &HookExit) -> String {
    String::from_utf8(exit.stdout.clone()).unwrap()
}

#[test]
fn sdk_21_only_an_exact_answer_counts() {
    for text in [
        r#"{"ok": true}"#,
        " {\"ok\":true}\n",
        "```json\n{\"ok\": true}\n```",
        "```\n{\"ok\": true, \"reason\": \"fine\"}\n```",
    ] {
        assert_eq!(exit(text), HookExit::code(0, "", ""), "{text}");
    }
    for text in [
        "",
        "yes",
        "true",
        "{}",
        r#"{"ok": "true"}"#,
        r#"{"ok": 1}"#,
        r#"{"ok": true, "note": "x"}"#,
        r#"{"ok": true, "ok": false}"#,
        r#"The file says {"ok": true}"#,
        r#"{"ok": true} {"ok": false}"#,
        r#"[{"ok": true}]"#,
        "```json\n{\"ok\": true}\n``` or not",
    ] {
        assert!(matches!(exit(text).end, HookEnd::Failed(_)), "{text}");
    }
}

#[test]
fn sdk_21_a_refusal_blocks_with_its_reason() {
    assert_eq!(
        stdout(&exit(r#"{"ok": false, "reason": "no tests"}"#)),
        r#"{"decision":"block","reason":"no tests"}"#
    );
    assert!(stdout(&exit(r#"{"ok": false}"#)).contains("the condition does not hold"));
    let text = r#"{"ok": false, "reason": "no network", "impossible": true}"#;
    assert!(stdout(&exit(text)).contains("block"));
    let stop = exit_of(text, r#"{"hook_event_name": "Stop"}"#);
    assert_eq!(stdout(&stop), r#"{"continue":false,"stopReason":"no network"}"#);
}

#[test]
fn sdk_21_the_event_replaces_arguments_or_follows_the_prompt() {
    let hook = |text: &str| {
        let hook = HookDefinition::read(&json!({"type": "prompt", "prompt": text})).unwrap();
        let HookDefinition::Prompt(hook) = hook else { panic!("{hook:?}") };
        hook
    };
    assert_eq!(
        prompt(&hook("Is $ARGUMENTS fine?"), "{$ARGUMENTS}").unwrap(),
        "Is {$ARGUMENTS} fine?"
    );
    assert_eq!(prompt(&hook("Fine?"), "{}").unwrap(), "Fine?\n\nARGUMENTS: {}");
    assert!(prompt(&hook("Fine?"), &"x".repeat(MAX_ARGUMENTS + 1)).is_err());
}
