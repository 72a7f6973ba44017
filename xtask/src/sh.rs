//! The one place of these build steps that starts other programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command, with arguments, that runs in `dir`.
fn command(dir: &Path, words: &[&str]) -> Result<Command> {
    let (program, args) = words.split_first().context("an empty command line")?;
    #[expect(clippy::disallowed_methods, reason = "the build steps' one home for child processes")]
    let mut command = Command::new(program);
    command.current_dir(dir).args(args);
    Ok(command)
}

/// Runs a command on our own terminal; an error if it fails.
pub fn run(dir: &Path, words: &[&str]) -> Result<()> {
    run_with(dir, words, &[])
}

/// [`run`] with further environment variables.
pub fn run_with(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let line = words.join(" ");
    println!("$ {line}");
    let status = command(dir, words)?
        .envs(env.iter().copied())
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// What a command prints; an error with its stderr if it fails.
pub fn read(dir: &Path, words: &[&str]) -> Result<String> {
    let line = words.join(" ");
    let output = command(dir, words)?
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no UTF-8"))
}

/// Runs a command silently and tells whether it succeeded; one that does not exist did not.
#[must_use]
pub fn succeeds(dir: &Path, words: &[&str]) -> bool {
    command(dir, words).is_ok_and(|mut command| {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

/// Where a program is on the `PATH`.
#[must_use]
pub fn which(program: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "looking for a program is asking the PATH")]
    let path = std::env::var_os("PATH")?;
    find_in(&path, program)
}

fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests;
