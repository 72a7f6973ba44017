use super::*;

fn count(text: &str) -> usize {
    check(&Tree::of(&[("crates/a/tests/x.rs", text)])).len()
}

#[test]
fn a_reason_is_demanded() {
    assert_eq!(count("#[test]\n#[ignore]\nfn t() {}"), 1);
    assert_eq!(count("#[ignore = \" \"]\n#[test]\nfn t() {}"), 1);
    assert_eq!(count("#[cfg_attr(windows, ignore)]\n#[test]\nfn t() {}"), 1);
}

#[test]
fn a_reason_is_enough() {
    assert_eq!(count("#[test]\n#[ignore = \"needs a GPU\"]\nfn t() {}"), 0);
    assert_eq!(count("#[cfg_attr(windows, ignore = \"no pty\")]\n#[test]\nfn t() {}"), 0);
}

#[test]
fn other_things_of_that_name_are_left_alone() {
    assert_eq!(count("// #[ignore]\nfn ignore(ignore: u8) { f(\"#[ignore]\", ignore) }"), 0);
    assert_eq!(count("#[cfg(feature = \"ignore\")]\nfn f() { x.ignore(1, ignore); }"), 0);
}
