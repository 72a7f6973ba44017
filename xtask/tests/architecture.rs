//! Which crate depends on which. The table below is the architecture: the manifests must say exactly
//! what it says, so a dependency that is not in it fails, and so does an entry that no manifest has.
//! To change it, say why in `docs/decisions/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Each crate of the workspace, bottom first; the crates of the workspace it uses; and the
/// third-party crates it uses that do I/O or are large. A dev-dependency may be any crate above it
/// in this table, and the testkit.
#[rustfmt::skip]
const CRATES: &[(&str, &[&str], &[&str])] = &[
    ("robota-core", &[], &["serde-saphyr"]),
    ("robota-policy", &["robota-core"], &["tree-sitter", "tree-sitter-bash"]),
    ("robota-exec", &["robota-core"], &["landlock", "libc", "rustix", "seccompiler", "tempfile"]),
    ("robota-store", &["robota-core"], &["deadpool-postgres", "rusqlite", "rustix", "tokio-postgres"]),
    ("robota-session", &["robota-core", "robota-policy"], &[]),
    ("robota-providers", &["robota-core"], &["reqwest", "ring", "rustls"]),
    ("robota-telemetry", &["robota-core"], &["opentelemetry", "opentelemetry-proto", "opentelemetry_sdk", "prost", "reqwest", "rustls", "tracing-opentelemetry", "tracing-subscriber"]),
    ("robota-tools", &["robota-core", "robota-policy", "robota-exec"], &["encoding_rs", "globset", "grep-matcher", "grep-regex", "grep-searcher", "ignore", "reqwest", "rustix", "rustls", "serde-saphyr", "similar"]),
    ("robota-mcp", &["robota-core", "robota-exec"], &["http", "reqwest", "rmcp", "rustls", "sse-stream"]),
    ("robota-config", &["robota-core", "robota-policy"], &["globset", "rustix", "serde-saphyr", "tempfile"]),
    ("robota-runtime", &["robota-core", "robota-exec", "robota-session", "robota-tools"], &["croner"]),
    ("robota-sdk", &["robota-core", "robota-policy", "robota-exec", "robota-store", "robota-session", "robota-tools", "robota-mcp", "robota-config", "robota-runtime"], &["tempfile"]),
    ("robota-server", &["robota-core", "robota-session", "robota-mcp", "robota-sdk"], &["axum"]),
    ("robota-macros", &[], &["proc-macro2", "quote", "syn"]),
    ("robota-stream-json", &[], &[]),
    ("robota", &["robota-core", "robota-policy", "robota-exec", "robota-store", "robota-session", "robota-providers", "robota-telemetry", "robota-tools", "robota-macros", "robota-runtime", "robota-sdk"], &[]),
    ("robota-cli", &["robota-core", "robota-policy", "robota-exec", "robota-store", "robota-session", "robota-providers", "robota-telemetry", "robota-tools", "robota-config", "robota-mcp", "robota-runtime", "robota-sdk", "robota-server", "robota-stream-json"], &["anyhow", "clap", "clap_complete", "clap_mangen", "crossterm", "ignore", "nucleo-matcher", "pulldown-cmark", "rustix", "similar", "syntect", "tempfile", "tracing-subscriber", "two-face", "unicode-segmentation", "unicode-width"]),
    ("robota-testkit", &["robota-core"], &["serde-saphyr", "tempfile"]),
    ("xtask", &["robota-core", "robota-config", "robota-providers", "robota-stream-json"], &["anyhow", "quote", "similar", "syn"]),
];

/// Plain data and plumbing without I/O: any crate may use them, the core included.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "aho-corasick", "async-trait", "base64", "bytes", "crc32fast", "futures", "indexmap", "jiff", "regex",
    "schemars", "serde", "serde_json", "serde_path_to_error", "sha2", "thiserror", "tokio",
    "tokio-util", "tracing", "url", "uuid",
];

/// The features of tokio that the core may use: no `net`, `fs`, `process`, `signal`, `io`.
const CORE_TOKIO: &[&str] = &["rt", "sync", "time", "macros"];

