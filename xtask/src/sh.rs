//! Starts other programs. No other module of the build steps does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

fn command(dir: &Path, line: &str, env: &[(&str, &str)]) -> Command {
    let mut words = line.split(' ');
    #[expect(clippy::disallowed_methods, reason = "the only place that starts child processes")]
    let mut command = Command::new(words.next().unwrap_or_default());
    command.current_dir(dir).args(words);
    // `cargo run` sets these. Because of them build scripts, and all that needs them, would be built again.
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.envs(env.iter().copied());
    command
}

/// Runs a command on this terminal, with further environment variables. Fails if it fails. The words of the
/// command are separated by single spaces, so none of them can have one.
pub fn run(dir: &Path, line: &str, env: &[(&str, &str)]) -> Result<()> {
    println!("$ {line}");
    let status = command(dir, line, env).status().with_context(|| line.to_owned())?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// Returns whether a command succeeds; its output is not shown. A command that does not exist does not.
pub fn succeeds(dir: &Path, line: &str) -> bool {
    let mut command = command(dir, line, &[]);
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Finds a program on the `PATH`.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = var("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Reads an environment variable.
pub fn var(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
    std::env::var(name).ok()
}
