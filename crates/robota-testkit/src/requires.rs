//! One policy for tests that need a part of the system which may be missing.

use std::io::Write as _;

/// A part of the system that some tests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The programs of a PostgreSQL server.
    Postgres,
    /// Landlock and seccomp filters of the kernel.
    Landlock,
    /// A Landlock that restricts signals, which came later than the rest.
    LandlockSignals,
    /// bubblewrap, with the right to make user namespaces.
    Bubblewrap,
    /// Any sandbox: Landlock or bubblewrap.
    Sandbox,
    /// The official Agent SDK for Python.
    PythonAgentSdk,
    /// The official Agent SDK for TypeScript.
    TypeScriptAgentSdk,
    /// The official ACP client for Python.
    PythonAcpClient,
    /// The official ACP client for TypeScript, and a JSON Schema validator.
    TypeScriptAcpClient,
    /// The official MCP client for TypeScript, the MCP inspector and the conformance suite.
    McpPrograms,
    /// The reference MCP servers of the protocol's own repository.
    McpServers,
    /// tmux, which shows a terminal program as a user sees it.
    Tmux,
}

impl Part {
    /// Returns the name of the part, and how to get it.
    fn about(self) -> (&'static str, &'static str) {
        match self {
            Self::Postgres => ("PostgreSQL", "`cargo xtask setup` installs it"),
            Self::Landlock => (
                "Landlock",
                "it needs Linux 5.13 or newer, with Landlock and seccomp filters enabled",
            ),
            Self::LandlockSignals => {
                ("Landlock for signals", "it needs Linux 6.12 or newer, with Landlock enabled")
            }
            Self::Bubblewrap => (
                "bubblewrap",
                "`cargo xtask setup` installs it; the system must allow user namespaces",
            ),
            Self::Sandbox => {
                ("a sandbox", "enable Landlock in the kernel, or run `cargo xtask setup`")
            }
            Self::PythonAgentSdk => (
                "the Agent SDK for Python",
                "it needs python3 with pip; the first run installs the package into the cache folder",
            ),
            Self::PythonAcpClient => (
                "the ACP client for Python",
                "it needs python3 with pip; the first run installs the package into the cache folder",
            ),
            Self::TypeScriptAcpClient => (
                "the ACP client for TypeScript",
                "it needs node and npm; the first run installs the package into the cache folder",
            ),
            Self::McpPrograms => (
                "the MCP inspector and client",
                "it needs node and npm; the first run installs the packages into the cache folder",
            ),
            Self::McpServers => (
                "the reference MCP servers",
                "they need node and npm; the first run installs them into the cache folder",
            ),
            Self::Tmux => ("tmux", "`cargo xtask setup` installs it"),
            Self::TypeScriptAgentSdk => (
                "the Agent SDK for TypeScript",
                "it needs node and npm; the first run installs the package into the cache folder",
            ),
        }
    }
}

/// Returns what was found of a part. When it is missing, the test must return: it is skipped, and
/// `cargo xtask test` lists it at its end. With `CI=true` or `ROBOTA_TEST_ALL=1` nothing is skipped.
///
/// # Panics
/// When the part is missing and nothing may be skipped.
pub fn requires<T>(part: Part, found: Option<T>) -> Option<T> {
    if found.is_none() {
        let var = |name: &str| {
            #[expect(clippy::disallowed_methods, reason = "the policy is set in the environment")]
            std::env::var(name).ok()
        };
        let nothing_may_skip =
            var("CI").as_deref() == Some("true") || var("ROBOTA_TEST_ALL").as_deref() == Some("1");
        skip(part, nothing_may_skip, var("ROBOTA_SKIPPED_TESTS").as_deref());
    }
    found
}

/// Records the test that runs on this thread as skipped, in the file that `cargo xtask test` reads.
#[expect(clippy::panic, clippy::print_stdout, reason = "for tests")]
fn skip(part: Part, nothing_may_skip: bool, log: Option<&str>) {
    let (name, how) = part.about();
    if nothing_may_skip {
        panic!("{name} is missing, and CI=true or ROBOTA_TEST_ALL=1 forbid to skip: {how}");
    }
    // The test harness names the thread of a test by the test.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread of a test");
    println!("SKIPPED: {test} needs {name}: {how}");
    let Some(log) = log else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(log);
    // One write, so that lines of processes that run at the same time do not mix.
    let line = format!("{name}\t{test}\t{how}\n");
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        panic!("cannot record a skipped test in {log}: {error}");
    }
}

#[cfg(test)]
mod tests;
