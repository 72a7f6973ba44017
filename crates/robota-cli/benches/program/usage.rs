//! What a program used: time, CPU time and memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::report::{by_1024, median};

/// What a program used from its start to its end.
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    /// CPU time of the program and of the kernel for it, with the children it waited for.
    pub(crate) cpu: Duration,
    pub(crate) peak_kib: u64,
    pub(crate) success: bool,
}

/// The argument with which this program measures another one.
const MEASURES: &str = "--measure";

/// Runs a program without output until it ends. Another process starts it: the kernel counts the memory of
/// the process that starts a program as the peak of the program, and this one has the model in it.
pub(crate) async fn measure(command: Command) -> Spent {
    let mut runner = Command::new(std::env::current_exe().unwrap());
    runner.arg(MEASURES).arg(command.get_program()).args(command.get_args()).env_clear();
    runner.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    runner.current_dir(command.get_current_dir().unwrap());
    let output = tokio::process::Command::from(runner).output().await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [wall, cpu, peak_kib, success] = numbers[..] else { panic!("printed {printed:?}") };
    let time = Duration::from_micros;
    Spent { wall: time(wall), cpu: time(cpu), peak_kib, success: success == 1 }
}

/// Runs the program that the arguments name and prints what it used, if `measure` started this process.
pub(crate) fn measure_if_asked() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_none_or(|word| word != MEASURES) {
        return;
    }
    let mut command = Command::new(words.next().unwrap());
    let spent = run(command.args(words).stdin(Stdio::null()));
    println!(
        "{} {} {} {}",
        spent.wall.as_micros(),
        spent.cpu.as_micros(),
        spent.peak_kib,
        u8::from(spent.success)
    );
    std::process::exit(0);
}

fn run(command: &mut Command) -> Spent {
    let start = Instant::now();
    #[expect(clippy::zombie_processes, reason = "`wait4` waits for it")]
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    #[expect(unsafe_code, reason = "the kernel reports the usage of one child only to this call")]
    // SAFETY: both pointers are to live values of the types the call fills in, zeroed is a valid value of
    // `rusage`, and the child is ours and not waited for.
    let (waited, usage) =
        unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.cast_unsigned())
            + Duration::from_micros(time.tv_usec.cast_unsigned())
    };
    Spent {
        wall: start.elapsed(),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_kib: usage.ru_maxrss.cast_unsigned(),
        success: status == 0,
    }
}

/// Returns the CPU time of all threads that a running program has or had.
pub(crate) fn cpu_of(pid: u32) -> Duration {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    #[expect(unsafe_code, reason = "no library offers the clock of another process")]
    // SAFETY: both pointers are to live values of the types the calls fill in.
    let failed = unsafe {
        libc::clock_getcpuclockid(libc::pid_t::try_from(pid).unwrap(), &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    assert!(!failed, "process {pid} has no clock: it has ended");
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}

/// Returns a field of a file of `/proc` about the memory of a running program, in MB.
pub(crate) fn memory_mb(pid: u32, file: &str, field: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    by_1024(line.unwrap().trim().trim_end_matches(" kB").parse().unwrap())
}

/// Returns the median of the times, in milliseconds.
pub(crate) fn wall(all: &[Spent]) -> f64 {
    median(&all.iter().map(|one| one.wall).collect::<Vec<_>>())
}

/// Returns the median of the CPU times, in milliseconds.
pub(crate) fn cpu(all: &[Spent]) -> f64 {
    median(&all.iter().map(|one| one.cpu).collect::<Vec<_>>())
}

/// Returns the largest peak, in MB.
pub(crate) fn peak(all: &[Spent]) -> f64 {
    by_1024(all.iter().map(|one| one.peak_kib).max().unwrap_or(0))
}
