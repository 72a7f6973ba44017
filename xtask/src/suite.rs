//! `cargo xtask test`: everything that must hold before a change lands, cheapest first. It stops
//! at the first step that fails; the tools' own output passes through untouched.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{generate, setup, sh, tidy};

type Step<'a> = (&'static str, Box<dyn FnOnce() -> Result<()> + 'a>);

/// Runs every step.
pub fn run(root: &Path) -> Result<()> {
    let nextest = sh::succeeds(root, &["cargo", "nextest", "--version"]);
    let deny = sh::succeeds(root, &["cargo", "deny", "--version"]);
    run_all(steps(root, nextest, deny))
}

fn steps(root: &Path, nextest: bool, deny: bool) -> Vec<Step<'_>> {
    let cargo = |words: &'static str| -> Box<dyn FnOnce() -> Result<()> + '_> {
        Box::new(move || sh::run(root, &words.split(' ').collect::<Vec<_>>()))
    };
    let mut steps: Vec<Step<'_>> = vec![
        ("setup", Box::new(setup::run)),
        ("fmt", cargo("cargo fmt --all --check")),
        ("tidy", Box::new(|| tidy::run(root))),
        ("gen --check", Box::new(|| generate::check(root))),
    ];
    if deny {
        // Not the advisories: they come from the network, and news must not fail old commits.
        steps.push(("deny", cargo("cargo deny check bans licenses sources")));
    }
    let tests = if nextest {
        "cargo nextest run --workspace --all-features --cargo-profile quick"
    } else {
        "cargo test --workspace --all-features --profile quick --tests"
    };
    steps.extend([
        (
            "clippy",
            cargo(
                "cargo clippy --workspace --all-targets --all-features --profile quick -- -D warnings",
            ),
        ),
        ("tests", cargo(tests)),
        ("doc tests", cargo("cargo test --workspace --all-features --profile quick --doc")),
    ]);
    steps
}

fn run_all(steps: Vec<Step<'_>>) -> Result<()> {
    let (count, start) = (steps.len(), Instant::now());
    for (number, (name, step)) in (1..).zip(steps) {
        println!("==> {name} ({number} of {count})");
        let begun = Instant::now();
        if let Err(error) = step() {
            println!("==> {name}: FAILED after {}", seconds(begun.elapsed()));
            bail!("test: step {number} of {count}, {name}, FAILED: {error:#}");
        }
        println!("==> {name}: ok in {}", seconds(begun.elapsed()));
    }
    println!("xtask test: all {count} steps passed in {}", seconds(start.elapsed()));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests;
