//! The licences, sources and bans of `deny.toml`, checked without an installed `cargo deny`, so that
//! no machine skips them. `cargo deny check advisories` needs the network and is run by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cargo_metadata::{CargoOpt, MetadataCommand};

fn read(name: &str) -> String {
    std::fs::read_to_string(xtask::tree::root().join(name)).unwrap()
}

/// Splits an expression at an operator outside of parentheses.
fn split<'a>(expression: &'a str, operator: &str) -> Vec<&'a str> {
    let depth = |text: &str| text.matches('(').count() - text.matches(')').count();
    let outside =
        expression.match_indices(operator).filter(|(at, _)| depth(&expression[..*at]) == 0);
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in outside {
        parts.push(&expression[from..at]);
        from = at + operator.len();
    }
    parts.push(&expression[from..]);
    parts
}

/// Whether an SPDX expression can be satisfied with the allowed licences.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.trim();
    match (split(expression, " OR ").as_slice(), split(expression, " AND ").as_slice()) {
        ([_], [_]) => match expression.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
            Some(inner) => is_allowed(inner, allowed),
            None => allowed.contains(&expression),
        },
        ([_], all) => all.iter().all(|part| is_allowed(part, allowed)),
        (any, _) => any.iter().any(|part| is_allowed(part, allowed)),
    }
}

#[test]
fn every_third_party_has_an_allowed_licence_and_source_and_is_not_banned() {
    let deny: toml::Table = read("deny.toml").parse().unwrap();
    let texts = |value: &'static str, key: &'static str| -> Vec<String> {
        let list = deny[value][key].as_array().unwrap().iter();
        list.map(|it| it.as_str().unwrap_or_else(|| it["crate"].as_str().unwrap()).to_owned())
            .collect()
    };
    let (allowed, banned) = (texts("licenses", "allow"), texts("bans", "deny"));
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let lock = read("Cargo.lock");
    for name in banned {
        assert!(!lock.contains(&format!("name = \"{name}\"\n")), "{name} is banned by deny.toml");
    }
    for line in lock.lines().filter(|line| line.starts_with("source = ")) {
        let source = line.trim_start_matches("source = \"registry+").trim_end_matches('"');
        assert!(
            texts("sources", "allow-registry").iter().any(|allowed| allowed == source),
            "{line}"
        );
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
        ("GPL-3.0 OR (ISC AND BSD-3-Clause)", false),
        ("Apache-2.0 WITH LLVM-exception OR Zlib", true),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}
