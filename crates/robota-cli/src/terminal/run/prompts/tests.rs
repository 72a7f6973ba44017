use super::*;

#[test]
fn prompts_are_kept_by_folder_and_only_the_user_can_read_them() {
    let home = tempfile::tempdir().unwrap();
    let here = Prompts::new(Some(home.path()), Path::new("/here")).unwrap();
    let there = Prompts::new(Some(home.path()), Path::new("/there")).unwrap();
    assert!(here.read().is_empty());
    here.add("first");
    there.add("elsewhere");
    here.add("two\nlines");
    assert_eq!(here.read(), ["first", "two\nlines"]);
    assert_eq!(there.read(), ["elsewhere"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&here.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
