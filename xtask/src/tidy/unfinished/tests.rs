use super::*;

fn count(text: &str) -> usize {
    check(&Tree::of(&[("crates/a/src/lib.rs", text)])).len()
}

#[test]
fn unfinished_code_is_found() {
    assert_eq!(count("fn f() { todo!() }"), 1);
    assert_eq!(count("fn f() { unimplemented!(\"later\") }\nfn g() { todo! {} }"), 2);
}

#[test]
fn words_are_no_code() {
    assert_eq!(count("// todo!()\nfn todo() { \"todo!()\"; todo(); }"), 0);
}
