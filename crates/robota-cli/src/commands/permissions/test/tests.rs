use super::*;

#[test]
fn lines_are_read() {
    let case = |want, tool: &str, input| Ok(Line::Case { want, tool: tool.into(), input });
    for (line, want) in [
        ("", Ok(Line::Nothing)),
        ("  # allow x", Ok(Line::Nothing)),
        ("mode plan", Ok(Line::Mode(Mode::Plan))),
        (
            "allow  git status # x",
            case(Verdict::Allow, "Bash", json!({"command": "git status # x"})),
        ),
        ("deny Read(.env)", case(Verdict::Deny, "Read", json!({"file_path": ".env"}))),
        ("ask (ls)", case(Verdict::Ask, "Bash", json!({"command": "(ls)"}))),
        ("ask echo $(x)", case(Verdict::Ask, "Bash", json!({"command": "echo $(x)"}))),
        (
            "ask WebFetch(https://a.b)",
            case(Verdict::Ask, "WebFetch", json!({"url": "https://a.b"})),
        ),
        ("ask mcp__a__b", case(Verdict::Ask, "mcp__a__b", json!({}))),
    ] {
        assert_eq!(read(line), want, "{line}");
    }
    for line in ["allow", "maybe ls", "mode fast", "ls"] {
        assert!(read(line).is_err(), "{line}");
    }
}
