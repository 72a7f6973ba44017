//! Runs the oracle of the permission policy: what it calls read-only is executed and must have no
//! effect. The oracle itself is a test of `robota-exec`.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Reads `--secs N`, `--count N` and `--seed S`, in any order, and runs the oracle.
pub fn run(root: &Path, args: &[&str]) -> Result<()> {
    let test = "what_is_called_read_only_has_no_effect";
    let words = ["cargo", "test", "--profile", "quick", "-p", "robota-exec", "--test", "oracle"];
    let words = [&words[..], &["--", "--exact", test, "--nocapture", "--include-ignored"]].concat();
    sh::run(root, &words, &variables(args)?)
}

/// Returns the variables that configure the oracle.
fn variables<'a>(args: &[&'a str]) -> Result<Vec<(&'static str, &'a str)>> {
    let mut variables = Vec::new();
    for pair in args.chunks(2) {
        let name = match pair[0] {
            "--secs" => "ROBOTA_ORACLE_SECS",
            "--count" => "ROBOTA_ORACLE_COUNT",
            "--seed" => "ROBOTA_ORACLE_SEED",
            other => bail!("{other}: usage: cargo xtask oracle --secs N [--seed S] [--count N]"),
        };
        let value = pair.get(1).filter(|value| value.parse::<u64>().is_ok());
        variables.push((name, *value.with_context(|| format!("{} needs a number", pair[0]))?));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests;
