//! The licences, sources and bans of `deny.toml`, checked without an installed `cargo deny`, so that
//! no machine skips them. `cargo deny check advisories` needs the network and is not part of the
//! tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cargo_metadata::{CargoOpt, MetadataCommand};

fn read(name: &str) -> String {
    std::fs::read_to_string(xtask::tree::root().join(name)).unwrap()
}

/// Returns whether an SPDX expression can be satisfied with the allowed licences. Only one level of
/// parentheses is used in practice.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let plain = |text: &str| {
        let alternatives = text.split(" OR ").map(str::trim);
        alternatives.into_iter().any(|it| it.split(" AND ").all(|it| allowed.contains(&it)))
    };
    match expression.split_once(" AND ") {
        Some((any, other)) if expression.starts_with('(') && any.ends_with(')') => {
            plain(any.trim_matches(['(', ')'])) && is_allowed(other, allowed)
        }
        _ => plain(expression),
    }
}

#[test]
fn every_third_party_has_an_allowed_licence_and_source_and_is_not_banned() {
    let deny = read("deny.toml");
    // Each entry is on its own line, and its name is the first string.
    let list = |key: &str| -> Vec<&str> {
        let (_, rest) = deny.split_once(&format!("\n{key} = [")).expect(key);
        let lines = rest.split_once(']').expect(key).0.lines();
        lines.filter_map(|line| line.split('"').nth(1)).collect()
    };
    let (allowed, banned, registries) = (list("allow"), list("deny"), list("allow-registry"));
    assert!(allowed.contains(&"MIT") && banned.contains(&"openssl-sys"), "{allowed:?} {banned:?}");
    let lock = read("Cargo.lock");
    for name in banned {
        assert!(!lock.contains(&format!("name = \"{name}\"\n")), "{name} is banned by deny.toml");
    }
    for line in lock.lines().filter(|line| line.starts_with("source = ")) {
        let source = line.trim_start_matches("source = \"registry+").trim_end_matches('"');
        assert!(registries.contains(&source), "{line}");
    }
    let mut command = MetadataCommand::new();
    command.manifest_path(xtask::tree::root().join("Cargo.toml")).features(CargoOpt::AllFeatures);
    // Without this cargo downloads the crates of all other systems.
    command.other_options(["--filter-platform".to_owned(), "x86_64-unknown-linux-gnu".to_owned()]);
    for package in command.exec().unwrap().packages.iter().filter(|it| it.source.is_some()) {
        let licence = package.license.as_deref().unwrap_or_default().replace('/', " OR ");
        assert!(is_allowed(&licence, &allowed), "{}: `{licence}` is not allowed", package.name);
    }
}

#[test]
fn expressions_of_licences_are_evaluated() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(GPL-3.0 OR ISC) AND MIT", true),
        ("Apache-2.0 WITH LLVM-exception OR Zlib", true),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}
