//! Fuzzing on stable Rust. The fuzzer writes new inputs to a scratch folder; an input that should
//! be kept is moved to the committed corpus by the developer.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// Fuzzes each target, or the named one, for this many seconds.
pub fn run(root: &Path, secs: &str, target: Option<&str>) -> Result<()> {
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
        let folders = format!("fuzz/target/corpus/{name} fuzz/corpus/{name}");
        let scratch = root.join(format!("fuzz/target/corpus/{name}"));
        std::fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
        // Without a sanitizer no nightly toolchain is needed.
        let fuzz = format!("cargo fuzz run -s none {name} {folders} -- -max_total_time={secs}");
        sh::run(root, &fuzz, &[]).with_context(|| {
            format!(
                "target {name}: the input is in fuzz/artifacts/{name}; fix the code, then move \
                 the input to fuzz/corpus/{name}, where a test replays it"
            )
        })?;
    }
    println!("fuzz: {named} for {secs} s each, no failure");
    Ok(())
}
