//! The licences, sources and bans of `deny.toml`, checked without an installed `cargo deny`, so that
//! no machine skips them. The advisories need the network and are not part of the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cargo_metadata::{CargoOpt, MetadataCommand};
use spdx::{Expression, Licensee, ParseMode};

#[test]
fn every_third_party_has_an_allowed_licence_and_source_and_is_not_banned() {
    let read = |name| std::fs::read_to_string(xtask::tree::root().join(name)).unwrap();
    let deny = read("deny.toml");
    // Each entry is on its own line, and its name is the first string.
    let list = |key: &str| -> Vec<&str> {
        let (_, rest) = deny.split_once(&format!("\n{key} = [")).expect(key);
        let lines = rest.split_once(']').expect(key).0.lines();
        lines.filter_map(|line| line.split('"').nth(1)).collect()
    };
    let (allowed, banned, registries) = (list("allow"), list("deny"), list("allow-registry"));
    assert!(allowed.contains(&"MIT") && banned.contains(&"openssl-sys"), "{allowed:?} {banned:?}");
    let allowed: Vec<_> = allowed.into_iter().map(|it| Licensee::parse(it).unwrap()).collect();
    let is_allowed = |licence: &str| {
        // Lax, because older manifests separate alternatives by a slash.
        let expression = Expression::parse_mode(licence, ParseMode::LAX).unwrap();
        expression.evaluate(|needed| allowed.iter().any(|licence| licence.satisfies(needed)))
    };
    assert!(is_allowed("(GPL-3.0-only OR ISC) AND MIT") && !is_allowed("GPL-3.0-only AND MIT"));
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
        let licence = package.license.as_deref().expect(&package.name);
        assert!(is_allowed(licence), "{}: `{licence}` is not allowed", package.name);
    }
}
