use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::Read;

async fn place(files: &[(&str, &str)]) -> (tempfile::TempDir, Workplace) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let place = Workplace::new(root, Supervisor::new(), Environment::new());
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content).unwrap();
        let input = json!({"file_path": name});
        assert!(Read::new(&place).run(input, ToolContext::detached()).await.ok);
    }
    (dir, place)
}

async fn edit(place: &Workplace, edits: Value) -> ToolOutcome {
    let input = json!({"edits": edits});
    let tool = MultiEdit::new(place);
    tool.check(&input).unwrap();
    tool.run(input, ToolContext::detached()).await
}

fn one(file: &str, old: &str, new: &str) -> Value {
    json!({"file_path": file, "old_string": old, "new_string": new})
}

#[tokio::test]
async fn edits_of_several_files_in_order() {
    let (dir, place) = place(&[("a", "one\ntwo\n"), ("b", "x x\n")]).await;
    let all = json!({"file_path": "b", "old_string": "x", "new_string": "y", "replace_all": true});
    let outcome =
        edit(&place, json!([one("a", "one", "1"), all, one("./a", "1\ntwo", "1\n2")])).await;
    assert!(outcome.ok, "{}", outcome.text());
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"1\n2\n");
    assert_eq!(std::fs::read(dir.path().join("b")).unwrap(), b"y y\n");
    assert_eq!(outcome.metadata["files"][0]["start_lines"], json!([1, 1]));
    assert_eq!(outcome.metadata["files"][1]["replacements"], 2);
}

#[tokio::test]
async fn all_or_none() {
    let (dir, place) = place(&[("a", "one\n"), ("b", "two\n")]).await;
    let outcome = edit(&place, json!([one("a", "one", "1"), one("b", "absent", "2")])).await;
    assert_eq!(outcome.error_code.as_deref(), Some("no_match"));
    // A file that changed behind our back, the last one at that.
    std::fs::write(dir.path().join("b"), "other\n").unwrap();
    let outcome = edit(&place, json!([one("a", "one", "1"), one("b", "other", "2")])).await;
    assert_eq!(outcome.error_code.as_deref(), Some("changed_since_read"));
    let outcome = edit(&place, json!([one("a", "one", "1"), one("never", "x", "y")])).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
    assert_eq!(edit(&place, json!([])).await.error_code.as_deref(), Some("invalid_input"));
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"one\n");
    assert_eq!(dir.path().read_dir().unwrap().count(), 2, "nothing stays behind");
}
