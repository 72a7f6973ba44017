//! Runs a program that uses this process's own terminal, such as the user's editor.

use std::path::Path;

/// Runs a program with the terminal of this process, and waits until it ends. Returns whether it
/// succeeded. It is a child of the user, not of an agent: it has the whole environment and no sandbox.
///
/// # Errors
/// If the program cannot be started.
#[expect(clippy::disallowed_methods, reason = "this crate starts all processes")]
pub fn run_in_foreground(program: &str, arguments: &[String], cwd: &Path) -> std::io::Result<bool> {
    let status = std::process::Command::new(program).args(arguments).current_dir(cwd).status()?;
    Ok(status.success())
}
