//! Starts other programs. No other module of the build steps does.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

fn command(dir: &Path, words: &[&str]) -> Result<Command> {
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
    Ok(command)
}

/// Runs a command on this terminal, with further environment variables. Fails if it fails.
pub fn run(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let line = words.join(" ");
    println!("$ {line}");
    let status = command(dir, words)?.envs(env.iter().copied()).status();
    let status = status.with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Returns the standard output and the standard error of a command. Fails if the command fails.
pub fn read(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<(String, String)> {
    let line = words.join(" ");
    let output = command(dir, words)?.envs(env.iter().copied()).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start `{line}`"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        bail!("`{line}` failed: {}", stderr.trim());
    }
    Ok((stdout, stderr))
}

/// Returns whether a command succeeds. A command that does not exist does not.
#[must_use]
pub fn succeeds(dir: &Path, words: &[&str]) -> bool {
    read(dir, words, &[]).is_ok()
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

/// What a program used.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time of the program and of the kernel for it, with the children it waited for.
    pub cpu: Duration,
    /// Its peak memory, in KiB.
    pub peak_kib: u64,
    /// Whether it exited with code 0.
    pub success: bool,
}

/// Runs a command without output and returns what it used, for any exit code.
pub fn measure(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<Spent> {
    let start = Instant::now();
    let mut command = command(dir, words)?;
    command.envs(env.iter().copied()).stdin(Stdio::null());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.with_context(|| format!("cannot start `{}`", words.join(" ")))?;
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

/// Starts a command with a terminal as its standard input and output.
pub fn start_on_terminal(
    dir: &Path,
    words: &[&str],
    env: &[(&str, &str)],
    terminal: OwnedFd,
) -> Result<Child> {
    let mut command = command(dir, words)?;
    command.envs(env.iter().copied()).stdin(terminal.try_clone()?).stdout(terminal.try_clone()?);
    let child = command.stderr(terminal).spawn();
    child.with_context(|| format!("cannot start `{}`", words.join(" ")))
}

/// Waits for a child. The kernel reports the usage of a child only to this call.
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

/// A program that runs until this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// The first line it printed.
    pub first_line: String,
}

impl Running {
    /// Starts the program with further variables, and waits for its first line.
    pub fn start(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let line = words.join(" ");
        let mut command = command(dir, words)?;
        command.envs(env.iter().copied()).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("cannot start `{line}`"))?;
        let mut first_line = String::new();
        if let Some(out) = child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut first_line)?;
        }
        let running = Self { child, first_line: first_line.trim().to_owned() };
        if running.first_line.is_empty() {
            bail!("`{line}` ended without output");
        }
        Ok(running)
    }

    /// Returns the memory that the program has written to and shares with no other, in KiB: heap, stacks
    /// and relocated data, without the pages of its file that the system can drop.
    pub fn private_kib(&self) -> Result<u64> {
        let file = format!("/proc/{}/smaps_rollup", self.child.id());
        let text = std::fs::read_to_string(&file).with_context(|| file.clone())?;
        let line = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:"));
        let value = line.and_then(|line| line.split_whitespace().next());
        value.with_context(|| format!("{file} has no Private_Dirty"))?.parse().context(file)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
