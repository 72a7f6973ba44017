//! Replays the committed corpora: what the fuzzer found once stays mended, on machines without
//! a fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

#[allow(unreachable_pub, reason = "it is public in the crate it is written for")]
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

fn folder() -> PathBuf {
    xtask::tree::root().join("fuzz")
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// How many inputs were replayed, and the names of those that failed.
fn replay(corpus: &Path, target: fn(&[u8])) -> (usize, Vec<String>) {
    let inputs = names(corpus);
    let failed = inputs.iter().filter(|input| {
        let data = std::fs::read(corpus.join(input)).unwrap();
        catch_unwind(|| target(&data)).is_err()
    });
    (inputs.len(), failed.cloned().collect())
}

#[test]
fn every_committed_input_passes_its_target() {
    for (name, target) in fuzz::TARGETS {
        let corpus = folder().join("corpus").join(name);
        let (count, failed) = replay(&corpus, *target);
        assert!(count > 0, "no inputs in {}", corpus.display());
        assert!(failed.is_empty(), "target {name} fails on {failed:?} of {}", corpus.display());
    }
}

#[test]
fn targets_files_corpora_and_manifest_agree() {
    let listed: BTreeSet<String> =
        fuzz::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let files = names(&folder().join("fuzz_targets"));
    let files: BTreeSet<String> =
        files.iter().map(|file| file.strip_suffix(".rs").unwrap().to_owned()).collect();
    assert_eq!(listed, files, "TARGETS and fuzz/fuzz_targets/");
    assert_eq!(listed, names(&folder().join("corpus")), "TARGETS and fuzz/corpus/");
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    for name in &listed {
        let path = format!("path = \"fuzz_targets/{name}.rs\"");
        assert!(manifest.contains(&path), "fuzz/Cargo.toml has no [[bin]] {name}");
    }
}

#[test]
fn a_failing_input_is_named() {
    let corpus = folder().join("corpus/mode");
    let (count, failed) = replay(&corpus, |data| assert_ne!(data, b"plan"));
    assert!(count > 1);
    assert_eq!(failed, ["plan"]);
}
