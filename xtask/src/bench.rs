//! Benchmarks: the criterion benches of the workspace, then the program itself against a model on
//! loopback, with its budget. A time depends on the machine more than on the code, so no number is
//! asserted; the budget is printed with the numbers.

mod place;
mod program;
mod report;
mod terminal;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use place::SHORT_ANSWER;
pub(crate) use place::{MODEL, Place};
use report::Report;

use crate::sh;

/// Some measurements that can be made alone: their name, and the function that makes them.
type Scenario = (&'static str, fn(&Place, &mut Report) -> Result<()>);

/// Runs the benches whose name contains `filter`, or all, and then measures the program.
pub fn run(root: &Path, filter: Option<&str>) -> Result<()> {
    let features = "robota-providers/fuzzing,robota/runtime,robota/scripted,robota/tools";
    let mut words = vec!["cargo", "bench", "--workspace", "--features", features, "--bench", "*"];
    words.extend(filter.iter().flat_map(|filter| ["--", *filter]));
    sh::run(root, &words, &[])?;
    measure(root, "program", None, None)
}

/// Returns cargo's target folder.
pub fn target_folder(root: &Path) -> Result<PathBuf> {
    let words = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
    let metadata: serde_json::Value = serde_json::from_str(&sh::read(root, &words, &[])?.0)?;
    Ok(metadata["target_directory"].as_str().context("no target_directory")?.into())
}

/// Measures the program against a model on loopback: all scenarios, or one. `what` is `program` for
/// runs without a terminal, or `terminal`. Builds the programs unless `built` contains them.
pub fn measure(root: &Path, what: &str, built: Option<&Path>, only: Option<&str>) -> Result<()> {
    let on_terminal = what == "terminal";
    let all = if on_terminal { terminal::SCENARIOS } else { program::SCENARIOS };
    let scenarios = chosen(all, only)?;
    if built.is_none() && !on_terminal {
        place::build_counted(root)?;
    }
    let place = Place::prepare(root, built, &format!("bench-{what}"))?;
    let mut report = Report::begin()?;
    for (name, scenario) in scenarios {
        scenario(&place, &mut report).with_context(|| format!("the scenario `{name}`"))?;
    }
    report.end();
    Ok(())
}

fn chosen(all: &[Scenario], only: Option<&str>) -> Result<Vec<Scenario>> {
    let chosen = all.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let chosen: Vec<_> = chosen.copied().collect();
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    ensure!(!chosen.is_empty(), "no such scenario; there are: {}", names.join(", "));
    Ok(chosen)
}

#[cfg(test)]
mod tests;
