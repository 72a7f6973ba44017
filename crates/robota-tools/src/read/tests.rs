use serde_json::json;

use super::*;

fn tool() -> (tempfile::TempDir, Read, Arc<ReadLog>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f.txt"), "one\ntwo\nthree\n").unwrap();
    let log = Arc::new(ReadLog::new());
    let read = Read::new(dir.path(), log.clone());
    (dir, read, log)
}

async fn run(read: &Read, input: Value) -> ToolOutcome {
    read.check(&input).unwrap();
    read.run(input, ToolContext::detached()).await
}

#[tokio::test]
async fn tool_05_read_works_without_a_session() {
    let (dir, read, log) = tool();
    let outcome = run(&read, json!({"file_path": "f.txt", "offset": 2.0, "limit": 1})).await;
    assert!(outcome.ok);
    assert_eq!(outcome.text(), "     2\ttwo\n[lines 2-2 of 3; go on with offset 3]\n");
    assert_eq!(outcome.metadata["lines"], 1);
    assert_eq!(outcome.metadata["total_lines"], 3);
    let absolute = dir.path().join("f.txt");
    assert!(log.seen(&absolute).is_some());
    let outcome = run(&read, json!({"file_path": absolute, "offset": null})).await;
    assert_eq!(outcome.text(), "     1\tone\n     2\ttwo\n     3\tthree\n");
}

#[tokio::test]
async fn failures_are_outcomes_with_advice() {
    let (dir, read, log) = tool();
    let outcome = run(&read, json!({"file_path": "none.txt"})).await;
    assert_eq!((outcome.ok, outcome.error_code.as_deref()), (false, Some("not_found")));
    assert!(outcome.text().contains("none.txt does not exist (check the path"));
    let outcome = run(&read, json!({"file_path": "f.txt", "offset": 10})).await;
    assert!(outcome.text().ends_with("has 3 lines; offset 10 is past its end"));
    assert!(log.seen(&dir.path().join("f.txt")).is_none(), "nothing was shown");
    let outcome = run(&read, json!({"file_path": ""})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
}

#[test]
fn wrong_arguments_are_named() {
    let (_dir, read, _log) = tool();
    let error = read.check(&json!({"filePath": "f.txt"})).unwrap_err().to_string();
    assert!(error.contains("`file_path` is required"), "{error}");
    assert!(error.contains("known: file_path, offset, limit"), "{error}");
}
