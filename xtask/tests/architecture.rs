//! Who may depend on whom. The two tables below are the architecture; `cargo metadata` says
//! what is. To add an edge, change a table, and say why in `docs/decisions/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::panic::Location;

use cargo_metadata::{DependencyKind, MetadataCommand};

// ---------------------------------------------------------------- the tables

/// Each crate of ours and the crates of ours it may use, bottom first. `robota-core` is the
/// vocabulary and may be used by all. Normal and build dependencies; a dev-dependency may also
/// be the testkit.
#[rustfmt::skip]
fn crates() -> Vec<Row> {
    let below_sdk = [
        "robota-policy", "robota-exec", "robota-store", "robota-session", "robota-tools",
        "robota-mcp", "robota-config", "robota-runtime",
    ];
    let above = ["robota-providers", "robota-telemetry", "robota-sdk", "robota-server"];
    let libraries = [&below_sdk[..], &above[..]].concat();
    vec![
        row("robota-core", &[]),
        row("robota-policy", &["robota-core"]),
        row("robota-exec", &["robota-core"]),
        row("robota-store", &["robota-core"]),
        row("robota-session", &["robota-core", "robota-policy"]),
        row("robota-providers", &["robota-core"]),
        row("robota-telemetry", &["robota-core"]),
        row("robota-tools", &["robota-core", "robota-policy", "robota-exec"]),
        row("robota-mcp", &["robota-core", "robota-exec"]),
        row("robota-config", &["robota-core", "robota-policy"]),
        row("robota-runtime", &["robota-core", "robota-session", "robota-exec"]),
        row("robota-sdk", &[&["robota-core"], &below_sdk[..]].concat()),
        row("robota-server", &["robota-core", "robota-sdk", "robota-mcp"]),
        row("robota", &[&["robota-core"], &libraries[..]].concat()),
        row("robota-cli", &[&["robota-core", "robota"], &libraries[..]].concat()),
        row("robota-testkit", &["robota-core"]),
        // The build steps make documents out of code, so they may look at everything.
        row("xtask", &[&["robota-core", "robota", "robota-cli", "robota-testkit"], &libraries[..]].concat()),
    ]
}

/// Each crate of others and who may name it: normal and build dependencies. `*` at the end of a
/// name stands for any rest. Whoever is named first and fits decides.
#[rustfmt::skip]
fn third_party() -> Vec<Row> {
    vec![
        // One home, or few.
        row("agent-client-protocol*", &["robota-server"]),
        row("ansi-to-tui", &["robota-cli"]),
        row("anyhow", &["robota-cli", "xtask"]),
        row("axum", &["robota-server", "robota-testkit"]),
        row("backon", &["robota-providers"]),
        row("clap*", &["robota-cli"]),
        row("crossterm", &["robota-cli"]),
        row("deadpool-postgres", &["robota-store"]),
        row("encoding_rs", &["robota-tools"]),
        row("etcetera", &["robota-config", "robota-cli"]),
        row("globset", &["robota-policy", "robota-tools", "robota-config"]),
        row("grep-*", &["robota-tools"]),
        row("htmd", &["robota-tools"]),
        row("hyper*", &["robota-server", "robota-testkit"]),
        row("ignore", &["robota-tools"]),
        row("jsonschema", &["robota-mcp", "robota-tools", "robota-sdk"]),
        row("landlock", &["robota-exec"]),
        row("libc", &["robota-exec", "robota-store", "xtask"]),
        row("nucleo-matcher", &["robota-cli"]),
        row("opentelemetry*", &["robota-telemetry"]),
        row("process-wrap", &["robota-exec"]),
        row("prost", &["robota-telemetry"]),
        row("pty-process", &["robota-exec"]),
        row("pulldown-cmark", &["robota-cli"]),
        row("ratatui*", &["robota-cli"]),
        row("reqwest", &["robota-providers", "robota-telemetry", "robota-tools", "robota-sdk", "robota-server"]),
        row("rmcp", &["robota-mcp"]),
        row("rusqlite", &["robota-store"]),
        row("rustix", &["robota-exec", "robota-store", "robota-tools"]),
        row("rustls*", &["robota-providers", "robota-telemetry", "robota-tools", "robota-cli"]),
        row("seccompiler", &["robota-exec"]),
        row("serde-saphyr", &["robota-core", "robota-config", "robota-testkit"]),
        row("similar", &["robota-tools", "robota-sdk", "robota-cli", "xtask"]),
        row("sse-stream", &["robota-providers"]),
        row("syntect", &["robota-cli"]),
        row("tempfile", &["robota-tools", "robota-exec", "robota-store", "robota-config", "robota-cli", "robota-testkit"]),
        row("tokio-postgres*", &["robota-store"]),
        row("toml", &["robota-config"]),
        row("tower*", &["robota-server", "robota-testkit"]),
        row("tracing-opentelemetry", &["robota-telemetry"]),
        row("tracing-subscriber", &["robota-telemetry", "robota-cli"]),
        row("tree-sitter*", &["robota-policy"]),
        row("two-face", &["robota-cli"]),
        // Plain data and plumbing: no I/O of their own, anybody may.
        row("async-trait", ANYBODY),
        row("base64", ANYBODY),
        row("bytes", ANYBODY),
        row("crc32fast", ANYBODY),
        row("futures", ANYBODY),
        row("indexmap", ANYBODY),
        row("jiff", ANYBODY),
        row("regex", ANYBODY),
        row("schemars", ANYBODY),
        row("serde", ANYBODY),
        row("serde_json", ANYBODY),
        row("serde_path_to_error", ANYBODY),
        row("sha2", ANYBODY),
        row("thiserror", ANYBODY),
        row("tokio", ANYBODY),
        row("tokio-stream", ANYBODY),
        row("tokio-util", ANYBODY),
        row("tracing", ANYBODY),
        row("url", ANYBODY),
        row("uuid", ANYBODY),
        // For tests and benches. The testkit may build on them in earnest.
        row("cargo_metadata", &[]),
        row("criterion", &[]),
        row("insta", &["robota-testkit"]),
        row("pretty_assertions", &["robota-testkit"]),
        row("proptest", &["robota-testkit"]),
        row("vt100", &["robota-testkit"]),
        row("wiremock", &["robota-testkit"]),
    ]
}

