//! Benchmarks: the criterion benches of the workspace, then the program itself against a model on
//! loopback, with its budget (`crates/robota-cli/benches/program`).

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Runs the benches whose name contains `filter`, or all, and then measures the program.
pub fn run(root: &Path, filter: Option<&str>) -> Result<()> {
    let features = "robota-providers/fuzzing,robota/runtime,robota/scripted,robota/tools";
    // The program is built alone: other crates of the workspace would switch features of it on.
    let mut words = vec!["cargo", "bench", "--workspace", "--exclude", "robota-cli"];
    words.extend(["--features", features, "--bench", "*"]);
    words.extend(filter.iter().flat_map(|filter| ["--", *filter]));
    sh::run(root, &words, &[])?;
    measure(root, "program", &[])?;
    measure(root, "allocations", &[])
}

/// Measures a group of scenarios of the program. `args` are `[PROGRAM] [--only SCENARIO]`.
pub fn measure(root: &Path, group: &str, args: &[&str]) -> Result<()> {
    let (program, only) = match args {
        [] => (None, None),
        ["--only", only] => (None, Some(*only)),
        [program] => (Some(*program), None),
        [program, "--only", only] => (Some(*program), Some(*only)),
        _ => bail!("usage: cargo xtask bench {group} [PROGRAM] [--only SCENARIO]"),
    };
    let program =
        program.map(|file| Path::new(file).canonicalize().with_context(|| file.to_owned()));
    let program = program.transpose()?.map(|file| file.display().to_string());
    // Beside a program that is there already, no release is built.
    let profile = if program.is_some() { "quick" } else { "bench" };
    let mut words = vec!["cargo", "bench", "--profile", profile, "--package", "robota-cli"];
    if group == "allocations" {
        words.extend(["--features", "count-allocations"]);
    }
    words.extend(["--bench", "program", "--", group]);
    words.extend(only);
    let variable = program.as_deref().map(|file| ("ROBOTA_BENCH_PROGRAM", file));
    sh::run(root, &words, variable.as_slice())
}
