use super::*;

fn count(path: &str, text: &str) -> usize {
    check(&Tree::of(&[(path, text)])).len()
}

#[test]
fn a_crate_root_has_a_page() {
    assert_eq!(count("crates/a/src/lib.rs", "//! One line.\n"), 1);
    assert_eq!(count("crates/a/src/main.rs", "// a\n// b\n// c\n// d\n// e\n"), 1);
    assert_eq!(count("crates/a/src/lib.rs", &"//! Line.\n".repeat(5)), 0);
    assert_eq!(count("crates/a/src/other.rs", "//! One line.\n"), 0);
}
