use super::*;

#[test]
fn a_stored_key_is_found_and_only_the_user_can_read_it() {
    let home = tempfile::tempdir().unwrap();
    let mut keys = StoredKeys::load(Some(home.path()));
    keys.set(home.path(), "A_KEY", &Secret::new("secret-1"), KeyPlace::File).unwrap();
    keys.set(home.path(), "B_KEY", &Secret::new("secret-2"), KeyPlace::File).unwrap();
    let keys = StoredKeys::load(Some(home.path()));
    assert_eq!(keys.get("A_KEY").as_deref(), Some("secret-1"));
    assert_eq!(keys.get("B_KEY").as_deref(), Some("secret-2"));
    assert_eq!(keys.get("C_KEY"), None);
    assert_eq!(keys.secrets().count(), 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(file(home.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_damaged_file_is_reported_without_its_content_and_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".robota")).unwrap();
    let damaged = "{\"A_KEY\": {\"key\": \"secret-1\"";
    std::fs::write(file(home.path()), damaged).unwrap();
    let mut keys = StoredKeys::load(Some(home.path()));
    let problem = keys.problem.clone().unwrap();
    assert!(problem.contains("keys.json: it is not valid JSON (line 1"), "{problem}");
    assert!(!problem.contains("secret-1"));
    assert!(keys.set(home.path(), "A_KEY", &Secret::new("new"), KeyPlace::File).is_err());
    assert_eq!(std::fs::read_to_string(file(home.path())).unwrap(), damaged);
}
