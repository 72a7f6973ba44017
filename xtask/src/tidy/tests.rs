use super::*;

fn found(check: fn(&Tree) -> Findings, files: &str) -> usize {
    check(&Tree::parse(files)).unwrap().len()
}

/// Runs the cases of a check in `cases.txt`.
fn cases(check: &str) {
    let (_, run) = CHECKS.iter().find(|(name, _)| *name == check).unwrap();
    let start = format!("\n== {check}\n");
    let cases: Vec<_> = include_str!("cases.txt").split(&start).skip(1).collect();
    for case in &cases {
        let (files, findings) = case.split_once("\n=>\n").unwrap();
        let expected = findings.split("\n\n").next().unwrap().trim_end();
        assert_eq!(run(&Tree::parse(files)).unwrap().join("\n"), expected, "{check}");
    }
    assert!(!cases.is_empty(), "{check}");
}

#[test]
fn checks_find_what_their_cases_say() {
    ["forgotten files", "names on pages", "links", "short documentation"]
        .into_iter()
        .for_each(cases);
}

#[test]
fn core_07_a_vendor_in_the_core_is_found() {
    cases("vendor names in core");
}

#[test]
fn long_files_are_found() {
    for (lines, count) in [(800, 0), (801, 1)] {
        let file = format!("-- crates/a/src/lib.rs\n{}", "//\n".repeat(lines));
        assert_eq!(found(length, &file), count);
    }
}

#[test]
fn public_methods_are_counted_over_the_files_of_a_crate() {
    let file = |path: &str, name: &str, methods: usize, visibility: &str| {
        let body = format!("    {visibility}fn f() {{}}\n").repeat(methods);
        format!("-- {path}\nimpl{name} {{\n{body}}}\n")
    };
    let many = file("crates/a/src/lib.rs", " Session", 30, "pub async ");
    assert_eq!(found(methods, &many), 0);
    for (path, count) in [("crates/a/src/b.rs", 1), ("crates/b/src/b.rs", 0)] {
        let one = file(path, "<'a> Session<'a>", 1, "pub ");
        assert_eq!(found(methods, &format!("{many}{one}")), count);
    }
    for (name, visibility) in [(" A", "pub(crate) "), (" Port for A", "")] {
        assert_eq!(found(methods, &file("crates/a/src/lib.rs", name, 31, visibility)), 0);
    }
}

#[test]
fn absolute_paths_of_a_machine_are_found() {
    let count = |line: &str| found(machine_paths, &format!("-- docs/guide.md\n{line}"));
    for prefix in [concat!("/wo", "rk/"), concat!("/ro", "ot/")] {
        assert_eq!(count(&format!("cd {prefix}main")) + count(&format!("\"{prefix}x\"")), 2);
        assert_eq!(count(&format!("src{prefix}x ~{prefix}x ..{prefix}x ${{HOME}}{prefix}x")), 0);
    }
}
