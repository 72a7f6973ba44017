//! Single tests of other crates: the oracle, for as long as its arguments say, and the test that draws the
//! pictures.

use std::path::Path;

use anyhow::{Result, bail};

use crate::sh;

/// Runs one test of a crate, also an ignored one.
fn test(root: &Path, target: &str, name: &str, env: &[(&str, &str)]) -> Result<()> {
    let cargo = format!("cargo test --profile quick --package {target}");
    sh::run(root, &format!("{cargo} -- --exact {name} --nocapture --include-ignored"), env)
}

/// Runs the oracle of the permission policy: what the policy calls read-only is executed and must have no
/// effect. `args` are `--secs N`, `--count N` and `--seed S`, in any order.
pub fn oracle(root: &Path, args: &[&str]) -> Result<()> {
    let name = "what_is_called_read_only_has_no_effect";
    test(root, "robota-exec --test oracle", name, &variables(args)?)
}

/// Returns the variables that configure the oracle.
fn variables<'a>(args: &[&'a str]) -> Result<Vec<(&'static str, &'a str)>> {
    let variable = |pair: &[&'a str]| {
        let name = match pair[0] {
            "--secs" => "ROBOTA_ORACLE_SECS",
            "--count" => "ROBOTA_ORACLE_COUNT",
            "--seed" => "ROBOTA_ORACLE_SEED",
            _ => bail!("usage: cargo xtask oracle [--secs N] [--seed S] [--count N]"),
        };
        match pair.get(1) {
            Some(value) if value.parse::<u64>().is_ok() => Ok((name, *value)),
            _ => bail!("{} needs a number", pair[0]),
        }
    };
    args.chunks(2).map(variable).collect()
}

/// Draws the pictures of the terminal program whose name contains `part`.
pub fn pictures(root: &Path, part: &str) -> Result<()> {
    let name = "pictures::pictures";
    test(root, "robota-cli --test program", name, &[("ROBOTA_PICTURE", part)])
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
