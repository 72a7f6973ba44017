//! Single tests of other crates: the oracle, for as long as its arguments say, and the test that draws the
//! pictures.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Runs one test of a crate, also an ignored one.
fn test(root: &Path, target: [&str; 2], name: &str, env: &[(&str, &str)]) -> Result<()> {
    let [package, binary] = target;
    let cargo = ["cargo", "test", "--profile", "quick", "--package", package, "--test", binary];
    let test = ["--", "--exact", name, "--nocapture", "--include-ignored"];
    sh::run(root, &[&cargo[..], &test[..]].concat(), env)
}

/// Runs the oracle of the permission policy: what the policy calls read-only is executed and must have no
/// effect. `args` are `--secs N`, `--count N` and `--seed S`, in any order.
pub fn oracle(root: &Path, args: &[&str]) -> Result<()> {
    let name = "what_is_called_read_only_has_no_effect";
    test(root, ["robota-exec", "oracle"], name, &variables(args)?)
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

/// Draws the pictures of the terminal program whose name contains `part`.
pub fn pictures(root: &Path, part: &str) -> Result<()> {
    test(root, ["robota-cli", "program"], "pictures::pictures", &[("ROBOTA_PICTURE", part)])
}

#[test]
fn arguments_become_variables() -> Result<()> {
    let read = variables(&["--secs", "60", "--seed", "7"])?;
    assert_eq!(read, [("ROBOTA_ORACLE_SECS", "60"), ("ROBOTA_ORACLE_SEED", "7")]);
    for wrong in [&["--secs"][..], &["--secs", "many"], &["--fast", "1"]] {
        assert!(variables(wrong).is_err(), "{wrong:?}");
    }
    Ok(())
}
