use super::*;

#[test]
fn the_repository_is_read_with_and_without_git() {
    let root = root();
    for paths in [listed_by_git(&root).unwrap(), walked(&root).unwrap()] {
        assert!(paths.contains(&"Cargo.toml".to_owned()));
        assert!(paths.contains(&"xtask/src/tree.rs".to_owned()));
        assert!(!paths.iter().any(|path| path.starts_with("target/")));
    }
    let tree = Tree::load(&root).unwrap();
    assert!(tree.text("xtask/src/tree.rs").unwrap().contains("pub fn load"));
}

#[test]
fn folders_count_as_there_when_they_hold_files() {
    let tree = Tree::of(&[("docs/decisions/0001.md", "")]);
    assert!(tree.has("docs"));
    assert!(tree.has("docs/decisions/"));
    assert!(tree.has("docs/decisions/0001.md"));
    assert!(!tree.has("doc"));
    assert!(!tree.has("docs/decisions/0002.md"));
}

#[test]
fn files_know_their_package() {
    assert_eq!(package("crates/robota-core/src/lib.rs"), Some("crates/robota-core"));
    assert_eq!(package("xtask/src/main.rs"), Some("xtask"));
    assert_eq!(package("crates/README.md"), None);
    assert_eq!(package("fuzz/src/lib.rs"), None);
}

#[test]
fn fixtures_are_no_sources() {
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", ""),
        ("crates/a/tests/fixtures/bad.rs", ""),
        ("crates/a/README.md", ""),
    ]);
    let paths: Vec<_> = tree.rust().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["crates/a/src/lib.rs"]);
}
