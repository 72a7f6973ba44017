//! Installs packages of other registries, by name and version, into a cache folder of the user. The
//! first run installs them; later runs use what is there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages that tests use together, in one folder of the cache. Its name changes with the
/// versions.
#[derive(Debug, Clone, Copy)]
pub enum Packages {
    /// The name of the folder, and packages of npm, each as `name@version`.
    Npm(&'static str, &'static [&'static str]),
    /// The name of the folder, and packages of PyPI, each as `name==version`.
    PyPi(&'static str, &'static [&'static str]),
    /// The name of the folder, and a package of PyPI and its version, whose source is installed.
    PyPiSource(&'static str, &'static str, &'static str),
}

impl Packages {
    /// The official MCP client for TypeScript, the MCP inspector and the MCP conformance suite.
    pub const MCP_PROGRAMS: Self = Self::Npm(
        "mcp-programs-2",
        &[
            "@modelcontextprotocol/sdk@1.32.2",
            "@modelcontextprotocol/inspector@2.12.0",
            "@modelcontextprotocol/conformance@0.1.16",
            // The conformance suite needs a newer Node than systems have.
            "node@22.23.3",
        ],
    );

    fn folder_name(self) -> &'static str {
        match self {
            Self::Npm(name, _) | Self::PyPi(name, _) | Self::PyPiSource(name, ..) => name,
        }
    }

    /// Returns the folder of the installed packages; installs them if they are missing. Returns none if
    /// that fails.
    #[must_use]
    pub fn folder(self) -> Option<PathBuf> {
        let home = || var("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = var("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
        let cache = cache.join("robota-test");
        std::fs::create_dir_all(&cache).ok()?;
        let folder = cache.join(self.folder_name());
        // One process installs at a time; the others wait and find the folder.
        let lock =
            std::fs::File::create(cache.join(format!("{}.lock", self.folder_name()))).ok()?;
        lock.lock().ok()?;
        if !folder.exists() {
            let unfinished = cache.join(format!("{}.unfinished", self.folder_name()));
            // A run that was ended in the middle leaves it behind.
            let _ = std::fs::remove_dir_all(&unfinished);
            // Renamed when it is complete, so that no test finds half of the packages.
            self.install(&unfinished).then(|| std::fs::rename(&unfinished, &folder).ok())??;
        }
        Some(folder)
    }

    fn install(self, folder: &Path) -> bool {
        let pip = || {
            let mut command = command("python3");
            command.args(["-m", "pip", "install", "--quiet"]).arg("--target").arg(folder);
            command
        };
        let mut command = match self {
            Self::PyPi(_, packages) => {
                let mut command = pip();
                command.args(packages);
                command
            }
            Self::PyPiSource(_, package, version) => {
                let mut command = pip();
                command.args(["--no-binary", package]).arg(format!("{package}=={version}"));
                command
            }
            Self::Npm(_, packages) => {
                let mut command = command("npm");
                command.args(["install", "--loglevel=error", "--omit=optional", "--no-audit"]);
                command.arg("--no-fund").arg("--prefix").arg(folder);
                // Node trusts its own list of certificates; behind a proxy that the system trusts
                // it needs the system's list.
                let system = Path::new("/etc/ssl/certs/ca-certificates.crt");
                if var("NODE_EXTRA_CA_CERTS").is_none() && system.exists() {
                    command.env("NODE_EXTRA_CA_CERTS", system);
                }
                command.args(packages);
                command
            }
        };
        command.status().is_ok_and(|status| status.success())
    }
}

#[expect(clippy::disallowed_methods, reason = "the cache folder is set in the environment")]
fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[expect(clippy::disallowed_methods, reason = "the only place that installs packages for tests")]
fn command(program: &str) -> Command {
    Command::new(program)
}
