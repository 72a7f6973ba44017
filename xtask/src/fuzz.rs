//! Fuzzing on stable Rust. The fuzzer writes new inputs to a scratch folder; an input that should
//! be kept is moved to the committed corpus by the developer.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// Fuzzes each target, or the named one, for this many seconds.
pub fn run(root: &Path, secs: &str, target: Option<&str>) -> Result<()> {
    let targets = targets(root)?;
    let known = target.is_none_or(|name| targets.iter().any(|target| target == name));
    let all = targets.join(", ");
    ensure!(known, "no fuzz target `{}`; there are: {all}", target.unwrap_or_default());
    if !sh::succeeds(root, &["cargo", "fuzz", "--version"]) {
        sh::run(root, &["cargo", "install", "cargo-fuzz", "--locked"], &[])?;
    }
    for name in targets.iter().filter(|name| target.is_none_or(|target| target == *name)) {
        let scratch = format!("fuzz/target/corpus/{name}");
        let corpus = format!("fuzz/corpus/{name}");
        std::fs::create_dir_all(root.join(&scratch)).with_context(|| scratch.clone())?;
        let seconds = format!("-max_total_time={secs}");
        // Without a sanitizer no nightly toolchain is needed.
        let fuzz = ["cargo", "fuzz", "run", "-s", "none", name];
        let words = [&fuzz[..], &[&scratch, &corpus, "--", &seconds]].concat();
        sh::run(root, &words, &[]).with_context(|| {
            format!(
                "target {name}: the input is in fuzz/artifacts/{name}; fix the code, then move \
                 the input to {corpus}, where a test replays it"
            )
        })?;
    }
    println!("fuzz: {} for {secs} s each, no failure", target.unwrap_or(&all));
    Ok(())
}

/// Returns the names of the targets: the files in `fuzz/fuzz_targets`.
fn targets(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("fuzz/fuzz_targets"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
