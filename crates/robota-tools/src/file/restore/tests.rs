use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn file(text: &str, mode: u32) -> PathState {
    let hash = BlobRef::of(text.as_bytes()).sha256;
    PathState::File { content: FileContent { hash, saved: None }, mode: Some(mode) }
}

fn restore(path: &Path, before: PathState, after: PathState, content: &str) -> Result<(), String> {
    let path = path.display().to_string();
    restore_one(&FileDelta { path, before, after }, Some(content.as_bytes()))
}

#[test]
fn every_kind_becomes_every_other_and_a_repetition_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("missing/folder/x");
    let states = [
        file("text", 0o640),
        PathState::Link { target: "elsewhere".to_owned() },
        PathState::Folder { mode: None },
        file("text", 0o755),
        PathState::Missing,
        PathState::Folder { mode: None },
        PathState::Link { target: "other".to_owned() },
        PathState::Missing,
        file("text", 0o600),
    ];
    let mut now = PathState::Missing;
    for after in states {
        for _ in 0..2 {
            restore(&path, now.clone(), after.clone(), "text").unwrap();
            assert!(read_current(&path).0.same_as(&after), "{after:?}");
        }
        now = after;
    }
}

#[test]
fn what_something_else_changed_stays() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let path = root.join("f");
    std::fs::write(&path, "user").unwrap();
    assert!(restore(&path, file("old", 0o644), file("new", 0o644), "new").is_err());
    assert!(restore(&path, file("old", 0o644), PathState::Missing, "").is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "user");
    std::fs::create_dir(root.join("d")).unwrap();
    std::fs::write(root.join("d/user"), "user").unwrap();
    let folder = PathState::Folder { mode: None };
    let refused = restore(&root.join("d"), folder, PathState::Missing, "");
    assert_eq!(refused, Err("the folder contains other files".to_owned()));
}

#[test]
fn a_link_in_the_path_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("real")).unwrap();
    symlink("real", root.join("link")).unwrap();
    let path = root.join("link/f");
    assert!(restore(&path, PathState::Missing, file("x", 0o644), "x").is_err());
    assert!(!root.join("real/f").exists());
    std::fs::write(root.join("real/f"), "x").unwrap();
    let reason = NotSaved::LinkInPath;
    assert_eq!(read_current(&path).0, PathState::Unsaved { reason });
    let mode = std::fs::metadata(root.join("real")).unwrap().permissions().mode() & 0o7777;
    assert!(set_folder_mode(&root.join("link"), 0o700).is_err());
    assert_eq!(std::fs::metadata(root.join("real")).unwrap().permissions().mode() & 0o7777, mode);
}
