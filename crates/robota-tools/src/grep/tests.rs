use std::path::Path;
use std::sync::Arc;

use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

fn tree(files: &[(&str, &[u8])]) -> (tempfile::TempDir, ToolWorkspace) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (age, (name, content)) in files.iter().enumerate() {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH
            + std::time::Duration::from_secs(1_000_000 - age as u64);
        std::fs::File::open(&path).unwrap().set_modified(time).unwrap();
    }
    (dir, ToolWorkspace::new(root, Supervisor::new(), Environment::new()))
}

async fn grep(workspace: &ToolWorkspace, input: Value) -> ToolOutcome {
    let tool = Grep::new(workspace);
    tool.check(&input).unwrap();
    tool.run(input, ToolContext::detached()).await
}

async fn text(workspace: &ToolWorkspace, input: Value) -> String {
    grep(workspace, input).await.text()
}

#[tokio::test]
async fn arguments_that_the_schema_does_not_show_have_their_effect() {
    let (_dir, workspace) = tree(&[("a.rs", b"one\ntwo one one\nthree\nfour\n")]);
    let content = |more: Value| {
        let mut input = json!({"pattern": "one", "output_mode": "content"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let run = async |more: Value| text(&workspace, content(more)).await;
    assert_eq!(run(json!({"-n": true})).await, "a.rs:1:one\na.rs:2:two one one\n");
    assert_eq!(run(json!({"-n": false})).await, "a.rs:one\na.rs:two one one\n");
    assert_eq!(run(json!({"context": 1, "offset": 2})).await, "a.rs-3-three\n");
    assert_eq!(run(json!({"-o": true})).await, "a.rs:1:one\na.rs:2:one\na.rs:2:one\n");
    let across =
        json!({"pattern": "ree\\nf|our", "multiline": true, "-o": true, "output_mode": "content"});
    assert_eq!(text(&workspace, across).await, "a.rs:3:ree\nf\na.rs:4:our\n");
    assert_eq!(run(json!({"head_limit": 1})).await, "a.rs:1:one\n[1 more lines not shown]\n");
    assert_eq!(run(json!({"head_limit": 0})).await, "a.rs:1:one\na.rs:2:two one one\n");
    let error = Grep::new(&workspace).check(&content(json!({"-n": 1}))).unwrap_err().to_string();
    assert!(error.contains("`-n` must be boolean or null"), "{error}");
}

#[tokio::test]
async fn the_three_output_modes_and_the_filters_work() {
    let (_dir, workspace) = tree(&[
        ("new.rs", b"fn one() {}\nfn two() {}\n"),
        ("old.py", b"def one(): pass\r\n"),
        ("sub/no.txt", b"nothing\n"),
    ]);
    assert_eq!(text(&workspace, json!({"pattern": "one"})).await, "new.rs\nold.py\n");
    let input = json!({"pattern": "fn|def", "output_mode": "content"});
    assert_eq!(
        text(&workspace, input).await,
        "new.rs:1:fn one() {}\nnew.rs:2:fn two() {}\n--\nold.py:1:def one(): pass\n"
    );
    let input = json!({"pattern": "fn|def", "output_mode": "count"});
    assert_eq!(text(&workspace, input).await, "new.rs:2\nold.py:1\n");
    assert_eq!(text(&workspace, json!({"pattern": "ONE"})).await, "[no match]\n");
    assert_eq!(
        text(&workspace, json!({"pattern": "ONE", "-i": true, "type": "py"})).await,
        "old.py\n"
    );
    assert_eq!(
        text(&workspace, json!({"pattern": "n", "glob": "*.{txt,py}"})).await,
        "old.py\nsub/no.txt\n"
    );
    assert_eq!(text(&workspace, json!({"pattern": "n", "glob": "sub/**"})).await, "sub/no.txt\n");
    assert_eq!(text(&workspace, json!({"pattern": "one", "path": "old.py"})).await, "old.py\n");
}

#[tokio::test]
async fn context_lines_gaps_and_multiline_matches() {
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let (_dir, workspace) = tree(&[("f", lines.as_bytes())]);
    let input = json!({"pattern": "[28]", "output_mode": "content", "-C": 1});
    assert_eq!(
        text(&workspace, input).await,
        "f-1-line 1\nf:2:line 2\nf-3-line 3\n--\nf-7-line 7\nf:8:line 8\nf-9-line 9\n"
    );
    let input = json!({"pattern": "2", "output_mode": "content", "-A": 1});
    assert_eq!(text(&workspace, input).await, "f:2:line 2\nf-3-line 3\n");
    let input = json!({"pattern": "3.*5", "output_mode": "content", "multiline": true});
    assert_eq!(text(&workspace, input).await, "f:3:line 3\nf:4:line 4\nf:5:line 5\n");
    let input = json!({"pattern": "3.*5"});
    assert_eq!(text(&workspace, input).await, "[no match]\n");
}

#[tokio::test]
async fn cut_results_are_reported() {
    let many: String = (0..100).map(|n| format!("x{n}\n")).collect();
    let long = format!("y{}\n", "z".repeat(100_000));
    let (_dir, workspace) = tree(&[("a", many.as_bytes()), ("b", long.as_bytes())]);
    let input = json!({"pattern": "x", "output_mode": "content", "head_limit": 3});
    let outcome = grep(&workspace, input).await;
    assert_eq!(outcome.text(), "a:1:x0\na:2:x1\na:3:x2\n[97 more lines not shown]\n");
    assert_eq!(outcome.metadata["matches"], 100);
    let line = text(&workspace, json!({"pattern": "y", "output_mode": "content"})).await;
    assert!(line.len() < 600 && line.ends_with("[... line cut, it has 100001 bytes]\n"), "{line}");
}

#[tokio::test]
async fn ignored_hidden_and_binary_files_are_skipped() {
    let (_dir, workspace) = tree(&[
        (".gitignore", b"/out\n"),
        ("out/a", b"word\n"),
        (".env", b"word\n"),
        ("bin", b"word\0\n"),
        ("utf16", b"\xff\xfew\0o\0r\0d\0\n\0"),
        ("latin", b"word gr\xf6\xdfe\n"),
        ("text", b"word\n"),
    ]);
    assert_eq!(text(&workspace, json!({"pattern": "word"})).await, "utf16\nlatin\ntext\n");
}

#[tokio::test]
async fn an_invalid_pattern_is_explained() {
    let (_dir, workspace) = tree(&[]);
    let outcome = grep(&workspace, json!({"pattern": "a("})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
    assert!(outcome.text().contains("unclosed group"), "{}", outcome.text());
    // A pattern that exceeds the size limit.
    let outcome = grep(&workspace, json!({"pattern": "((a{1000}){1000}){1000}"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
    let outcome = grep(&workspace, json!({"pattern": "x", "type": "no-such-type"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
}

struct NoKeys;

impl crate::AccessCheck for NoKeys {
    fn may_read(&self, path: &Path) -> bool {
        path.extension().is_none_or(|extension| extension != "key")
    }

    fn may_connect_private(&self, _: &str, _: std::net::IpAddr) -> bool {
        false
    }
}

#[tokio::test]
async fn files_that_may_not_be_read_are_not_shown() {
    let (_dir, workspace) = tree(&[("a.key", b"word\nword\n"), ("b.txt", b"word\n")]);
    let workspace = workspace.access_check(Arc::new(NoKeys));
    for mode in ["files_with_matches", "content", "count"] {
        let input = json!({"pattern": "word", "output_mode": mode, "-C": 1});
        let text = text(&workspace, input).await;
        assert!(text.starts_with("b.txt") && !text.contains("key"), "{mode}: {text}");
    }
}

/// Reading a file of the folder `asked` needs approval.
struct AsksForFolder;

impl crate::AccessCheck for AsksForFolder {
    fn may_read(&self, _: &Path) -> bool {
        true
    }

    fn needs_approval(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| folder.ends_with("asked"))
    }

    fn may_connect_private(&self, _: &str, _: std::net::IpAddr) -> bool {
        false
    }
}

#[tokio::test]
async fn core_21_files_that_need_approval_are_not_searched() {
    let (_dir, workspace) =
        tree(&[("asked/a.txt", b"word\n"), ("asked/b.txt", b"none\n"), ("c.txt", b"word\n")]);
    let workspace = workspace.access_check(Arc::new(AsksForFolder));
    let note = "[2 files were not searched: reading needs approval. Read asks for it.]\n";
    for (path, found) in [(".", "c.txt\n"), ("asked", "[no match]\n")] {
        let text = text(&workspace, json!({"pattern": "word", "path": path})).await;
        assert_eq!(text, format!("{found}{note}"), "{path}");
    }
    // The gate has asked about this call, because it names the file.
    let input = json!({"pattern": "word", "path": "asked/a.txt"});
    assert_eq!(text(&workspace, input).await, "asked/a.txt\n");
}
