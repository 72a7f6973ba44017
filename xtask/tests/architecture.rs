//! Which crate depends on which. The tables below are the architecture: a dependency that is not in
//! them fails, and so does an entry that no manifest uses. To add one, change a table and say why in
//! `docs/decisions/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

type Table = &'static [(&'static str, &'static [&'static str])];
/// A dependency: who, on what, and whether only for tests and benches.
type Edge<'a> = (&'a str, &'a str, bool);

/// Each crate of the workspace and the crates of the workspace it uses, bottom first. The testkit is
/// a dev-dependency of any crate.
#[rustfmt::skip]
const CRATES: Table = &[
    ("robota-core", &[]),
    ("robota-policy", &["robota-core"]),
    ("robota-exec", &["robota-core"]),
    ("robota-store", &["robota-core"]),
    ("robota-session", &["robota-core", "robota-policy"]),
    ("robota-providers", &["robota-core"]),
    ("robota-telemetry", &["robota-core"]),
    ("robota-tools", &["robota-core", "robota-policy", "robota-exec"]),
    ("robota-mcp", &["robota-core"]),
    ("robota-config", &["robota-core", "robota-policy"]),
    ("robota-runtime", &["robota-core"]),
    ("robota-sdk", &["robota-core"]),
    ("robota-server", &["robota-core"]),
    ("robota", &["robota-core", "robota-policy", "robota-exec", "robota-store", "robota-session", "robota-providers", "robota-telemetry", "robota-tools"]),
    ("robota-cli", &["robota-core", "robota-policy", "robota-exec", "robota-store", "robota-session", "robota-providers", "robota-telemetry", "robota-tools", "robota-config"]),
    ("robota-testkit", &["robota-core"]),
    ("xtask", &["robota-core", "robota-policy", "robota-providers", "robota-telemetry", "robota-config"]),
];

/// Each crate of others that does I/O or is large, and the crates that use it.
#[rustfmt::skip]
const HOMES: Table = &[
    ("anyhow", &["robota-cli", "xtask"]),
    ("clap", &["robota-cli"]),
    ("deadpool-postgres", &["robota-store"]),
    ("encoding_rs", &["robota-tools"]),
    ("globset", &["robota-tools"]),
    ("grep-matcher", &["robota-tools"]),
    ("grep-regex", &["robota-tools"]),
    ("grep-searcher", &["robota-tools"]),
    ("htmd", &["robota-tools"]),
    ("ignore", &["robota-tools"]),
    ("landlock", &["robota-exec"]),
    ("libc", &["robota-exec", "xtask"]),
    ("opentelemetry", &["robota-telemetry"]),
    ("opentelemetry-proto", &["robota-telemetry"]),
    ("opentelemetry_sdk", &["robota-telemetry"]),
    ("prost", &["robota-telemetry"]),
    ("reqwest", &["robota-providers", "robota-telemetry", "robota-tools"]),
    ("rusqlite", &["robota-store"]),
    ("rustix", &["robota-exec", "robota-store", "robota-tools"]),
    ("rustls", &["robota-providers", "robota-telemetry", "robota-tools"]),
    ("seccompiler", &["robota-exec"]),
    ("serde-saphyr", &["robota-core", "robota-testkit"]),
    ("similar", &["robota-tools", "xtask"]),
    ("tempfile", &["robota-cli", "robota-config", "robota-exec", "robota-testkit", "robota-tools"]),
    ("tokio-postgres", &["robota-store"]),
    ("tracing-opentelemetry", &["robota-telemetry"]),
    ("tracing-subscriber", &["robota-cli", "robota-telemetry"]),
    ("tree-sitter", &["robota-policy"]),
    ("tree-sitter-bash", &["robota-policy"]),
    // Only for tests and benches.
    ("cargo_metadata", &[]),
    ("criterion", &[]),
    ("insta", &[]),
    ("proptest", &[]),
    ("toml", &[]),
];

/// Plain data and plumbing without I/O: any crate may use them, the core included.
const PLAIN: &[&str] = &[
    "async-trait",
    "base64",
    "bytes",
    "crc32fast",
    "futures",
    "indexmap",
    "jiff",
    "regex",
    "schemars",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "sha2",
    "thiserror",
    "tokio",
    "tokio-util",
    "tracing",
    "url",
    "uuid",
];

/// The features of tokio that the core may use: no `net`, `fs`, `process`, `signal`, `io`.
const CORE_TOKIO: &[&str] = &["rt", "sync", "time", "macros"];

fn metadata() -> Metadata {
    let mut command = MetadataCommand::new();
    command.manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).no_deps();
    command.exec().unwrap()
}

fn edges(packages: &[Package]) -> Vec<Edge<'_>> {
    let all = packages.iter().flat_map(|package| {
        package.dependencies.iter().map(|it| {
            (package.name.as_str(), it.name.as_str(), it.kind == DependencyKind::Development)
        })
    });
    all.collect()
}

