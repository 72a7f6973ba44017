//! Steps that build a program of the workspace and run it: benchmarks, fuzzer, oracle, pictures.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::sh;

/// Runs the criterion benches whose name contains `filter`, or all, and then measures the program.
pub fn bench(root: &Path, filter: Option<&str>) -> Result<()> {
    let features = "robota-providers/fuzzing,robota/runtime,robota/scripted,robota/tools";
    let filter = filter.map(|filter| format!(" -- {filter}")).unwrap_or_default();
    // The program is built alone: other crates of the workspace would switch features of it on.
    let benches = "cargo bench --workspace --exclude robota-cli";
    sh::run(root, &format!("{benches} --features {features} --bench *{filter}"), &[])?;
    measure(root, "program", &[])?;
    measure(root, "allocations", &[])
}

/// Measures a group of scenarios of the program against a model on loopback, with its budget
/// (`crates/robota-cli/benches/program`). `args` are `[PROGRAM] [--only SCENARIO]`.
pub fn measure(root: &Path, group: &str, args: &[&str]) -> Result<()> {
    let (program, only) = match args {
        [rest @ .., "--only", only] => (rest, format!(" {only}")),
        rest => (rest, String::new()),
    };
    let path = |file: &str| Path::new(file).canonicalize().with_context(|| file.to_owned());
    let program = match program {
        [] => None,
        [file] => Some(path(file)?.display().to_string()),
        _ => bail!("usage: cargo xtask bench {group} [PROGRAM] [--only SCENARIO]"),
    };
    // Beside a program that is there already, no release is built.
    let profile = if program.is_some() { "quick" } else { "bench" };
    let features = if group == "allocations" { " --features count-allocations" } else { "" };
    let bench = format!("cargo bench --profile {profile} --package robota-cli{features}");
    let variable = program.as_deref().map(|file| ("ROBOTA_BENCH_PROGRAM", file));
    sh::run(root, &format!("{bench} --bench program -- {group}{only}"), variable.as_slice())
}

/// Fuzzes each target, or the named one, for this many seconds, on stable Rust. The fuzzer writes new inputs
/// to a scratch folder; an input that should be kept is moved to the committed corpus by the developer.
pub fn fuzz(root: &Path, secs: &str, target: Option<&str>) -> Result<()> {
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(root.join("fuzz/fuzz_targets"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        targets.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    targets.sort();
    let all = targets.join(", ");
    targets.retain(|name| target.is_none_or(|target| target == name));
    let named = target.unwrap_or(&all);
    ensure!(!targets.is_empty(), "no fuzz target `{named}`; there are: {all}");
    if !sh::succeeds(root, "cargo fuzz --version") {
        sh::run(root, "cargo install cargo-fuzz --locked", &[])?;
    }
    for name in &targets {
        let [scratch, corpus] = ["fuzz/target", "fuzz"].map(|dir| format!("{dir}/corpus/{name}"));
        std::fs::create_dir_all(root.join(&scratch)).with_context(|| scratch.clone())?;
        // Without a sanitizer no nightly toolchain is needed.
        let fuzz = format!("cargo fuzz run -s none {name} {scratch} {corpus}");
        let failed = format!(
            "target {name}: the input is in fuzz/artifacts/{name}; fix the code, then move the input to \
             {corpus}, where a test replays it"
        );
        sh::run(root, &format!("{fuzz} -- -max_total_time={secs}"), &[]).context(failed)?;
    }
    println!("fuzz: {named} for {secs} s each, no failure");
    Ok(())
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
        let number = pair.get(1).filter(|value| value.parse::<u64>().is_ok());
        Ok((name, *number.with_context(|| format!("{} needs a number", pair[0]))?))
    };
    args.chunks(2).map(variable).collect()
}

/// Draws the pictures of the terminal program whose name contains `part`.
pub fn pictures(root: &Path, part: &str) -> Result<()> {
    test(root, "robota-cli --test program", "pictures::pictures", &[("ROBOTA_PICTURE", part)])
}

/// Runs one test of a crate, also an ignored one.
fn test(root: &Path, target: &str, name: &str, env: &[(&str, &str)]) -> Result<()> {
    let cargo = format!("cargo test --profile quick --package {target}");
    sh::run(root, &format!("{cargo} -- --exact {name} --nocapture --include-ignored"), env)
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
