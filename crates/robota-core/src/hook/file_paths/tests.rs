use serde_json::json;

use super::*;

/// A file system on which `/project/link` leads to `/other/deep`.
struct OneLink;

impl Paths for OneLink {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix("/project/link").ok()?;
        Some(Path::new("/other/deep").join(below).components().collect())
    }

    fn kind(&self, path: &Path) -> PathKind {
        if path == Path::new("/project/link") { PathKind::Link } else { PathKind::Dir }
    }

    fn entries(&self, _dir: &Path) -> Vec<String> {
        Vec::new()
    }

    fn case_sensitive(&self, _path: &Path) -> bool {
        true
    }
}

fn made_absolute(tool: &str, mut input: Value) -> Value {
    absolute_paths(tool, &mut input, Path::new("/project"), Some(&OneLink));
    input
}

#[test]
fn paths_of_file_tools_start_at_the_working_folder() {
    for (given, expected) in [
        ("a.rs", "/project/a.rs"),
        ("./src/./a.rs", "/project/src/a.rs"),
        ("src/../../secret", "/secret"),
        ("../../..", "/"),
        ("/etc/passwd", "/etc/passwd"),
        ("/project/src/../a.rs", "/project/a.rs"),
        // The name of a link stays; a `..` behind it leaves its target.
        ("link/a.rs", "/project/link/a.rs"),
        ("link/../a.rs", "/other/a.rs"),
        ("link/sub/../a.rs", "/project/link/a.rs"),
        ("", ""),
    ] {
        assert_eq!(made_absolute("Read", json!({"file_path": given}))["file_path"], expected);
    }
}

#[test]
fn every_argument_that_names_a_file_is_made_absolute_and_no_other() {
    let edits = json!({"file_path": "b", "edits": [{"file_path": "a", "old_string": "a"}, {}, 3]});
    assert_eq!(
        made_absolute("MultiEdit", edits),
        json!({"file_path": "/project/b", "edits": [{"file_path": "/project/a", "old_string": "a"}, {}, 3]})
    );
    let notebook = json!({"notebook_path": "n", "cell_id": "a"});
    let expected = json!({"notebook_path": "/project/n", "cell_id": "a"});
    assert_eq!(made_absolute("NotebookEdit", notebook), expected);
    let grep = json!({"path": "src", "pattern": "path"});
    assert_eq!(made_absolute("Grep", grep), json!({"path": "/project/src", "pattern": "path"}));
    for (tool, input) in [
        ("Bash", json!({"command": "cat a", "path": "a"})),
        ("mcp__files__read", json!({"path": "a"})),
        ("Read", json!({"file_path": 3})),
        ("Read", json!("a")),
        ("Grep", json!({"pattern": "a"})),
    ] {
        assert_eq!(made_absolute(tool, input.clone()), input);
    }
}
