//! Benchmarks: the criterion benches of the workspace, then the program itself against a model on
//! loopback, with its budget (`crates/robota-cli/benches/program`).

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Runs the benches whose name contains `filter`, or all, and then measures the program.
pub fn run(root: &Path, filter: Option<&str>) -> Result<()> {
    let features = "robota-providers/fuzzing,robota/runtime,robota/scripted,robota/tools";
    let filter = filter.map(|filter| format!(" -- {filter}")).unwrap_or_default();
    // The program is built alone: other crates of the workspace would switch features of it on.
    let benches = "cargo bench --workspace --exclude robota-cli";
    sh::run(root, &format!("{benches} --features {features} --bench *{filter}"), &[])?;
    measure(root, "program", &[])?;
    measure(root, "allocations", &[])
}

/// Measures a group of scenarios of the program. `args` are `[PROGRAM] [--only SCENARIO]`.
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
