//! Makes a machine ready for the tests, or says what is missing. A test that needs a program
//! adds one line to [`NEEDED`].

use anyhow::{Result, bail};

use crate::{sh, tree};

/// The programs the tests start, and the Debian package each is in.
const NEEDED: &[(&str, &str)] = &[("bash", "bash"), ("git", "git")];

/// What some tests start that say so and go on without it: the program, where it may be besides the
/// `PATH`, and its Debian package. Without a network the rest must work all the same.
const WANTED: &[Wanted] = &[
    Wanted {
        program: "initdb",
        folders: Some("/usr/lib/postgresql"),
        package: "postgresql",
        without: "the tests of the PostgreSQL store say NOT TESTED",
    },
    Wanted {
        program: "bwrap",
        folders: None,
        package: "bubblewrap",
        without: "the tests of the sandbox that hide files in the workspace say SKIPPED",
    },
    Wanted {
        program: "rg",
        folders: None,
        package: "ripgrep",
        without: "the bench of Grep and Glob has nothing to be compared with",
    },
];

/// A program that tests can go on without.
struct Wanted {
    program: &'static str,
    /// It may be in the `bin` of any folder in here: one for each version.
    folders: Option<&'static str>,
    package: &'static str,
    /// What happens without it.
    without: &'static str,
}

impl Wanted {
    fn is_here(&self) -> bool {
        let folders = self.folders.and_then(|folders| std::fs::read_dir(folders).ok());
        let versions = folders.into_iter().flatten().flatten();
        sh::which(self.program).is_some()
            || versions
                .into_iter()
                .any(|version| version.path().join("bin").join(self.program).is_file())
    }
}

/// The parts of the toolchain the checks use; the smallest rustup profile has neither.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// What can be done about missing programs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Machine {
    /// Packages can be installed.
    DebianRoot,
    /// They can, by somebody else.
    DebianUser,
    /// We do not know how.
    Other,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<&'static str>),
    Tell(String),
}

/// Installs what is missing, or fails with what to install.
pub fn run() -> Result<()> {
    components()?;
    let machine = machine();
    match plan(&missing(NEEDED, |program| sh::which(program).is_some()), machine) {
        Plan::Nothing => {}
        Plan::Tell(advice) => bail!("{advice}"),
        Plan::Install(packages) => install(&packages)?,
    }
    for wanted in WANTED.iter().filter(|wanted| !wanted.is_here()) {
        if let Err(reason) = get(wanted, machine) {
            println!("setup: {} is missing ({reason:#}): {}", wanted.package, wanted.without);
        }
    }
    println!("setup: everything the tests need is here");
    Ok(())
}

/// Installs what is wanted, if that can be done.
fn get(wanted: &Wanted, machine: Machine) -> Result<()> {
    match plan(&[(wanted.program, wanted.package)], machine) {
        Plan::Nothing => {}
        Plan::Tell(advice) => bail!("{advice}"),
        Plan::Install(packages) => apt_get(&packages)?,
    }
    if !wanted.is_here() {
        bail!("`{}` is not there after installing it", wanted.program);
    }
    Ok(())
}

fn components() -> Result<()> {
    let root = tree::root();
    let works = |name: &str| sh::succeeds(&root, &["cargo", name, "--version"]);
    let missing = missing(COMPONENTS, works);
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(_, component)| *component).collect();
    if sh::which("rustup").is_none() {
        bail!("install {} for this Rust toolchain", names.join(" and "));
    }
    sh::run(&root, &[&["rustup", "component", "add"], names.as_slice()].concat())
}

fn machine() -> Machine {
    let root = tree::root();
    let debian = std::path::Path::new("/etc/debian_version").exists();
    match (debian && sh::which("apt-get").is_some(), sh::read(&root, &["id", "-u"])) {
        (false, _) => Machine::Other,
        (true, Ok(id)) if id.trim() == "0" => Machine::DebianRoot,
        (true, _) => Machine::DebianUser,
    }
}

fn missing(
    needed: &[(&'static str, &'static str)],
    present: impl Fn(&str) -> bool,
) -> Vec<(&'static str, &'static str)> {
    needed.iter().copied().filter(|(program, _)| !present(program)).collect()
}

fn plan(missing: &[(&'static str, &'static str)], machine: Machine) -> Plan {
    if missing.is_empty() {
        return Plan::Nothing;
    }
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let mut packages: Vec<&'static str> = missing.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    let (programs, list) = (programs.join(", "), packages.join(" "));
    match machine {
        Machine::DebianRoot => Plan::Install(packages),
        Machine::DebianUser => Plan::Tell(format!(
            "not on the PATH: {programs}; install with: sudo apt-get install -y {list}"
        )),
        Machine::Other => Plan::Tell(format!(
            "not on the PATH: {programs}; install them with this system's package manager \
             (their Debian packages: {list})"
        )),
    }
}

fn apt_get(packages: &[&'static str]) -> Result<()> {
    let root = tree::root();
    let env = [("DEBIAN_FRONTEND", "noninteractive")];
    sh::run_with(&root, &["apt-get", "update", "-q"], &env)?;
    let install = ["apt-get", "install", "-y", "-q", "--no-install-recommends"];
    sh::run_with(&root, &[install.as_slice(), packages].concat(), &env)
}

fn install(packages: &[&'static str]) -> Result<()> {
    apt_get(packages)?;
    let missing = missing(NEEDED, |program| sh::which(program).is_some());
    if let Plan::Tell(advice) = plan(&missing, Machine::Other) {
        bail!("after installing, {advice}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
