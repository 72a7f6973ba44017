//! Installs packages of other registries, by name and version, into a cache folder of the user. The
//! first run installs them; later runs use what is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use robota_testkit::mock::MockServer;
use serde_json::Value;

use crate::home::Home;

/// Packages that tests use together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Packages {
    /// Packages of npm, each as `name@version`.
    Npm(&'static str, &'static [&'static str]),
    /// Packages of PyPI, each as `name==version`.
    PyPi(&'static str, &'static [&'static str]),
    /// A package of PyPI, whose source is installed.
    PyPiSource(&'static str, &'static str, &'static str),
}

impl Packages {
    fn folder_name(self) -> &'static str {
        match self {
            Self::Npm(name, _) | Self::PyPi(name, _) | Self::PyPiSource(name, ..) => name,
        }
    }

    /// Returns the folder of the installed packages; installs them if they are missing.
    pub(crate) fn folder(self) -> Option<PathBuf> {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
        let cache = cache.join("robota-test");
        std::fs::create_dir_all(&cache).ok()?;
        let folder = cache.join(self.folder_name());
        // One process installs at a time; the others wait and find the folder.
        let lock =
            std::fs::File::create(cache.join(format!("{}.lock", self.folder_name()))).ok()?;
        lock.lock().ok()?;
        if !folder.exists() {
            let unfinished = cache.join(format!("{}.unfinished", self.folder_name()));
            let _ = std::fs::remove_dir_all(&unfinished);
            self.install(&unfinished).then(|| std::fs::rename(&unfinished, &folder).ok())??;
        }
        Some(folder)
    }

    fn install(self, folder: &Path) -> bool {
        let pip = || {
            let mut command = Command::new("python3");
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
                let mut command = Command::new("npm");
                command.args(["install", "--loglevel=error", "--omit=optional", "--no-audit"]);
                command.arg("--no-fund").arg("--prefix").arg(folder);
                // Node trusts its own list of certificates; behind a proxy that the system trusts
                // it needs the system's list.
                let system = Path::new("/etc/ssl/certs/ca-certificates.crt");
                if std::env::var_os("NODE_EXTRA_CA_CERTS").is_none() && system.exists() {
                    command.env("NODE_EXTRA_CA_CERTS", system);
                }
                command.args(packages);
                command
            }
        };
        command.status().is_ok_and(|status| status.success())
    }
}

/// Returns the path of a script of the tests.
pub(crate) fn script(name: &str) -> String {
    format!("{}/tests/sdk/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a case of a script that drives the program against a mock model, and returns what it printed last:
/// one JSON object.
pub(crate) async fn run_script(
    mut command: Command,
    case: &str,
    home: &Home,
    mock: &MockServer,
) -> Value {
    command
        .arg(case)
        .env("ROBOTA", env!("CARGO_BIN_EXE_robota"))
        .env("PROJECT", home.path("project"))
        .env("HOME", home.path("home"))
        .env("ANTHROPIC_BASE_URL", mock.origin())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let seen = serde_json::from_str(text.lines().last().unwrap_or_default());
    let errors = String::from_utf8_lossy(&output.stderr);
    seen.unwrap_or_else(|error| panic!("{case}: {error}: {text} {errors}"))
}
