//! Starts other programs. No other module of the build steps does.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

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
    command.envs(env.iter().copied()).stdin(Stdio::null());
    Ok(command)
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// Runs a command on this terminal, with further environment variables. Fails if it fails.
pub fn run(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let line = words.join(" ");
    println!("$ {line}");
    let status = spawn(command(dir, words, env)?.stdin(Stdio::inherit()))?.wait()?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// Returns the standard output and the standard error of a command. Fails if the command fails.
pub fn read(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<(String, String)> {
    let mut command = command(dir, words, env)?;
    let output =
        spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    ensure!(output.status.success(), "`{}` failed: {}", words.join(" "), stderr.trim());
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
    let child = spawn(command(dir, words, env)?.stdout(Stdio::null()).stderr(Stdio::null()))?;
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
    /// The first line it printed; empty if it runs on a terminal.
    pub first_line: String,
}

impl Running {
    /// Starts the program with further variables, and waits for its first line.
    pub fn start(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let child = spawn(command(dir, words, env)?.stdout(Stdio::piped()))?;
        let mut running = Self { child, first_line: String::new() };
        if let Some(out) = running.child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut running.first_line)?;
        }
        running.first_line.truncate(running.first_line.trim_end().len());
        ensure!(!running.first_line.is_empty(), "`{}` ended without output", words.join(" "));
        Ok(running)
    }

    /// Starts the program with a terminal as its standard input and output.
    pub fn on_terminal(
        dir: &Path,
        words: &[&str],
        env: &[(&str, &str)],
        terminal: OwnedFd,
    ) -> Result<Self> {
        let mut command = command(dir, words, env)?;
        command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?);
        Ok(Self { child: spawn(command.stderr(terminal))?, first_line: String::new() })
    }

    /// Returns the memory of the program that this process has, in KiB: a field of a file of `/proc`.
    pub fn memory_kib(&self, file: &str, field: &str) -> Result<u64> {
        let file = format!("/proc/{}/{file}", self.child.id());
        let text = std::fs::read_to_string(&file).with_context(|| file.clone())?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let value = line.and_then(|line| line.split_whitespace().next());
        value.with_context(|| format!("{file} has no {field}"))?.parse().context(file)
    }

    /// Returns the CPU time of all threads that the program has or had.
    pub fn cpu(&self) -> Result<Duration> {
        let pid = libc::pid_t::try_from(self.child.id())?;
        let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        #[expect(unsafe_code, reason = "no library offers the clock of another process")]
        // SAFETY: both pointers are to live values of the types the calls fill in.
        let failed = unsafe {
            libc::clock_getcpuclockid(pid, &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        if failed {
            bail!("process {pid} has no clock: it has ended");
        }
        Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
