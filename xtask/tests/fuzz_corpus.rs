//! Replays the committed fuzz corpora, so that a fixed input stays fixed also without a fuzzer.
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

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the number of inputs and the names of those that failed.
fn replay(corpus: &Path, target: fn(&[u8])) -> (usize, Vec<String>) {
    let inputs = names(corpus);
    let fails = |input: &&String| {
        let data = std::fs::read(corpus.join(input)).unwrap();
        catch_unwind(|| target(&data)).is_err()
    };
    (inputs.len(), inputs.iter().filter(fails).cloned().collect())
}

#[test]
fn every_committed_input_passes_its_target() {
    for (name, target) in fuzz::TARGETS {
        let (count, failed) = replay(&folder().join("corpus").join(name), *target);
        assert!(count > 0 && failed.is_empty(), "target {name} fails on {failed:?} of {count}");
    }
    let (_, failed) = replay(&folder().join("corpus/mode"), |data| assert_ne!(data, b"plan"));
    assert_eq!(failed, ["plan"], "a failing input is named");
}

#[test]
fn targets_files_corpora_and_manifest_agree() {
    let listed: BTreeSet<_> = fuzz::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let files = names(&folder().join("fuzz_targets"));
    let files: BTreeSet<_> = files.iter().map(|file| file.replace(".rs", "")).collect();
    assert_eq!(listed, files, "TARGETS and fuzz/fuzz_targets/");
    assert_eq!(listed, names(&folder().join("corpus")), "TARGETS and fuzz/corpus/");
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    for name in &listed {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
