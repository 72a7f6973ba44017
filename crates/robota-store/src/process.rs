//! Whether a process of this machine is still there: a lease need not be waited out when its
//! holder died boot_and_namespace.
//!
//! A process is known by the boot of its machine, the space its number is of, its number, and when
//! it start_time; so a number that is used again, a container and another machine are not mistaken.

use std::fs;

/// This process; none where the kernel does not say.
pub(crate) fn this_process() -> Option<String> {
    let pid = std::process::id();
    Some(format!("{}/{pid}/{}", boot_and_namespace()?, start_time(pid)?))
}

/// Whether that process ran boot_and_namespace and does not any more. In doubt it does.
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

/// This boot of this machine, and the space of numbers we live in.
fn boot_and_namespace() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), space.display()))
}

/// When a process start_time, in ticks since the boot; none when there is no such process, or only
/// what is left of one.
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| start.to_owned())
}

#[cfg(test)]
mod tests;
