use super::*;

fn forgotten(files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::of(files)).into_iter().map(|finding| finding.path).collect()
}

#[test]
fn a_tests_file_nobody_names_is_found() {
    let parent = ("crates/a/src/lib.rs", "mod foo;");
    let tests = ("crates/a/src/foo/tests.rs", "#[test] fn t() {}");
    let forgets = ("crates/a/src/foo.rs", "fn f() {} // mod tests;");
    let names = ("crates/a/src/foo.rs", "#[cfg(test)]\nmod tests;");
    assert_eq!(forgotten(&[parent, forgets, tests]), ["crates/a/src/foo/tests.rs"]);
    assert_eq!(forgotten(&[parent, names, tests]), [""; 0]);
    let finding = &check(&Tree::of(&[parent, forgets, tests]))[0];
    assert!(finding.message.contains("end of crates/a/src/foo.rs"), "{}", finding.message);
}

#[test]
fn a_chain_of_forgotten_files_is_found_whole() {
    let files = [
        ("crates/a/src/main.rs", "mod used;"),
        ("crates/a/src/used/mod.rs", "mod inner { mod deep; }"),
        ("crates/a/src/used/inner/deep.rs", ""),
        ("crates/a/src/lost.rs", "mod child;"),
        ("crates/a/src/lost/child.rs", ""),
    ];
    assert_eq!(forgotten(&files), ["crates/a/src/lost.rs", "crates/a/src/lost/child.rs"]);
}

#[test]
fn integration_tests_are_found_by_cargo_unless_told_otherwise() {
    let test = ("crates/a/tests/it.rs", "mod helpers;");
    let files = [test, ("crates/a/tests/helpers/mod.rs", ""), ("crates/a/tests/data/x.rs", "")];
    assert_eq!(forgotten(&files), ["crates/a/tests/data/x.rs"]);
    let off = ("crates/a/Cargo.toml", "[package]\nautotests = false\n");
    assert_eq!(forgotten(&[test, off]), ["crates/a/tests/it.rs"]);
    let named = (
        "crates/a/Cargo.toml",
        "[package]\nautotests = false\n[[test]]\nname = \"it\"\npath = \"tests/it.rs\"\n",
    );
    assert_eq!(forgotten(&[test, named]), [""; 0]);
}

#[test]
fn a_path_attribute_leads_to_its_file() {
    let files = [
        ("crates/a/src/lib.rs", "#[path = \"odd/name.rs\"]\nmod other;"),
        ("crates/a/src/odd/name.rs", ""),
    ];
    assert_eq!(forgotten(&files), [""; 0]);
}
