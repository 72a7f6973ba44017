//! Finds out whether a process of this machine still runs. A new writer need not wait for a lease
//! to expire if the process that held it crashed on the same machine.
//!
//! A process is identified by the boot id of its machine, its PID namespace, its PID and its start
//! time. So a reused PID, another container and another machine are distinguished.

use std::fs;

/// Identifies this process; none if the kernel does not provide the facts.
pub(crate) fn this_process() -> Option<String> {
    let pid = std::process::id();
    Some(format!("{}/{pid}/{}", boot_and_namespace()?, start_time(pid)?))
}

/// Returns whether that process ran on this machine and has exited. Returns false if in doubt.
// The file store has locks of the kernel, which end with their process.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn has_exited(process: &str) -> bool {
    let Some(boot_and_namespace) = boot_and_namespace() else { return false };
    let Some(rest) =
        process.strip_prefix(&*boot_and_namespace).and_then(|rest| rest.strip_prefix('/'))
    else {
        return false;
    };
    let Some((pid, start)) = rest.split_once('/') else { return false };
    let Ok(pid) = pid.parse() else { return false };
    start_time(pid).is_none_or(|now| now != start)
}

/// Returns the boot id of this machine and the PID namespace of this process.
fn boot_and_namespace() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), space.display()))
}

/// Returns when a process started, in ticks since the boot; none if there is no such process, or it
/// is a zombie.
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| start.to_owned())
}

#[cfg(test)]
mod tests;
