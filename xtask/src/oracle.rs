//! Runs the oracle of the permission policy: what it calls read-only is executed and must have no
//! effect. The oracle itself is a test of `robota-exec`.

use std::path::Path;

use anyhow::{Result, bail};

use crate::sh;

/// Reads `--secs N`, `--count N` and `--seed S`, in any order, and runs the oracle.
pub fn run(root: &Path, args: &[&str]) -> Result<()> {
    let variables = variables(args)?;
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let test = "what_is_called_read_only_has_no_effect";
    let words = ["cargo", "test", "--profile", "quick", "-p", "robota-exec", "--test", "oracle"];
    sh::run(
        root,
        &[&words[..], &["--", "--exact", test, "--nocapture", "--include-ignored"]].concat(),
        &variables,
    )
}

/// Returns the variables that configure the oracle.
fn variables(args: &[&str]) -> Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for pair in args.chunks(2) {
        let [name @ ("--secs" | "--count" | "--seed"), value] = pair else {
            bail!("usage: cargo xtask oracle --secs N [--seed S] [--count N]");
        };
        if value.parse::<u64>().is_err() {
            bail!("{name} {value}: not a number");
        }
        let name = name.trim_start_matches('-').to_uppercase();
        variables.push((format!("ROBOTA_ORACLE_{name}"), (*value).to_owned()));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests;
