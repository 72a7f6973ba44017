use super::super::Level;
use super::*;

fn levels(lines: usize) -> Vec<Level> {
    let tree = Tree::of(&[("crates/a/src/lib.rs", &"//\n".repeat(lines))]);
    check(&tree).iter().map(|finding| finding.level).collect()
}

#[test]
fn long_files_are_noted_and_overlong_ones_refused() {
    assert_eq!(levels(500), []);
    assert_eq!(levels(501), [Level::Note]);
    assert_eq!(levels(800), [Level::Note]);
    assert_eq!(levels(801), [Level::Error]);
}
