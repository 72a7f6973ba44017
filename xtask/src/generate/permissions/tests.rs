#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::page;
use crate::tree::Tree;

const RULES: &str = r#"{"id": "r", "tool": "Read", "input": {"file_path": ".env"}, "deny": ["Read(.env)"], "verdict": "deny", "why": "denied", "doc": true}"#;

fn made(shell: &str) -> anyhow::Result<String> {
    page(&Tree::of(&[
        ("fixtures/policy/shell.jsonl", shell),
        ("fixtures/policy/rules.jsonl", RULES),
    ]))
}

#[test]
fn marked_lines_are_rows_and_others_are_not() {
    let shell = r#"{"id": "a", "tool": "Bash", "input": {"command": "a | b"}, "mode": "plan", "allow": ["Bash(a *)", "Bash(b)"], "verdict": "ask", "why": "x | y", "doc": true}
{"id": "b", "tool": "Bash", "input": {"command": "hidden"}, "verdict": "ask", "why": "z"}"#;
    let page = made(shell).unwrap();
    let row =
        r"| `a \| b` | plan mode<br>allow `Bash(a *)`<br>allow `Bash(b)` | **ask** | x \| y |";
    assert!(page.contains(row), "{page}");
    assert!(page.contains(r#"| Read `{"file_path":".env"}` | deny `Read(.env)` | **deny** |"#));
    assert!(!page.contains("hidden"));
}

#[test]
fn what_cannot_be_seen_is_spelled_out() {
    let shell = r#"{"id": "a", "tool": "Bash", "input": {"command": "`ls`\n\u001b"}, "verdict": "ask", "why": "x", "doc": true}"#;
    assert!(made(shell).unwrap().contains(r"`` `ls`\n\u{1b} ``"));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let error = made("\n{\"id\": 1").unwrap_err();
    assert!(format!("{error:#}").contains("shell.jsonl:2"), "{error:#}");
    let error = made("{}").unwrap_err();
    assert!(error.to_string().contains("no line is marked"), "{error}");
}
