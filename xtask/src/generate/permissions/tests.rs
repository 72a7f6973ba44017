use super::page;
use crate::tree::Tree;

const CORPUS: &str = include_str!("tests/corpus.txt");

#[test]
fn marked_lines_are_rows_and_others_are_not() {
    let page = page(&Tree::parse(CORPUS)).unwrap();
    let row = r"| `` a \| `b`\n\u{1b} `` | plan mode<br>allow `Bash(b)` | **ask** | x \| y |";
    assert!(page.contains(row), "{page}");
    assert!(page.contains(r#"| Read `{"file_path":".env"}` | deny `Read(.env)` | **deny** |"#));
    assert!(!page.contains("hidden"));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let error = |text: String| format!("{:#}", page(&Tree::parse(&text)).unwrap_err());
    let broken = error(format!("{CORPUS}{{\"id\": 1\n"));
    assert!(broken.contains("shell.jsonl:3"), "{broken}");
    assert!(error(CORPUS.replace("doc", "no")).contains("no line is marked"));
}