/// All that the core may name: nothing that reaches the network, a file or a process.
const CORE_MAY_NAME: &[&str] = &[
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
    "serde-saphyr",
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

/// What of tokio the core may switch on: no `net`, `fs`, `process`, `signal`, `io`.
const CORE_TOKIO: &[(&str, &[&str])] =
    &[("tokio", &["rt", "sync", "time", "macros"]), ("tokio-util", &["rt"])];

// ---------------------------------------------------------------- how they are read

const ANYBODY: &[&str] = &["*"];
const TESTKIT: &str = "robota-testkit";

/// A line of a table.
struct Row {
    name: String,
    allowed: Vec<String>,
    line: u32,
}

#[track_caller]
fn row(name: &str, allowed: &[&str]) -> Row {
    let allowed = allowed.iter().map(|name| (*name).to_owned()).collect();
    Row { name: name.to_owned(), allowed, line: Location::caller().line() }
}

impl Row {
    /// The row as a place to look at.
    fn place(&self) -> String {
        format!("{}:{}", file!(), self.line)
    }

    fn fits(&self, name: &str) -> bool {
        self.name.strip_suffix('*').map_or(self.name == name, |prefix| name.starts_with(prefix))
    }
}

/// A package of the workspace, as far as it matters here.
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    dev: bool,
    features: Vec<String>,
    defaults: bool,
}

fn workspace() -> Vec<Package> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let dependency = |dependency: &cargo_metadata::Dependency| Dependency {
        name: dependency.name.clone(),
        dev: dependency.kind == DependencyKind::Development,
        features: dependency.features.clone(),
        defaults: dependency.uses_default_features,
    };
    metadata
        .packages
        .iter()
        .map(|package| Package {
            name: package.name.to_string(),
            dependencies: package.dependencies.iter().map(dependency).collect(),
        })
        .collect()
}

// ---------------------------------------------------------------- the rules

/// Every package has a row, every row a package.
fn unknown_crates(packages: &[Package], table: &[Row]) -> Vec<String> {
    let no_row =
        packages.iter().filter(|package| !table.iter().any(|row| row.name == package.name));
    let no_package =
        table.iter().filter(|row| !packages.iter().any(|package| package.name == row.name));
    let place = table.first().map_or(String::new(), Row::place);
    no_row
        .map(|package| {
            format!("{} is not in the table of crates, which starts at {place}", package.name)
        })
        .chain(no_package.map(|row| format!("{}: there is no crate {}", row.place(), row.name)))
        .collect()
}

