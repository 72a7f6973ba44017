use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;

#[test]
fn core_27_records_in_a_file_survive_and_a_cut_line_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/usage.jsonl");
    let storage = FileStorage::new(&path);
    assert!(storage.records().unwrap().is_empty(), "reading creates nothing");
    assert!(!path.exists());
    storage.append(&json!({"n": 1})).unwrap();
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&path, "{\"n\":1}\n{\"n\":").unwrap();
    let again = FileStorage::new(&path);
    again.append(&json!({"n": 2})).unwrap();
    assert_eq!(again.records().unwrap(), [json!({"n": 1}), json!({"n": 2})]);
    again.clear().unwrap();
    assert!(again.records().unwrap().is_empty() && !path.exists());
    let blocked = FileStorage::new(folder.path());
    assert!(blocked.append(&json!(1)).is_err());
}
