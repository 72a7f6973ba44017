use serde_json::json;

use super::*;
use crate::hook::NoticeKind;

fn hook(extra: &Value) -> HookDefinition {
    let mut hook = json!({"type": "command", "command": "./check"});
    for (name, value) in extra.as_object().unwrap() {
        hook[name] = value.clone();
    }
    serde_json::from_value(hook).unwrap()
}

fn read(event: HookEvent, exit: &HookExit) -> HookOutput {
    HookOutput::read(event, &hook(&json!({})), exit)
}

fn said(event: HookEvent, value: &Value) -> HookOutput {
    read(event, &HookExit::code(0, value.to_string(), ""))
}

fn warnings(output: &HookOutput) -> usize {
    output.notices.iter().filter(|notice| notice.kind == NoticeKind::Warning).count()
}

#[test]
fn core_22_exit_0_continues_and_text_is_context_where_allowed() {
    for event in HookEvent::ALL {
        assert_eq!(read(event, &HookExit::code(0, "", "noise")), HookOutput::default());
        let output = read(event, &HookExit::code(0, " hello \n", ""));
        let expected = event.text_is_context().then(|| "hello".to_owned());
        assert_eq!(output.context, expected, "{event}");
        assert_eq!((output.block, output.notices.len()), (None, 0), "{event}");
    }
    let made = read(HookEvent::WorktreeCreate, &HookExit::code(0, "making\n/tmp/w\n\n", ""));
    assert_eq!(made.worktree_path.as_deref(), Some("/tmp/w"));
}

#[test]
fn core_22_exit_2_blocks_where_blocking_is_possible() {
    for event in HookEvent::ALL {
        let output = read(event, &HookExit::code(2, "{nonsense", "because\n"));
        if event.is_after_call() {
            // The call ran: nothing is blocked, and the model receives the reason.
            assert_eq!((output.block, output.feedback.as_deref()), (None, Some("because")));
        } else if event.can_block() {
            assert_eq!((output.block.as_deref(), warnings(&output)), (Some("because"), 0));
        } else {
            assert_eq!((output.block.as_deref(), warnings(&output)), (None, 1), "{event}");
            assert!(output.notices[0].text.ends_with("because"));
        }
    }
    let allows = json!({"hookSpecificOutput": {"permissionDecision": "allow"}, "reason": "r"});
    let output = read(HookEvent::PreToolUse, &HookExit::code(2, allows.to_string(), "no"));
    assert_eq!((output.block.as_deref(), output.permission), (Some("no"), None));
    let blocks = json!({"decision": "block", "reason": "the JSON's"}).to_string();
    let output = read(HookEvent::PreToolUse, &HookExit::code(2, blocks, "stderr's"));
    assert_eq!(output.block.as_deref(), Some("the JSON's"));
    let silent = read(HookEvent::PreToolUse, &HookExit::code(2, "", ""));
    assert!(silent.block.unwrap().contains("command hook `./check` gave no reason"));
}

