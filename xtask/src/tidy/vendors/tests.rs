use super::*;

fn count(path: &str, text: &str) -> usize {
    check(&Tree::of(&[(path, text)])).len()
}

#[test]
fn core_07_a_vendor_in_the_core_is_found() {
    let branch = "fn f(model: &str) -> bool { model.starts_with(\"Claude-\") }";
    assert_eq!(count("crates/robota-core/src/turn.rs", branch), 1);
    assert_eq!(count("crates/robota-core/src/turn.rs", "enum Vendor { OpenAi }"), 1);
    assert_eq!(count("crates/robota-providers/src/lib.rs", branch), 0);
    assert_eq!(count("crates/robota-core/src/turn/tests.rs", branch), 0);
    assert_eq!(count("crates/robota-core/src/turn.rs", "// as Claude does\nfn f() {}"), 0);
}
