//! Prepares a machine for the tests, or says what is missing. A test that needs a program adds one
//! line to `NEEDED`, or to `OPTIONAL` when the test can be skipped without it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::sh;

/// Programs, and the Debian package of each.
type Programs = [(&'static str, &'static str)];

/// The programs that the tests start.
const NEEDED: &Programs = &[("bash", "bash"), ("git", "git")];

/// The programs without which some tests are skipped. `initdb` is in a folder per version and not
/// on the `PATH`. Where nothing may be skipped, a missing one is an error.
const OPTIONAL: &Programs = &[
    ("initdb", "postgresql"),
    ("bwrap", "bubblewrap"),
    ("pip3", "python3-pip"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("tmux", "tmux"),
];

/// Installs what is missing, or fails with what to install.
pub fn run(root: &Path) -> Result<()> {
    // The smallest rustup profile has neither.
    let tools = ["cargo fmt --version", "cargo clippy --version"];
    if !tools.iter().all(|tool| sh::succeeds(root, tool)) {
        ensure!(sh::which("rustup").is_some(), "install rustfmt and clippy for this toolchain");
        sh::run(root, "rustup component add rustfmt clippy", &[])?;
    }
    install(root, NEEDED)?;
    if let Err(error) = install(root, OPTIONAL) {
        // `robota_testkit::requires` follows the same rule.
        let is_set = |name, value| sh::var(name).as_deref() == Some(value);
        if is_set("CI", "true") || is_set("ROBOTA_TEST_ALL", "1") {
            return Err(error.context("no test may be skipped (CI=true or ROBOTA_TEST_ALL=1)"));
        }
        println!("setup: {error:#}; the tests that need it are skipped");
    }
    println!("setup: done");
    Ok(())
}

/// Installs the packages of the programs that are missing, where that is possible.
fn install(root: &Path, table: &Programs) -> Result<()> {
    let packages = missing(table, is_installed);
    if packages.is_empty() {
        return Ok(());
    }
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    ensure!(is_root && sh::which("apt-get").is_some(), advice(&packages));
    let env = [("DEBIAN_FRONTEND", "noninteractive")];
    sh::run(root, "apt-get update -q", &env)?;
    let apt = "apt-get install -y -q --no-install-recommends";
    sh::run(root, &format!("{apt} {}", packages.join(" ")), &env)?;
    let packages = missing(table, is_installed);
    ensure!(packages.is_empty(), "still missing after the installation: {}", packages.join(" "));
    Ok(())
}

/// Returns the packages whose program is not there.
fn missing(table: &Programs, present: impl Fn(&str) -> bool) -> Vec<&'static str> {
    table.iter().filter(|(program, _)| !present(program)).map(|(_, package)| *package).collect()
}

fn is_installed(program: &str) -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    sh::which(program).is_some()
        || versions.into_iter().any(|version| version.path().join("bin").join(program).is_file())
}

fn advice(packages: &[&str]) -> String {
    let list = packages.join(" ");
    format!("missing: {list}; on Debian install with: sudo apt-get install -y {list}")
}

#[cfg(test)]
mod tests;