#[test]
fn core_22_failures_block_at_gates_and_warn_elsewhere() {
    let failures = [
        (HookExit::silent(HookEnd::Signal(9)), "signal 9"),
        (HookExit::silent(HookEnd::TimedOut), "time was up"),
        (HookExit::failed("no executor"), "no executor"),
        (HookExit::code(126, "", ""), "126"),
        (HookExit::code(127, "{}", "sh: nope"), "127): sh: nope"),
        (HookExit::code(137, "", ""), "signal 9"),
        (HookExit::code(0, "{", ""), "cannot be read"),
        (HookExit::code(0, "  \u{feff} {\"a\": 1} b", ""), "cannot be read"),
        (HookExit::code(0, r#"{"decision": "deny"}"#, ""), "cannot be read"),
        (HookExit::code(0, r#"{"continue": "false"}"#, ""), "cannot be read"),
        (HookExit::code(0, r#"{"reason": "a", "reason": "b"}"#, ""), "cannot be read"),
        (HookExit::code(0, "[".repeat(9000).replacen('[', "{\"a\":[", 1), ""), "cannot be read"),
        (
            HookExit::code(0, r#"{"hookSpecificOutput": {"permissionDecision": "dney"}}"#, ""),
            "cannot be read",
        ),
        (
            HookExit::code(0, r#"{"hookSpecificOutput": {"hookEventName": "Other"}}"#, ""),
            "event `Other`",
        ),
        (HookExit::code(0, format!("{{{}}}", " ".repeat(MAX_STDOUT)), ""), "longer than"),
        (HookExit { stdout_cut: true, ..HookExit::code(0, "{}", "") }, "longer than"),
    ];
    for event in HookEvent::ALL {
        for (exit, why) in &failures {
            let output = read(event, exit);
            let too_late = event.is_after_call() && exit.end == HookEnd::TimedOut;
            if event.is_gate() && !too_late {
                let reason = output.block.expect(why);
                assert!(reason.contains(why) && reason.contains("./check"), "{event} {reason}");
            } else {
                assert_eq!(
                    (output.block.as_deref(), warnings(&output)),
                    (None, 1),
                    "{event} {why}"
                );
                assert!(output.notices[0].text.contains(why), "{event} {output:?}");
            }
        }
    }
}

#[test]
fn core_22_a_strict_hook_that_fails_after_a_call_withholds_the_result_of_both_ends() {
    let ends = [HookEnd::TimedOut, HookEnd::Signal(9), HookEnd::Code(127), HookEnd::Code(3)];
    for event in [HookEvent::PostToolUse, HookEvent::PostToolUseFailure] {
        for end in &ends {
            let exit = HookExit { end: end.clone(), ..HookExit::code(0, "", "") };
            let strict = HookOutput::read(event, &hook(&json!({"onFailure": "block"})), &exit);
            assert!(strict.block.is_some(), "{event} {end:?}");
            assert_eq!(strict.feedback, None);
        }
    }
}

#[test]
fn core_22_other_codes_warn_and_cannot_allow() {
    for event in HookEvent::ALL {
        for code in [1, 3, 125, 128, 193, 255, -1] {
            let output = read(event, &HookExit::code(code, "text", "oops"));
            let blocks = event == HookEvent::WorktreeCreate;
            assert_eq!(output.block.is_some(), blocks, "{event} {code}");
            assert_eq!(output.context, None);
            assert_eq!(warnings(&output), usize::from(!blocks));
        }
        let strict = HookOutput::read(
            event,
            &hook(&json!({"onFailure": "block"})),
            &HookExit::code(1, "{}", "oops"),
        );
        let blocks = event.can_block() || event.is_after_call();
        assert_eq!(strict.block.is_some(), blocks, "{event}");
    }
    let unreadable = read(HookEvent::PreToolUse, &HookExit::code(1, "{not json}", ""));
    assert!(unreadable.block.unwrap().contains("cannot be read"));
    let output_for = |word: &str| {
        let json = json!({"hookSpecificOutput": {"permissionDecision": word}}).to_string();
        read(HookEvent::PreToolUse, &HookExit::code(1, json, ""))
    };
    assert!(output_for("deny").block.is_some());
    assert_eq!(output_for("ask").permission.unwrap().verdict, HookVerdict::Ask);
    assert_eq!(output_for("allow").permission, None);
}

#[test]
fn core_22_permission_is_decided_before_a_call_only() {
    for (word, verdict) in
        [("allow", HookVerdict::Allow), ("ask", HookVerdict::Ask), ("defer", HookVerdict::Defer)]
    {
        let value = json!({"hookSpecificOutput": {
            "permissionDecision": word, "permissionDecisionReason": "r", "unknown": [1],
            "updatedInput": {"command": "ls"},
        }});
        for event in HookEvent::ALL {
            let output = said(event, &value);
            let here = matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest);
            let expected = HookPermission { verdict, reason: Some("r".to_owned()) };
            assert_eq!(output.permission, here.then_some(expected), "{event}");
            assert_eq!(output.updated_input.is_some(), here, "{event}");
            assert_eq!(output.block, None);
        }
    }
    let legacy = said(HookEvent::PreToolUse, &json!({"decision": "approve", "reason": "ok"}));
    assert_eq!(legacy.permission.unwrap().verdict, HookVerdict::Allow);
    let deny = json!({"hookSpecificOutput": {
        "permissionDecision": "deny", "permissionDecisionReason": "never"}});
    assert_eq!(said(HookEvent::PreToolUse, &deny).block.as_deref(), Some("never"));
    let words = json!({"hookSpecificOutput": {"updatedInput": "ls"}});
    assert!(said(HookEvent::PreToolUse, &words).block.is_some(), "arguments are an object");
}

#[test]
fn core_22_json_says_block_stop_context_and_messages() {
    for event in HookEvent::ALL {
        let block = said(event, &json!({"decision": "block", "reason": "r"}));
        let feedback = event.is_after_call();
        assert_eq!(block.feedback.is_some(), feedback, "{event}");
        assert_eq!(block.block.is_some(), event.can_block() && !feedback, "{event}");
        let stop = said(event, &json!({"continue": false, "stopReason": "enough"}));
        assert_eq!(stop.stop.as_deref(), Some("enough"));
        assert_eq!(said(event, &json!({"continue": true})), HookOutput::default());
        let more = said(
            event,
            &json!({"systemMessage": "look", "suppressOutput": true, "decision": null,
                    "hookSpecificOutput": {"hookEventName": event.name(),
                                           "additionalContext": "c"}}),
        );
        assert_eq!(more.context.as_deref(), Some("c"));
        assert_eq!(more.notices, [HookNotice::message(event, "look")]);
    }
    for name in ["updatedToolOutput", "updatedMCPToolOutput"] {
        let value = json!({"hookSpecificOutput": {name: {"x": 1}}});
        assert_eq!(said(HookEvent::PostToolUse, &value).updated_output, Some(json!({"x": 1})));
        assert_eq!(said(HookEvent::PreToolUse, &value).updated_output, None);
    }
    let both =
        json!({"hookSpecificOutput": {"updatedMCPToolOutput": "old", "updatedToolOutput": "new"}});
    let output = said(HookEvent::PostToolUse, &both);
    assert_eq!((output.updated_output, output.block), (Some(json!("new")), None));
}

#[test]
fn core_22_long_text_of_a_hook_is_truncated() {
    let long = "ä".repeat(MAX_TEXT + 1);
    let most = MAX_TEXT + " [cut]".len();
    let json = json!({"systemMessage": long, "decision": "block", "reason": long});
    let output = said(HookEvent::UserPromptSubmit, &json);
    assert_eq!(output.block.unwrap().chars().count(), most);
    assert_eq!(output.notices[0].text.chars().count(), most);
    let flood = vec![0xFF; 8 << 20];
    let exit = HookExit { stderr: flood.clone(), ..HookExit::code(0, flood, "") };
    let output = read(HookEvent::UserPromptSubmit, &exit);
    assert_eq!(output.context.unwrap().chars().count(), most);
}

#[test]
fn core_22_the_short_form_ok_false_blocks_and_ok_true_allows_nothing() {
    let refused = said(HookEvent::PreToolUse, &json!({"ok": false, "reason": "no"}));
    assert_eq!(refused.block.as_deref(), Some("no"));
    let both = said(HookEvent::PreToolUse, &json!({"ok": false, "decision": "approve"}));
    assert!(both.block.is_some() && both.permission.is_none(), "{both:?}");
    let fine = said(HookEvent::PreToolUse, &json!({"ok": true}));
    assert_eq!(fine, HookOutput::default());
    assert!(said(HookEvent::PreToolUse, &json!({"ok": "no"})).block.is_some(), "not a boolean");
    assert_eq!(warnings(&said(HookEvent::SessionEnd, &json!({"ok": false}))), 1);
}

#[test]
fn core_22_only_a_hook_that_succeeded_accepts_a_question() {
    let answer = |action: &str| {
        json!({"hookSpecificOutput": {"action": action, "content": {"a": 1}}}).to_string()
    };
    let content = json!({"a": 1}).as_object().cloned().unwrap();
    let accepted = Some(HookElicitation::Accept(content));
    for event in [HookEvent::Elicitation, HookEvent::ElicitationResult] {
        let at = |code, action| read(event, &HookExit::code(code, answer(action), ""));
        assert_eq!(at(0, "accept").elicitation, accepted);
        assert_eq!(at(1, "accept").elicitation, None, "a warning cannot accept");
        assert_eq!(at(1, "cancel").elicitation, Some(HookElicitation::Cancel));
        let blocked = at(2, "accept");
        assert!(blocked.elicitation.is_none() && blocked.block.is_some());
        assert!(at(0, "maybe").block.is_some(), "an unknown action is a failure");
    }
    let elsewhere = read(HookEvent::PreToolUse, &HookExit::code(0, answer("accept"), ""));
    assert_eq!(elsewhere, HookOutput::default());
}
