//! Benchmarks, as ratios. A time says much about the machine and little about the code, so
//! every number is printed beside one that was measured in the same run, and none is asserted.
//!
//! Two parts: the criterion benches of the workspace, each compared within its group (to the
//! bench named `baseline`, else to the first value of its function: 100,000 events to 10), per
//! element where the bench declares a throughput; and the program itself against a model on
//! loopback, beside its budget.

mod criterion;
mod program;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::sh;
use crate::tree::{Tree, package};

/// Runs the benches whose name contains `filter`, or all, and then the program.
pub fn run(root: &Path, filter: Option<&str>) -> Result<()> {
    let target = target_folder(root)?;
    let tree = Tree::load(root)?;
    let results = target.join("criterion");
    let since = criterion::mark(&results)?;
    let benches = benches(&tree);
    for (package, bench) in &benches {
        let mut words = vec!["cargo", "bench", "--package", package, "--bench", bench];
        words.extend(filter.iter().flat_map(|filter| ["--", *filter]));
        sh::run(root, &words)?;
    }
    if benches.is_empty() {
        println!("bench: no criterion benches in the workspace");
    }
    print!("{}", criterion::table(&criterion::read(&results, since)?));
    program::run(root, &target)
}

/// The benches of the workspace: package and name of each file in a `benches` folder.
fn benches(tree: &Tree) -> Vec<(&str, &str)> {
    tree.rust()
        .filter_map(|file| {
            let folder = package(&file.path)?;
            let bench = file.path[folder.len()..].strip_prefix("/benches/")?.strip_suffix(".rs")?;
            (!bench.contains('/')).then_some((folder.rsplit('/').next()?, bench))
        })
        .collect()
}

fn target_folder(root: &Path) -> Result<PathBuf> {
    let text = sh::read(root, &["cargo", "metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let folder = metadata["target_directory"].as_str().context("no target_directory")?;
    Ok(folder.into())
}

/// Measures the program against a model on loopback; builds both, unless `built` has them.
pub fn program(root: &Path, built: Option<&Path>) -> Result<()> {
    let target = target_folder(root)?;
    match built {
        Some(programs) => program::measure(programs, &target),
        None => program::run(root, &target),
    }
}

/// The median, in seconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    match (times.get(times.len().saturating_sub(1) / 2), times.get(times.len() / 2)) {
        (Some(below), Some(above)) => f64::midpoint(below.as_secs_f64(), above.as_secs_f64()),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests;
