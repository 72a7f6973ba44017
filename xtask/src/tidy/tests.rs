use super::*;

fn found(check: fn(&Tree) -> Findings, files: &[(&str, &str)]) -> usize {
    check(&Tree::of(files)).unwrap().len()
}

#[test]
fn long_files_are_found() {
    for (lines, count) in [(800, 0), (801, 1)] {
        assert_eq!(found(length, &[("crates/a/src/lib.rs", &"//\n".repeat(lines))]), count);
    }
}

#[test]
fn public_methods_are_counted_over_the_files_of_a_crate() {
    let block = |name: &str, methods: usize, visibility: &str| {
        let body: String =
            (0..methods).map(|n| format!("    {visibility}fn f{n}() {{}}\n")).collect();
        format!("impl{name} {{\n{body}}}\n")
    };
    let (many, one) = (block(" Session", 30, "pub async "), block("<'a> Session<'a>", 1, "pub "));
    assert_eq!(found(methods, &[("crates/a/src/lib.rs", &many)]), 0);
    let both = [("crates/a/src/lib.rs", &*many), ("crates/a/src/b.rs", &*one)];
    assert_eq!(found(methods, &both), 1);
    assert_eq!(found(methods, &[both[0], ("crates/b/src/b.rs", &one)]), 0);
    for (name, visibility) in [(" A", "pub(crate) "), (" Port for A", "")] {
        assert_eq!(found(methods, &[("crates/a/src/lib.rs", &block(name, 30, visibility))]), 0);
    }
}

#[test]
fn a_file_that_nothing_compiles_is_found() {
    let tests = ("crates/a/src/foo/tests.rs", "#[test] fn t() {}");
    let root = ("crates/a/src/lib.rs", "pub mod foo;\n#[path = \"odd/name.rs\"]\nmod other;\n");
    let other = ("crates/a/src/odd/name.rs", "");
    for (text, count) in [("fn f() {} // mod tests;", 1), ("#[cfg(test)]\nmod tests;\n", 0)] {
        assert_eq!(found(orphans, &[root, other, ("crates/a/src/foo.rs", text), tests]), count);
    }
    let test = ("crates/a/tests/it.rs", "mod helpers;");
    let helpers = ("crates/a/tests/helpers/mod.rs", "");
    assert_eq!(found(orphans, &[test, helpers, ("crates/a/tests/data/x.rs", "")]), 1);
}

#[test]
fn absolute_paths_of_a_machine_are_found() {
    let count = |line: &str| found(machine_paths, &[("docs/guide.md", line)]);
    for prefix in [concat!("/wo", "rk/"), concat!("/ro", "ot/")] {
        assert_eq!(count(&format!("cd {prefix}main")) + count(&format!("\"{prefix}x\"")), 2);
        assert_eq!(count(&format!("src{prefix}x ~{prefix}x ..{prefix}x ${{HOME}}{prefix}x")), 0);
    }
}

#[test]
fn tests_of_the_threat_model_that_do_not_exist_are_found() {
    let page = "| can `x` | `a_test`, `b_test` |\n| no | `gone` |\n";
    let code = "#[test]\nfn a_test() {}\n    async fn b_test() {}\n";
    let files = [("docs/threat-model.md", page), ("crates/a/src/lib.rs", code)];
    assert_eq!(found(names, &files), 1);
}

#[test]
fn sources_and_tests_that_do_not_exist_are_found() {
    let code = ("crates/a/src/lib.rs", "#[test]\nfn core_07_all() {}\n");
    let count = |text: &str| found(names, &[("docs/ARCHITECTURE.md", text), code]);
    for wrong in ["`a/src/old.rs`", "`core_07_none`", "`core_08_…`"] {
        assert_eq!(count(wrong), 1, "{wrong}");
    }
    assert_eq!(count("`a/src/lib.rs`, `core_07_…`, `core_07_all`, `lib.rs`, `foo/tests.rs`"), 0);
}

#[test]
fn methods_that_do_not_exist_are_found() {
    let code = "pub struct Turn<'a> {\n    pub rules: Rules,\n}\nimpl<'a> Turn<'a> {\n    \
                pub(crate) async fn on(&self) {}\n    fn build<T>() {}\n    setters!(x);\n}\npub struct Turner;\n\
                macro_rules! setters {\n    () => {\n        pub fn set() {}\n    };\n}\n";
    let count =
        |text: &str| found(names, &[("docs/guide.md", text), ("crates/a/src/turn.rs", code)]);
    // A field or method of another type in the file is none of this one.
    for wrong in [
        "`Turn::off`",
        "`robota_core::Turn::o`",
        "`Turner::rule`",
        "`Turner::rules`",
        "`Turner::set`",
    ] {
        assert_eq!(count(wrong), 1, "{wrong}");
    }
    assert_eq!(count("`Turn::on`, `a::Turn::build`, `Turn::rules`, `Turn::set`, `Other::on`"), 0);
    let history = [("CHANGELOG.md", "`Turn::off`"), ("crates/a/src/turn.rs", code)];
    assert_eq!(found(names, &history), 0, "it is about earlier versions");
}

#[test]
fn links_to_missing_files_are_found() {
    let count = |text: &str| {
        found(links, &[("docs/guide.md", text), ("docs/events.md", ""), ("README.md", "")])
    };
    for dead in ["[a](missing.md)", "[b](../events.md#x)", "[r]: gone.md", "[o](../../README.md)"] {
        assert_eq!(count(dead), 1, "{dead}");
    }
    let fine =
        "[a](events.md#top \"t\") [c](../README.md) [web](https://example.com) [here](#part)";
    assert_eq!(count(fine) + count("`[a](missing.md)`\n```\n[b](missing.md)\n```\n"), 0);
}

#[test]
fn core_07_a_vendor_in_the_core_is_found() {
    let count = |path: &str, text: &str| found(vendors, &[(path, text)]);
    let branch = "fn f(model: &str) -> bool { model.starts_with(\"Claude-\") }";
    assert_eq!(count("crates/robota-core/src/turn.rs", branch), 1);
    assert_eq!(count("crates/robota-core/src/turn.rs", "enum Vendor { OpenAi } // x"), 1);
    assert_eq!(count("crates/robota-providers/src/lib.rs", branch), 0);
    assert_eq!(count("crates/robota-core/src/turn/tests.rs", branch), 0);
    assert_eq!(count("crates/robota-core/src/turn.rs", "/// Claude\nfn f() {} // Claude"), 0);
}

#[test]
fn documentation_that_says_nothing_is_found() {
    let count = |text: &str| found(short_docs, &[("crates/a/src/lib.rs", text)]);
    assert_eq!(count("/// Sets the clock.\n#[must_use]\npub fn clock(self) -> Self {"), 1);
    assert_eq!(count("/// The status of a task.\npub enum TaskStatus {"), 1);
    assert_eq!(count("/// The tools of a session.\n    pub async fn session_tool() {"), 1);
    assert_eq!(count("/// How far a task is.\npub enum TaskStatus {"), 0);
    assert_eq!(count("/// A task,\n/// and who runs it.\npub struct Task;"), 0);
    assert_eq!(count("/// Its name.\n    pub name: String,"), 1);
    assert_eq!(count("/// The models.\n    Model(u32),\n    /// A company.\n    Vendor,"), 1);
    assert_eq!(count("/// `( … )`\n    Group(List),\n/// Done.\nfn private() {}"), 0);
    assert_eq!(count("pub fn without() {}"), 0, "the compiler finds these");
}
