//! Benchmarks: the criterion benches of the workspace, then the program itself against a model on
//! loopback, with its budget. A time depends on the machine more than on the code, so no number is
//! asserted; the budget is printed with the numbers.

mod program;
mod report;
mod terminal;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use program::Place;

use crate::sh;

/// Runs the benches whose name contains `filter`, or all, and then measures the program.
pub fn run(root: &Path, filter: Option<&str>) -> Result<()> {
    let features = "robota-providers/fuzzing,robota/runtime,robota/scripted,robota/tools";
    let mut words = vec!["cargo", "bench", "--workspace", "--features", features, "--bench", "*"];
    words.extend(filter.iter().flat_map(|filter| ["--", *filter]));
    sh::run(root, &words, &[])?;
    program(root, None)
}

/// Returns cargo's target folder.
pub fn target_folder(root: &Path) -> Result<PathBuf> {
    let words = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
    let metadata: serde_json::Value = serde_json::from_str(&sh::read(root, &words, &[])?.0)?;
    Ok(metadata["target_directory"].as_str().context("no target_directory")?.into())
}

/// The built programs, and cargo's target folder.
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
    pub(crate) target: PathBuf,
}

impl Programs {
    /// Takes the programs of a folder, or builds them.
    pub(crate) fn find_or_build(root: &Path, built: Option<&Path>) -> Result<Self> {
        Self::find_or(root, built, program::build)
    }

    fn find_or(
        root: &Path,
        built: Option<&Path>,
        build: impl FnOnce(&Path, &Path) -> Result<PathBuf>,
    ) -> Result<Self> {
        let target = target_folder(root)?;
        let folder = match built {
            Some(folder) => folder.canonicalize()?,
            None => build(root, &target)?,
        };
        Ok(Self { folder, target })
    }
}

/// Measures the program against a model on loopback; builds both unless `built` contains them.
pub fn program(root: &Path, built: Option<&Path>) -> Result<()> {
    program::measure(&Programs::find_or(root, built, program::build_counted)?)
}

/// Measures the terminal program on a pseudo terminal; builds it and the model unless `built`
/// contains them.
pub fn terminal(root: &Path, built: Option<&Path>) -> Result<()> {
    terminal::measure(&Programs::find_or_build(root, built)?)
}
