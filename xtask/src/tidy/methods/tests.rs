use super::*;

fn block(name: &str, methods: usize, visibility: &str) -> String {
    let body: String = (0..methods).map(|n| format!("{visibility} fn f{n}() {{}}\n")).collect();
    format!("impl {name} {{\n{body}}}\n")
}

fn count(files: &[(&str, &str)]) -> usize {
    check(&Tree::of(files)).len()
}

#[test]
fn methods_add_up_over_files_and_blocks_of_one_crate() {
    let (many, one) = (block("Session", 25, "pub"), block("Session<'_>", 1, "pub"));
    assert_eq!(count(&[("crates/a/src/lib.rs", &many)]), 0);
    assert_eq!(count(&[("crates/a/src/lib.rs", &many), ("crates/a/src/b.rs", &one)]), 1);
    assert_eq!(count(&[("crates/a/src/lib.rs", &many), ("crates/b/src/lib.rs", &one)]), 0);
    assert_eq!(count(&[("crates/a/src/lib.rs", &format!("{many}{one}"))]), 1);
}

#[test]
fn only_public_methods_of_real_code_count() {
    assert_eq!(count(&[("crates/a/src/lib.rs", &block("A", 30, "pub(crate)"))]), 0);
    assert_eq!(count(&[("crates/a/src/lib.rs", &block("Port for A", 30, ""))]), 0);
    assert_eq!(count(&[("crates/a/tests/x.rs", &block("A", 30, "pub"))]), 0);
    assert_eq!(count(&[("crates/a/src/lib.rs", &block("A", 30, "pub const"))]), 1);
}
