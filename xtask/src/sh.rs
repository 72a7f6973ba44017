//! Starts other programs. No other module of the build steps does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

fn command(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<Command> {
    let (program, args) = words.split_first().context("an empty command line")?;
    #[expect(clippy::disallowed_methods, reason = "the only place that starts child processes")]
    let mut command = Command::new(program);
    command.current_dir(dir).args(args);
    // `cargo run` sets these. Build scripts of dependencies would run again because of them, and
    // everything above would be built twice.
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.envs(env.iter().copied());
    Ok(command)
}

/// Runs a command on this terminal, with further environment variables. Fails if it fails.
pub fn run(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let line = words.join(" ");
    println!("$ {line}");
    let status = command(dir, words, env)?.status().with_context(|| line.clone())?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// Returns whether a command succeeds; its output is not shown. A command that does not exist does not.
#[must_use]
pub fn succeeds(dir: &Path, words: &[&str]) -> bool {
    command(dir, words, &[]).is_ok_and(|mut command| {
        let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        silent.status().is_ok_and(|status| status.success())
    })
}

/// Finds a program on the `PATH`.
#[must_use]
pub fn which(program: &str) -> Option<PathBuf> {
    let path = var("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Reads an environment variable.
#[must_use]
pub fn var(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
    std::env::var(name).ok()
}