fn packages() -> Vec<Package> {
    let mut command = MetadataCommand::new();
    command.manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).no_deps();
    command.exec().unwrap().packages
}

fn used(package: &Package, dev: bool) -> impl Iterator<Item = &str> {
    let kind = move |kind| (kind == DependencyKind::Development) == dev;
    package.dependencies.iter().filter(move |it| kind(it.kind)).map(|it| it.name.as_str())
}

#[test]
fn crates_use_exactly_what_the_table_lists() {
    let packages = packages();
    assert_eq!(packages.len(), CRATES.len(), "each crate has a row");
    let mut plain: BTreeSet<&str> = BTreeSet::new();
    for (name, ours, others) in CRATES {
        let package = packages.iter().find(|it| it.name.as_str() == *name).expect(name);
        let (common, listed): (BTreeSet<_>, BTreeSet<_>) =
            used(package, false).partition(|used| PLAIN.contains(used));
        plain.extend(common);
        let expected: BTreeSet<&str> = ours.iter().chain(*others).copied().collect();
        assert_eq!(listed, expected, "the manifest of {name} and its row in the table");
    }
    assert_eq!(plain, PLAIN.iter().copied().collect(), "each plain crate is used");
}

#[test]
fn the_table_points_down_only() {
    let packages = packages();
    for (at, (name, ours, _)) in CRATES.iter().enumerate() {
        let package = packages.iter().find(|it| it.name.as_str() == *name).expect(name);
        let is_ours = |used: &&str| CRATES.iter().any(|row| row.0 == *used);
        // A dev-dependency of a crate on itself switches features on.
        let for_tests = |used: &&str| *used != "robota-testkit" && used != name;
        let dev = used(package, true).filter(is_ours).filter(for_tests);
        for used in ours.iter().copied().chain(dev) {
            assert!(CRATES[..at].iter().any(|row| row.0 == used), "{name} -> {used}");
        }
    }
}

#[test]
fn core_07_the_core_depends_on_no_crate_of_ours_and_does_no_io() {
    assert_eq!(CRATES[0], ("robota-core", &[][..], &["serde-saphyr"][..]));
    let packages = packages();
    let core = packages.iter().find(|it| it.name.as_str() == "robota-core").unwrap();
    for it in core.dependencies.iter().filter(|it| it.kind != DependencyKind::Development) {
        if it.name.starts_with("tokio") {
            let extra = it.features.iter().find(|name| !CORE_TOKIO.contains(&name.as_str()));
            assert!(extra.is_none() && !it.uses_default_features, "{}: {extra:?}", it.name);
        }
    }
}

#[test]
fn core_07_the_core_names_no_vendor() {
    let tree = xtask::tree::Tree::load(&xtask::tree::root()).unwrap();
    assert_eq!(xtask::tidy::vendors(&tree).unwrap(), [""; 0]);
}

/// Compares the module tables of `docs/ARCHITECTURE.md` with the sources: each module that a table names
/// exists, and each module of a crate with a table is named.
#[test]
fn the_architecture_page_lists_every_module() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let page = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    let mut crates = 0;
    for section in page.split("\nModules of `").skip(1) {
        let (folder, table) = section.split_once('`').unwrap();
        let rows = table.trim_start_matches([':', '\n']).lines();
        let rows: Vec<_> = rows.take_while(|row| row.starts_with('|')).skip(2).collect();
        if rows.is_empty() {
            continue;
        }
        crates += 1;
        let source = root.join("crates").join(folder);
        let names = rows
            .iter()
            .flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
        let listed: BTreeSet<&str> = names.collect();
        for name in &listed {
            assert!(
                source.join(format!("{name}.rs")).exists(),
                "{folder}/{name}.rs does not exist"
            );
        }
        for file in std::fs::read_dir(&source).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let Some(module) = name.strip_suffix(".rs") else { continue };
            let left_out = ["lib", "main", "tests"].contains(&module);
            assert!(
                left_out || listed.contains(module),
                "docs/ARCHITECTURE.md: add {folder}/{module}"
            );
        }
    }
    assert!(crates > 5, "the tables were not found");
}
