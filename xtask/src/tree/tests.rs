use super::*;

#[test]
fn the_repository_is_read_without_what_is_built() {
    let tree = Tree::load(&root()).unwrap();
    assert!(tree.text("xtask/src/tree.rs").unwrap().contains("pub fn load"));
    assert!(tree.has("docs/decisions/") && !tree.has("doc") && !tree.has("target"));
}

#[test]
fn a_source_belongs_to_a_package_and_fixtures_are_not_sources() {
    assert_eq!(package("crates/robota-core/src/lib.rs"), Some("crates/robota-core"));
    assert_eq!(package("fuzz/src/lib.rs"), None);
    let tree = Tree::parse("-- crates/a/src/lib.rs\n-- crates/a/tests/fixtures/bad.rs");
    assert_eq!(tree.rust().count(), 1);
}
