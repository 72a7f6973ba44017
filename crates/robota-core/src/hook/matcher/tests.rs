use super::*;

fn matches(event: HookEvent, matcher: &str, target: &str) -> bool {
    let (matcher, bad) = Matcher::read(event, Some(matcher));
    assert_eq!(bad, None);
    matcher.matches(target)
}

#[test]
fn core_22_matchers_are_lists_of_names_or_expressions() {
    for (matcher, target, fits) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("|", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "bash", false),
        ("Bash", "BashOutput", false),
        ("Edit|Write", "Write", true),
        ("Edit, Write", "Write", true),
        ("Edit | Write", "MultiEdit", false),
        ("mcp__memory", "mcp__memory__read", false),
        ("mcp__memory__.*", "mcp__memory__read", true),
        ("mcp__.*__write.*", "mcp__files__write_file", true),
        ("Edit.*", "MultiEdit", true),
        ("^Edit.*", "MultiEdit", false),
        ("^(Edit|Write)$", "Write", true),
        (".*", "", true),
    ] {
        assert_eq!(matches(HookEvent::PreToolUse, matcher, target), fits, "{matcher} {target}");
    }
    assert!(Matcher::read(HookEvent::PreToolUse, None).0.matches("Bash"));
    assert!(matches(HookEvent::SessionStart, "startup|resume", "resume"));
    assert!(!matches(HookEvent::SessionStart, "startup|resume", "clear"));
}

#[test]
fn core_22_events_without_a_target_ignore_matchers() {
    for event in HookEvent::ALL.into_iter().filter(|it| it.matched_on() == MatchedOn::Nothing) {
        assert!(matches(event, "Bash", "") && matches(event, "(", ""), "{event}");
    }
}

#[test]
fn core_22_an_invalid_matcher_matches_everything_where_hooks_decide() {
    let huge = "(a{1000}){1000}".repeat(3);
    for text in ["(", "Bash(", "(?!Bash).*", "(a)\\1", huge.as_str()] {
        for event in HookEvent::ALL {
            if event.matched_on() == MatchedOn::Nothing {
                continue;
            }
            let (matcher, bad) = Matcher::read(event, Some(text));
            assert_eq!(matcher.matches("Bash"), event.is_gate(), "{event} {text}");
            let text = bad.expect("it is reported").to_string();
            let counts = if event.is_gate() { "always run" } else { "never run" };
            assert!(text.contains(event.name()) && text.ends_with(counts), "{text}");
        }
    }
}

#[test]
fn core_22_an_expression_that_no_tool_can_match_is_reported() {
    for text in [
        "tool == \"Bash\"",
        "tool == \"Bash\" && tool_input.file_path matches \"\\\\.(ts|js)$\"",
        "tool_name = 'Write'|tool_name = 'Edit'",
        "\\\"Bash\\\"",
        "a{1,3} = b",
    ] {
        let (matcher, reported) = Matcher::read(HookEvent::PreToolUse, Some(text));
        assert!(!matcher.matches("Bash") && !matcher.matches(""), "{text}");
        let reported = reported.expect(text).to_string();
        assert!(
            reported.contains("can never match") && reported.ends_with("never run"),
            "{reported}"
        );
    }
    // Expressions that can match, and names of agents, which may have spaces.
    for text in [
        "Edit.*",
        "a =?|Bash",
        "x ?y",
        "[ =]Bash",
        "(=)?Bash",
        "^(Edit|Write)$",
        "mcp__.*",
        "mcp__.{1,20}__read",
        "^.{4,}$",
        "[A-Z]{1,2}.*|B{2,3}",
        "Bash={0,1}",
    ] {
        assert_eq!(Matcher::read(HookEvent::PreToolUse, Some(text)).1, None, "{text}");
    }
    assert_eq!(Matcher::read(HookEvent::SubagentStart, Some("my agent.*")).1, None);
}
