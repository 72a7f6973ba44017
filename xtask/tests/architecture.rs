//! Which crate depends on which. The table in `architecture.txt` is the architecture: a dependency that is
//! not in it fails, and so does an entry that no manifest has.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use xtask::tidy::{code_spans, vendors};
use xtask::tree::{Tree, root};

type Names = BTreeSet<&'static str>;

/// Returns each crate of the table with what it uses, ours and others, and what any crate may use.
fn table() -> (Vec<(&'static str, Names, Names)>, Names) {
    let lines = include_str!("architecture.txt").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let (name, used) = line.split_once(':').unwrap();
        let (ours, others) = used.split_once('|').unwrap();
        (name, ours.split_whitespace().collect(), others.split_whitespace().collect())
    };
    let mut rows: Vec<(_, _, Names)> = lines.map(row).collect();
    let any = rows.pop().unwrap();
    (rows, any.2)
}

fn packages() -> Vec<Package> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps();
    command.exec().unwrap().packages
}

fn find<'a>(packages: &'a [Package], name: &str) -> &'a Package {
    packages.iter().find(|it| it.name.as_str() == name).expect(name)
}

fn used(package: &Package, dev: bool) -> impl Iterator<Item = &str> {
    let kind = move |kind| (kind == DependencyKind::Development) == dev;
    package.dependencies.iter().filter(move |it| kind(it.kind)).map(|it| it.name.as_str())
}

#[test]
fn crates_use_exactly_what_the_table_lists() {
    let ((rows, plain), packages) = (table(), packages());
    assert_eq!(packages.len(), rows.len(), "each crate has a row");
    let mut plain_used = BTreeSet::new();
    for (name, ours, others) in rows {
        let (common, listed): (BTreeSet<_>, BTreeSet<_>) =
            used(find(&packages, name), false).partition(|used| plain.contains(used));
        plain_used.extend(common);
        assert_eq!(listed, &ours | &others, "the manifest of {name} and its row in the table");
    }
    assert_eq!(plain_used, plain, "each plain crate is used");
}

#[test]
fn the_table_points_down_only() {
    let ((rows, _), packages) = (table(), packages());
    let mut below: Vec<&str> = Vec::new();
    for (name, ours, _) in &rows {
        let is_ours = |used: &&str| rows.iter().any(|row| row.0 == *used);
        // A dev-dependency of a crate on itself switches features on.
        let for_tests = |used: &&str| *used != "robota-testkit" && used != name;
        let dev = used(find(&packages, name), true).filter(is_ours).filter(for_tests);
        for used in ours.iter().copied().chain(dev) {
            assert!(below.contains(&used), "{name} -> {used}");
        }
        below.push(name);
    }
}

#[test]
fn core_07_the_core_depends_on_no_crate_of_ours_and_does_no_io() {
    let (name, ours, others) = &table().0[0];
    assert_eq!((*name, ours.len(), others), ("robota-core", 0, &BTreeSet::from(["serde-saphyr"])));
    let packages = packages();
    let core = find(&packages, "robota-core").dependencies.iter();
    // Not `net`, `fs`, `process`, `signal`, `io`.
    let tokio = ["rt", "sync", "time", "macros"];
    for it in core.filter(|it| it.kind != DependencyKind::Development) {
        if it.name.starts_with("tokio") {
            let extra = it.features.iter().find(|name| !tokio.contains(&name.as_str()));
            assert!(extra.is_none() && !it.uses_default_features, "{}: {extra:?}", it.name);
        }
    }
}

#[test]
fn core_07_the_core_names_no_vendor() {
    assert_eq!(vendors(&Tree::load(&root()).unwrap()).unwrap(), [""; 0]);
}

/// Compares the module tables of `docs/ARCHITECTURE.md` with the sources: each module that a table names
/// exists, and each module at the top of a crate with a table is named.
#[test]
fn the_architecture_page_lists_every_module() {
    let tree = Tree::load(&root()).unwrap();
    let page = tree.text("docs/ARCHITECTURE.md").unwrap();
    let mut tables = 0;
    for section in page.split("\nModules of `").skip(1) {
        let (folder, table) = section.split_once('`').unwrap();
        let rows = table.trim_start_matches([':', '\n']).lines();
        let rows = rows.take_while(|row| row.starts_with('|')).skip(2);
        let listed: BTreeSet<_> =
            rows.flat_map(|row| code_spans(row.split('|').nth(1).unwrap())).collect();
        if listed.is_empty() {
            continue;
        }
        tables += 1;
        let source = format!("crates/{folder}/");
        let paths = tree.rust().filter_map(|(path, _)| path.strip_prefix(&source));
        let modules: BTreeSet<_> = paths.filter_map(|path| path.strip_suffix(".rs")).collect();
        let left_out = |it: &str| it.contains('/') || ["lib", "main", "tests"].contains(&it);
        let unlisted = modules.iter().find(|it| !left_out(it) && !listed.contains(*it));
        assert_eq!(unlisted, None, "docs/ARCHITECTURE.md: a module of {folder} is not listed");
        let missing = listed.iter().find(|name| !modules.contains(*name));
        assert_eq!(missing, None, "docs/ARCHITECTURE.md: a module of {folder} does not exist");
    }
    assert!(tables > 5, "the tables were not found");
}
