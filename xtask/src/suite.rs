//! `cargo xtask test`: every check and every test, the cheapest first. It stops at the first step
//! that fails. At the end it reports the tests that were skipped and how to run them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use crate::{setup, sh, tidy};

type Step<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

/// The variable that names the file in which `robota_testkit::requires` records skipped tests.
const SKIPPED: &str = "ROBOTA_SKIPPED_TESTS";
const CLIPPY: &str =
    "cargo clippy --workspace --all-targets --all-features --profile quick -- -D warnings";
const NEXTEST: &str = "cargo nextest run --workspace --all-features --cargo-profile quick";
const TESTS: &str = "cargo test --workspace --all-features --profile quick --tests";
const DOC_TESTS: &str = "cargo test --workspace --all-features --profile quick --doc";
const DOCUMENTATION: &str = "cargo doc --workspace --lib --no-deps --all-features --profile quick";

/// Runs every step.
pub fn run(root: &Path) -> Result<()> {
    let folder = root.join("target");
    std::fs::create_dir_all(&folder)?;
    let skipped = folder.join("skipped-tests.txt");
    std::fs::write(&skipped, "").with_context(|| skipped.display().to_string())?;
    let log = skipped.display().to_string();
    let (skips, strict) = ([(SKIPPED, log.as_str())], [("RUSTDOCFLAGS", "-D warnings")]);
    // Many tests wait for other processes and use no processor meanwhile.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let tests = match sh::succeeds(root, "cargo nextest --version") {
        true => format!("{NEXTEST} --test-threads {threads}"),
        false => TESTS.to_owned(),
    };
    let result = run_all(&[
        ("setup", &|| setup::run(root)),
        ("fmt", &|| sh::run(root, "cargo fmt --all --check", &[])),
        ("tidy", &|| tidy::run(root)),
        ("clippy", &|| sh::run(root, CLIPPY, &[])),
        ("tests", &|| sh::run(root, &tests, &skips)),
        // A link to an item that was renamed is a warning of rustdoc alone.
        ("documentation", &|| sh::run(root, DOCUMENTATION, &strict)),
        ("doc tests", &|| sh::run(root, DOC_TESTS, &skips)),
    ]);
    print!("{}", summary(&std::fs::read_to_string(&skipped)?));
    result
}

fn run_all(steps: &[Step<'_>]) -> Result<()> {
    let (count, start) = (steps.len(), Instant::now());
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    for (number, (name, step)) in (1..).zip(steps) {
        println!("==> {name} ({number} of {count})");
        let begun = Instant::now();
        let failed = |error| anyhow!("test: step {number} of {count}, {name}, FAILED: {error:#}");
        step().map_err(failed)?;
        println!("==> {name}: ok in {}", seconds(begun.elapsed()));
    }
    println!("xtask test: all {count} steps passed in {}", seconds(start.elapsed()));
    Ok(())
}

/// Returns what was skipped: one line per part of the system that was missing. Each line of `log`
/// has the part, the test, and how to get the part, separated by tabs.
fn summary(log: &str) -> String {
    let mut parts: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for line in log.lines() {
        if let [part, test, how] = line.split('\t').collect::<Vec<_>>()[..] {
            parts.entry((part, how)).or_default().insert(test);
        }
    }
    let line = |((part, how), tests): (_, BTreeSet<&str>)| {
        let names: Vec<_> = tests.into_iter().collect();
        let (count, names) = (names.len(), names.join(", "));
        format!("SKIPPED without {part}: {count} tests ({names}). {how}\n")
    };
    parts.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests;
