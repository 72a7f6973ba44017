//! Scripts that would take long to judge ask instead, and denies still hold in them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::{
    LexicalPaths, List, Policy, PolicySpec, PolicyVerdict, RuleSource, ToolCall, Workspace,
};
use serde_json::json;

fn judge(mode: Mode, command: &str) -> PolicyVerdict {
    let spec = PolicySpec::new(Workspace::new("/w/app", "/home/u"))
        .mode(mode)
        .rules(List::Allow, RuleSource::session(), ["Bash"])
        .rules(List::Deny, RuleSource::session(), ["Bash(git push *)"]);
    let input = json!({ "command": command });
    let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
    Policy::new(&spec, &LexicalPaths).0.judge(&call, &LexicalPaths)
}

fn has_reason(judged: &PolicyVerdict, text: &str) -> bool {
    judged.reasons.iter().any(|reason| reason.text.contains(text))
}

#[test]
fn more_commands_than_can_be_judged_ask_in_every_mode() {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
        for one in
            ["ls;", "ls\n", "ls && ", "ls || ", "cd a && ", "cd a; cp x y;", "[ a ];", "x=1;"]
        {
            let few = format!("{}ls", one.repeat(60));
            assert!(!has_reason(&judge(mode, &few), "more commands"), "{mode}: {one}");
            let many = format!("{}ls", one.repeat(300));
            let judged = judge(mode, &many);
            assert_eq!(judged.verdict, Verdict::Ask, "{mode}: {one}");
            assert!(has_reason(&judged, "more commands"), "{mode}: {one}: {:?}", judged.reasons);
            let denied = format!("{}git push", one.repeat(300));
            assert_eq!(judge(mode, &denied).verdict, Verdict::Deny, "{mode}: {one}");
        }
    }
}

#[test]
fn more_words_than_can_be_judged_ask_in_every_mode() {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
        assert!(!has_reason(&judge(mode, &format!("ls {}", "a ".repeat(900))), "more commands"));
        let judged = judge(mode, &format!("ls {}", "a ".repeat(3_000)));
        assert_eq!(judged.verdict, Verdict::Ask, "{mode}");
        assert!(has_reason(&judged, "more commands"), "{mode}: {:?}", judged.reasons);
        let denied = format!("ls {}; git push", "a ".repeat(3_000));
        assert_eq!(judge(mode, &denied).verdict, Verdict::Deny, "{mode}");
    }
}

/// Values that multiply are not followed to the end; nothing runs unasked because of that.
#[test]
fn variables_that_multiply_ask_in_every_mode() {
    for mode in [Mode::Default, Mode::BypassPermissions] {
        for one in ["a=$a$a; ", "a=$b$c; b=$c$a; c=$a$b; "] {
            let text = format!("a=x; b=y; c=z; {}rm -rf \"$a\"", one.repeat(40));
            assert_eq!(judge(mode, &text).verdict, Verdict::Ask, "{mode}: {one}");
        }
    }
}

#[test]
fn a_text_that_the_second_grammar_reads_slowly_asks() {
    for text in ["a[".repeat(4_900), format!("declare {}", "a[".repeat(4_900))] {
        let judged = judge(Mode::Default, &text);
        assert_eq!(judged.verdict, Verdict::Ask, "{:?}", judged.reasons);
        assert!(has_reason(&judged, "could not be parsed"), "{:?}", judged.reasons);
    }
    assert_eq!(judge(Mode::Default, &"[ a ] && ls; ".repeat(50)).verdict, Verdict::Allow);
}

/// Longer than what is judged, and still taken apart, because a deny must hold in it.
#[test]
fn long_lists_do_not_fill_the_stack() {
    for one in ["a && ", "a || ", "a | ", "a; ", "! "] {
        let text = format!("{}git push", one.repeat(30_000));
        assert_ne!(judge(Mode::Default, &text).verdict, Verdict::Allow, "{one}");
    }
}
