use super::page;
use crate::tree::Tree;

const RULES: &str = r#"-- fixtures/policy/rules.jsonl
{"tool": "Read", "input": {"file_path": ".env"}, "deny": ["Read(.env)"], "verdict": "deny", "why": "denied", "doc": true}"#;

fn made(shell: &str) -> anyhow::Result<String> {
    page(&Tree::parse(&format!("{RULES}\n-- fixtures/policy/shell.jsonl\n{shell}")))
}

#[test]
fn marked_lines_are_rows_and_others_are_not() {
    let shell = r#"{"tool": "Bash", "input": {"command": "a | `b`\n\u001b"}, "mode": "plan", "allow": ["Bash(b)"], "verdict": "ask", "why": "x | y", "doc": true}
{"tool": "Bash", "input": {"command": "hidden"}, "verdict": "ask", "why": "z"}"#;
    let page = made(shell).unwrap();
    let row = r"| `` a \| `b`\n\u{1b} `` | plan mode<br>allow `Bash(b)` | **ask** | x \| y |";
    assert!(page.contains(row), "{page}");
    assert!(page.contains(r#"| Read `{"file_path":".env"}` | deny `Read(.env)` | **deny** |"#));
    assert!(!page.contains("hidden"));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let error = made("\n{\"id\": 1").unwrap_err();
    assert!(format!("{error:#}").contains("shell.jsonl:2"), "{error:#}");
    assert!(made("{}").unwrap_err().to_string().contains("no line is marked"));
}
