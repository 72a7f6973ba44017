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

/// Brackets that are quoted or escaped do not end a substitution.
#[test]
fn substitutions_with_quoted_brackets_ask() {
    for mode in [Mode::Default, Mode::BypassPermissions] {
        for one in ["a[$(\\); ", "a[$(')'; ", "a[\"$(')'; ", "a[$(\")\"; ", "a[<(\\);"] {
            for times in [18, 200, 1_200, 20_000] {
                let judged = judge(mode, &one.repeat(times));
                assert_eq!(judged.verdict, Verdict::Ask, "{mode}: {one:?}, {times} times");
            }
        }
    }
}

#[test]
fn computations_inside_computations_do_not_fill_the_stack() {
    for one in ["$[", "$((\\)", "$((')'", "echo $[", "${x:-\\}", "${x:-$["] {
        for times in [200, 1_200, 20_000] {
            let text = format!("{}; git push", one.repeat(times));
            assert_ne!(
                judge(Mode::Default, &text).verdict,
                Verdict::Allow,
                "{one:?}, {times} times"
            );
        }
    }
}

/// A program that only prints, but may never end, is not proven.
#[test]
fn programs_that_may_not_end_ask() {
    let spec = PolicySpec::new(Workspace::new("/w/app", "/home/u"));
    let policy = Policy::new(&spec, &LexicalPaths).0;
    let verdict = |command: &str| {
        let input = json!({ "command": command });
        let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
        policy.judge(&call, &LexicalPaths).verdict
    };
    for command in [
        "sed 'G;D' a",
        "sed -e G -e D a",
        "sed -e :a -e ba a",
        "ls | sed -n -e x -e D",
        "jq 'range(1000000) | range(1000000)' a",
    ] {
        assert_eq!(verdict(command), Verdict::Ask, "{command}");
    }
    for command in [
        "sed G a",
        "sed '$!N;P;D' a",
        "sed -e s/a/b/ -e 5q a",
        "sed -n -e 1p -e '$p' a",
        "jq 'range(10)' a",
    ] {
        assert_eq!(verdict(command), Verdict::Allow, "{command}");
    }
}
