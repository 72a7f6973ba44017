use serde_json::json;

use super::*;

#[test]
fn titles_are_one_short_line() {
    assert_eq!(title("Bash", &json!({"command": "ls -l\nrm x"})), "`ls -l`");
    assert_eq!(title("Read", &json!({"file_path": "a.rs"})), "Read a.rs");
    assert_eq!(title("Unknown", &json!({})), "Unknown");
    let long = title("Read", &json!({"file_path": "x".repeat(1_000)}));
    assert_eq!(long.chars().count(), MAX_TITLE);
}

#[test]
fn edits_are_diffs_of_the_whole_file_once_its_old_text_is_known() {
    let input = json!({"file_path": "a", "old_string": "b", "new_string": "c"});
    let parts = diffs("Edit", &input, Path::new("/w"), None);
    let diff = |old: &str, new: &str| ToolCallContent::Diff {
        path: "/w/a".to_owned(),
        old_text: Some(old.to_owned()),
        new_text: new.to_owned(),
    };
    assert_eq!(parts, [diff("b", "c")]);
    let whole = whole_diff("Edit", &input, "/w/a", Some("abb".to_owned()));
    assert_eq!(whole, Some(diff("abb", "acb")));
    // A text that the arguments do not match is not guessed.
    assert_eq!(whole_diff("Edit", &input, "/w/a", Some("x".to_owned())), None);
    let edits = json!({"file_path": "a", "edits": [
        {"old_string": "b", "new_string": "c", "replace_all": true},
        {"old_string": "cc", "new_string": "d"},
    ]});
    let whole = whole_diff("MultiEdit", &edits, "/w/a", Some("abb".to_owned()));
    assert_eq!(whole, Some(diff("abb", "ad")));
}

#[test]
fn output_cannot_leave_its_code_block() {
    let ToolCallContent::Content { content } = output("a\n````\n# title") else { panic!() };
    assert_eq!(content, ContentBlock::text("`````\na\n````\n# title\n`````"));
}

#[cfg(unix)]
#[tokio::test]
async fn old_texts_come_from_files_of_the_workspace_only() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("work"), folder.path().join("secret"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(&outside, "secret").unwrap();
    std::fs::write(inside.join("a"), "old").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    let read = async |path: &str| old_text("Write", &json!({"file_path": path}), &inside).await;
    assert_eq!(read("a").await.as_deref(), Some("old"));
    for path in ["../secret", "link", "missing", outside.to_str().unwrap()] {
        assert_eq!(read(path).await, None, "{path}");
    }
}