/// A row may only use rows above it, so that the table cannot allow a cycle. The testkit and the
/// build steps stand beside the pile.
fn upward_rows(table: &[Row]) -> Vec<String> {
    let position: BTreeMap<&str, usize> =
        table.iter().enumerate().map(|(at, row)| (row.name.as_str(), at)).collect();
    let mut wrong = Vec::new();
    for (at, row) in table.iter().enumerate() {
        for name in &row.allowed {
            if position.get(name.as_str()).is_none_or(|below| *below >= at) {
                wrong.push(format!(
                    "{}: {} may not use {name}, which is not above it",
                    row.place(),
                    row.name
                ));
            }
        }
    }
    wrong
}

fn forbidden_edges(packages: &[Package], table: &[Row]) -> Vec<String> {
    let ours = |name: &str| table.iter().any(|row| row.name == name);
    let mut wrong = Vec::new();
    for (package, row) in packages
        .iter()
        .filter_map(|package| Some((package, table.iter().find(|row| row.name == package.name)?)))
    {
        for edge in package.dependencies.iter().filter(|edge| ours(&edge.name)) {
            // Of itself a crate's tests may ask for features.
            let for_tests = edge.dev && (edge.name == TESTKIT || edge.name == package.name);
            let allowed = row.allowed.contains(&edge.name) || for_tests;
            if !allowed {
                let kind = if edge.dev { " (dev)" } else { "" };
                wrong.push(format!(
                    "{} -> {}{kind} is not allowed: {} lets it use {:?}",
                    package.name,
                    edge.name,
                    row.place(),
                    row.allowed
                ));
            }
        }
    }
    wrong
}

fn forbidden_names(packages: &[Package], ours: &[Row], table: &[Row]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages {
        for edge in &package.dependencies {
            if ours.iter().any(|row| row.name == edge.name) {
                continue;
            }
            match table.iter().find(|row| row.fits(&edge.name)) {
                None => wrong.push(format!(
                    "{} -> {}: a crate nobody may name yet; say who may in the table of third \
                     parties, which starts at {}",
                    package.name,
                    edge.name,
                    table.first().map_or(String::new(), Row::place)
                )),
                Some(row) => {
                    let anybody = row.allowed.iter().any(|name| name == "*");
                    if !edge.dev && !anybody && !row.allowed.contains(&package.name) {
                        wrong.push(format!(
                            "{} -> {} is not allowed: {} lets only {:?} name it",
                            package.name,
                            edge.name,
                            row.place(),
                            row.allowed
                        ));
                    }
                }
            }
        }
    }
    wrong
}

fn impure_core(core: &Package) -> Vec<String> {
    let mut wrong = Vec::new();
    for edge in core.dependencies.iter().filter(|edge| !edge.dev) {
        if !CORE_MAY_NAME.contains(&edge.name.as_str()) {
            wrong.push(format!("{} -> {}: not in CORE_MAY_NAME", core.name, edge.name));
        }
        let Some((_, allowed)) = CORE_TOKIO.iter().find(|(name, _)| *name == edge.name) else {
            continue;
        };
        let extra: Vec<_> =
            edge.features.iter().filter(|feature| !allowed.contains(&feature.as_str())).collect();
        if !extra.is_empty() || edge.defaults && edge.name == "tokio" {
            wrong.push(format!(
                "{} -> {} with features {extra:?} (defaults: {}): CORE_TOKIO allows {allowed:?}",
                core.name, edge.name, edge.defaults
            ));
        }
    }
    wrong
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n  {}\n", wrong.join("\n  "));
}

// ---------------------------------------------------------------- what is

#[test]
fn every_crate_is_in_the_table() {
    assert_none(&unknown_crates(&workspace(), &crates()));
}

#[test]
fn the_table_points_down_only() {
    let mut table = crates();
    let beside = table.split_off(table.iter().position(|row| row.name == TESTKIT).unwrap());
    assert_eq!(beside.len(), 2);
    assert_none(&upward_rows(&table));
}

#[test]
fn crates_use_only_what_the_table_allows() {
    assert_none(&forbidden_edges(&workspace(), &crates()));
}

