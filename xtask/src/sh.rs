//! The one place of these build steps that starts other programs.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// What a program cost.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// From its start to its end.
    pub wall: Duration,
    /// In the program and in the kernel for it, with whatever it started and waited for.
    pub cpu: Duration,
    /// The most memory it had at once, in KiB.
    pub peak_kib: u64,
    /// Whether it succeeded.
    pub success: bool,
}

/// Runs a command silently and tells what it cost, however it ended.
pub fn measure(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<Spent> {
    let start = Instant::now();
    let child = command(dir, words)?
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start `{}`", words.join(" ")))?;
    let (status, usage) = wait(&child)?;
    let time = |time: libc::timeval| {
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    Ok(Spent {
        wall: start.elapsed(),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        success: status == 0,
    })
}

/// What a command that succeeds writes to standard error.
pub fn complaints(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<String> {
    let line = words.join(" ");
    let output = command(dir, words)?
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("`{line}` failed: {}", text.trim());
    }
    Ok(text)
}

/// Waits for a child; the kernel tells what it used only to whoever asks in this moment.
fn wait(child: &Child) -> Result<(i32, libc::rusage)> {
    let pid = libc::pid_t::try_from(child.id())?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    #[expect(unsafe_code, reason = "no library offers the bare call")]
    // SAFETY: both pointers are to live values of the types the call fills in, zeroed is a valid
    // value of `rusage`, and the child is ours and not waited for.
    let (waited, usage) =
        unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    if waited != pid {
        return Err(std::io::Error::last_os_error()).context("cannot wait for a child");
    }
    Ok((status, usage))
}

/// A program that runs until this is dropped, and the first line it printed.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// What it said first.
    pub first_line: String,
}

impl Running {
    /// Starts it, and waits for its first line.
    pub fn start(dir: &Path, words: &[&str]) -> Result<Self> {
        let line = words.join(" ");
        let mut child = command(dir, words)?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{line}`"))?;
        let mut first_line = String::new();
        if let Some(out) = child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut first_line)?;
        }
        let first_line = first_line.trim().to_owned();
        let running = Self { child, first_line };
        if running.first_line.is_empty() {
            bail!("`{line}` ended without a word");
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already; that is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
