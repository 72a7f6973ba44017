//! Fuzzing on stable Rust. What the fuzzer finds out about the input goes to a scratch folder
//! beside the committed corpus; inputs worth keeping are moved by hand.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::sh;

/// How long, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Seconds per target.
    pub secs: u32,
    /// One target, or all.
    pub target: Option<String>,
}

/// Reads `--secs N [TARGET]`.
#[must_use]
pub fn parse(args: &[&str]) -> Option<Plan> {
    let (secs, target) = match args {
        ["--secs", secs] => (secs, None),
        ["--secs", secs, target] | [target, "--secs", secs] if !target.starts_with('-') => {
            (secs, Some((*target).to_owned()))
        }
        _ => return None,
    };
    // The fuzzer reads 0 as "for ever".
    let secs = secs.parse().ok().filter(|secs| *secs > 0)?;
    Some(Plan { secs, target })
}

/// Fuzzes each target, or the one named.
pub fn run(root: &Path, plan: &Plan) -> Result<()> {
    let targets = chosen(targets(root)?, plan.target.as_deref())?;
    if !sh::succeeds(root, &["cargo", "fuzz", "--version"]) {
        sh::run(root, &["cargo", "install", "cargo-fuzz", "--locked"])?;
    }
    for target in &targets {
        let scratch = format!("fuzz/target/corpus/{target}");
        let corpus = format!("fuzz/corpus/{target}");
        std::fs::create_dir_all(root.join(&scratch)).with_context(|| scratch.clone())?;
        let seconds = format!("-max_total_time={}", plan.secs);
        // Without a sanitizer no nightly is needed.
        let fuzz = ["cargo", "fuzz", "run", "-s", "none", target];
        let words = [&fuzz[..], &[&scratch, &corpus, "--", &seconds]].concat();
        sh::run(root, &words).with_context(|| {
            format!(
                "target {target}: the input is in fuzz/artifacts/{target}; mend the code, then \
                 move it to {corpus}, where a test replays it"
            )
        })?;
    }
    println!("fuzz: {} for {} s each, nothing found", targets.join(", "), plan.secs);
    Ok(())
}

/// The names of the targets: the files in `fuzz/fuzz_targets`.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn chosen(targets: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>> {
    match wanted {
        None => Ok(targets),
        Some(name) if targets.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("no fuzz target `{name}`; there are: {}", targets.join(", ")),
    }
}

#[cfg(test)]
mod tests;