/// Edges between crates of the workspace that are not in the table, and entries without an edge.
fn wrong_crates(edges: &[Edge<'_>], table: Table) -> Vec<String> {
    let ours: BTreeMap<&str, &[&str]> = table.iter().copied().collect();
    let mut wrong = Vec::new();
    for (user, used, dev) in edges.iter().filter(|(_, used, _)| ours.contains_key(used)) {
        // A dev-dependency of a crate on itself switches features on.
        let for_tests = *dev && (*used == "robota-testkit" || user == used);
        if !for_tests && !ours.get(user).is_some_and(|row| row.contains(used)) {
            wrong.push(format!("{user} -> {used} is not in the table"));
        }
    }
    for (user, row) in table {
        for used in *row {
            if !edges.iter().any(|edge| edge.0 == *user && edge.1 == *used) {
                wrong.push(format!("{user} -> {used} is in the table and not used"));
            }
        }
    }
    wrong
}

/// Uses of crates of others outside their homes, and entries that nobody uses.
fn wrong_third_parties(edges: &[Edge<'_>], homes: Table, plain: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    let ours: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    for (user, used, dev) in edges.iter().filter(|(_, used, _)| !ours.contains(used)) {
        let home = homes.iter().find(|(name, _)| name == used);
        let allowed = home.is_some_and(|(_, users)| *dev || users.contains(user));
        if !allowed && !plain.contains(used) {
            wrong.push(format!("{user} -> {used} is not in the table of homes"));
        }
    }
    let uses = |used: &str, user: &str| {
        edges.iter().any(|edge| edge.1 == used && !edge.2 && (user.is_empty() || edge.0 == user))
    };
    for (used, users) in homes {
        let idle = users.iter().filter(|user| !uses(used, user));
        wrong.extend(idle.map(|user| format!("{user} -> {used} is in the table and not used")));
    }
    let any = homes.iter().map(|(name, _)| name).chain(plain);
    let unused = any.filter(|name| !edges.iter().any(|edge| edge.1 == **name));
    wrong.extend(unused.map(|name| format!("nobody uses {name}")));
    wrong
}

#[test]
fn crates_use_exactly_what_the_table_lists() {
    let metadata = metadata();
    let names: BTreeSet<_> = metadata.packages.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, CRATES.iter().map(|(name, _)| *name).collect());
    assert_eq!(wrong_crates(&edges(&metadata.packages), CRATES), [""; 0]);
}

#[test]
fn the_table_points_down_only() {
    for (at, (user, row)) in CRATES.iter().enumerate() {
        for used in *row {
            assert!(CRATES[..at].iter().any(|(name, _)| name == used), "{user} -> {used}");
        }
    }
}

#[test]
fn third_parties_are_used_exactly_where_the_tables_say() {
    let metadata = metadata();
    assert_eq!(wrong_third_parties(&edges(&metadata.packages), HOMES, PLAIN), [""; 0]);
}

#[test]
fn the_rules_can_fail() {
    let table: Table = &[("a", &[]), ("b", &["a"]), ("robota-testkit", &[])];
    let wrong = |edges: &[Edge<'_>]| wrong_crates(edges, table).len();
    assert_eq!(wrong(&[("b", "a", false), ("a", "robota-testkit", true)]), 0);
    assert_eq!(wrong(&[]), 1, "an entry that is not used");
    assert_eq!(wrong(&[("b", "a", false), ("a", "b", true)]), 1, "an edge that is not listed");
    assert_eq!(wrong(&[("b", "a", false), ("a", "robota-testkit", false)]), 1, "not for tests");
    let homes: Table = &[("x", &["a"]), ("t", &[])];
    let wrong = |edges: &[Edge<'_>]| wrong_third_parties(edges, homes, &["p"]).len();
    let fine = [("a", "x", false), ("b", "x", true), ("b", "t", true), ("b", "p", false)];
    assert_eq!(wrong(&fine), 0);
    assert_eq!(wrong(&[&fine[..], &[("b", "x", false)]].concat()), 1, "outside its home");
    assert_eq!(wrong(&[&fine[..], &[("b", "t", false)]].concat()), 1, "not only for tests");
    assert_eq!(wrong(&[&fine[..], &[("b", "new", true)]].concat()), 1, "unknown");
    assert_eq!(wrong(&fine[1..]), 1, "a home that does not use it");
    assert_eq!(wrong(&fine[..3]), 1, "plain and not used");
}

#[test]
fn core_07_the_core_depends_on_no_crate_of_ours_and_does_no_io() {
    assert_eq!(CRATES[0], ("robota-core", &[][..]));
    let metadata = metadata();
    let core = metadata.packages.iter().find(|it| it.name.as_str() == "robota-core").unwrap();
    for it in core.dependencies.iter().filter(|it| it.kind != DependencyKind::Development) {
        let name = it.name.as_str();
        assert!(PLAIN.contains(&name) || name == "serde-saphyr", "{name} is not plain");
        if name.starts_with("tokio") {
            let extra = it.features.iter().find(|name| !CORE_TOKIO.contains(&name.as_str()));
            assert!(extra.is_none() && !it.uses_default_features, "{name}: {extra:?}");
        }
    }
}

#[test]
fn core_07_the_core_names_no_vendor() {
    let tree = xtask::tree::Tree::load(&xtask::tree::root()).unwrap();
    assert_eq!(xtask::tidy::vendors(&tree), [""; 0]);
}
