use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::Read;

async fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, ToolWorkspace) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let workspace = ToolWorkspace::new(root, Supervisor::new(), Environment::new());
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content).unwrap();
        let input = json!({"file_path": name});
        assert!(Read::new(&workspace).run(input, ToolContext::detached()).await.ok);
    }
    (dir, workspace)
}

async fn edit(workspace: &ToolWorkspace, edits: Value) -> ToolOutcome {
    let input = json!({"edits": edits});
    let tool = MultiEdit::new(workspace);
    tool.check(&input).unwrap();
    tool.run(input, ToolContext::detached()).await
}

fn one(file: &str, old: &str, new: &str) -> Value {
    json!({"file_path": file, "old_string": old, "new_string": new})
}

#[tokio::test]
async fn edits_of_several_files_are_made_in_order() {
    let (dir, workspace) = workspace(&[("a", "one\ntwo\n"), ("b", "x x\n")]).await;
    let all = json!({"file_path": "b", "old_string": "x", "new_string": "y", "replace_all": true});
    let outcome =
        edit(&workspace, json!([one("a", "one", "1"), all, one("./a", "1\ntwo", "1\n2")])).await;
    assert!(outcome.ok, "{}", outcome.text());
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"1\n2\n");
    assert_eq!(std::fs::read(dir.path().join("b")).unwrap(), b"y y\n");
    assert_eq!(outcome.metadata["files"][0]["start_lines"], json!([1, 1]));
    assert_eq!(outcome.metadata["files"][1]["replacements"], 2);
}

#[tokio::test]
async fn a_path_beside_the_edits_is_the_path_of_edits_without_one() {
    let (dir, workspace) = workspace(&[("a", "one\n"), ("b", "two\n")]).await;
    let tool = MultiEdit::new(&workspace);
    let edits = json!([{"old_string": "one", "new_string": "1"}, one("b", "two", "2")]);
    let input = json!({"file_path": "a", "edits": edits.clone()});
    tool.check(&input).unwrap();
    let judged = tool.gate_input(&CallId::from("c1"), &input).unwrap();
    assert_eq!(judged["edits"][0]["file_path"], "a", "the gate judges it");
    assert_eq!(judged["edits"][1]["file_path"], "b");
    let outcome = tool.run(input, ToolContext::detached()).await;
    assert!(outcome.ok, "{}", outcome.text());
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"1\n");
    assert_eq!(std::fs::read(dir.path().join("b")).unwrap(), b"2\n");
    let error = tool.check(&json!({"edits": edits})).unwrap_err().to_string();
    assert!(error.contains("`edits[0].file_path` is required"), "{error}");
}

#[tokio::test]
async fn either_all_edits_are_made_or_none() {
    let (dir, workspace) = workspace(&[("a", "one\n"), ("b", "two\n")]).await;
    let outcome = edit(&workspace, json!([one("a", "one", "1"), one("b", "absent", "2")])).await;
    assert_eq!(outcome.error_code.as_deref(), Some("no_match"));
    // The last file was changed by another program.
    std::fs::write(dir.path().join("b"), "other\n").unwrap();
    let outcome = edit(&workspace, json!([one("a", "one", "1"), one("b", "other", "2")])).await;
    assert_eq!(outcome.error_code.as_deref(), Some("changed_since_read"));
    let outcome = edit(&workspace, json!([one("a", "one", "1"), one("never", "x", "y")])).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
    assert_eq!(edit(&workspace, json!([])).await.error_code.as_deref(), Some("invalid_input"));
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"one\n");
    assert_eq!(dir.path().read_dir().unwrap().count(), 2, "no temporary file is left");
}