#[test]
fn third_parties_are_named_only_where_the_table_allows() {
    assert_none(&forbidden_names(&workspace(), &crates(), &third_party()));
}

#[test]
fn core_07_the_core_depends_on_no_crate_of_ours_and_does_no_io() {
    let packages = workspace();
    let core = packages.iter().find(|package| package.name == "robota-core").unwrap();
    assert_none(&impure_core(core));
    let table = crates();
    let row = table.iter().find(|row| row.name == "robota-core").unwrap();
    assert_eq!(row.allowed, [""; 0]);
}

#[test]
fn core_07_the_core_names_no_vendor() {
    let tree = xtask::tree::Tree::load(&xtask::tree::root()).unwrap();
    let found: Vec<_> =
        xtask::tidy::vendors::check(&tree).iter().map(ToString::to_string).collect();
    assert_none(&found);
}

// ---------------------------------------------------------------- that the rules can fail

fn package(name: &str, edges: &[(&str, bool, &[&str])]) -> Package {
    let dependency = |(name, dev, features): &(&str, bool, &[&str])| Dependency {
        name: (*name).to_owned(),
        dev: *dev,
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        defaults: false,
    };
    Package { name: name.to_owned(), dependencies: edges.iter().map(dependency).collect() }
}

#[test]
fn an_edge_that_is_not_in_the_table_is_reported_with_its_line() {
    let table = crates();
    let line = table.iter().find(|row| row.name == "robota-policy").unwrap().line;
    let wrong =
        forbidden_edges(&[package("robota-policy", &[("robota-exec", false, &[])])], &table);
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].starts_with("robota-policy -> robota-exec is not allowed"), "{}", wrong[0]);
    assert!(wrong[0].contains(&format!("architecture.rs:{line} ")), "{}", wrong[0]);
    let mut lines: Vec<_> = table.iter().map(|row| row.line).collect();
    lines.dedup();
    assert_eq!(lines.len(), table.len(), "each row knows its own line");
}

#[test]
fn the_testkit_is_for_tests() {
    let uses = |dev| forbidden_edges(&[package("robota-store", &[(TESTKIT, dev, &[])])], &crates());
    assert_eq!(uses(true).len(), 0);
    assert_eq!(uses(false).len(), 1);
    let other = package("robota-policy", &[("robota-exec", true, &[])]);
    assert_eq!(forbidden_edges(&[other], &crates()).len(), 1);
}

#[test]
fn a_third_party_out_of_place_is_reported() {
    let names = |who: &str, what: &str, dev| {
        forbidden_names(&[package(who, &[(what, dev, &[])])], &crates(), &third_party())
    };
    assert_eq!(names("robota-policy", "tree-sitter-bash", false).len(), 0);
    assert_eq!(names("robota-cli", "tree-sitter-bash", false).len(), 1);
    assert_eq!(names("robota-core", "serde", false).len(), 0);
    assert_eq!(names("robota-core", "insta", false).len(), 1);
    assert_eq!(names("robota-core", "insta", true).len(), 0);
    let unknown = names("robota-core", "left-pad", true);
    assert!(unknown[0].contains("nobody may name yet"), "{}", unknown[0]);
}

#[test]
fn a_core_with_files_is_reported() {
    assert_eq!(impure_core(&package("robota-core", &[("tokio", false, &["rt", "sync"])])).len(), 0);
    assert_eq!(impure_core(&package("robota-core", &[("tokio", false, &["rt", "fs"])])).len(), 1);
    assert_eq!(impure_core(&package("robota-core", &[("tokio", true, &["fs"])])).len(), 0);
    assert_eq!(impure_core(&package("robota-core", &[("tempfile", false, &[])])).len(), 1);
}

#[test]
fn a_crate_without_a_row_and_a_row_without_a_crate_are_reported() {
    let table = [row("robota-core", &[])];
    assert_eq!(unknown_crates(&[package("robota-core", &[])], &table).len(), 0);
    assert_eq!(unknown_crates(&[package("robota-new", &[])], &table).len(), 2);
}

#[test]
fn a_table_with_a_way_up_is_reported() {
    let table = [row("a", &["b"]), row("b", &["a"])];
    assert_eq!(upward_rows(&table).len(), 1);
}
