//! Reads the process table from `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::OnceLock;

use robota_core::process::ProcessIdentity;
use rustix::process::Signal;

/// One process of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) start_time: u64,
    pub(crate) zombie: bool,
}

/// Reads the entry of a process; `None` if the process does not exist.
pub(crate) fn entry(pid: i32) -> Option<Entry> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `pid (name) state ppid …`. The name may contain any character, also brackets, so parsing
/// starts after the last bracket.
fn parse(stat: &str) -> Option<Entry> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // In proc(5) the state is field 3, the parent 4, the group 5 and the start time 22.
    let start_time = fields.nth(16)?.parse().ok()?;
    Some(Entry { parent, group, start_time, zombie: matches!(state, "Z" | "X") })
}

/// Returns whether a process neither handles nor ignores nor blocks this signal, so that the signal
/// ends it.
pub(crate) fn ends_by(pid: i32, signal: Signal) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let masks = ["SigBlk:", "SigIgn:", "SigCgt:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.trim(), 16).ok()
    });
    let bit = 1_u64 << (signal.as_raw() - 1);
    // A mask that cannot be read counts as a handler: the caller then waits instead of assuming the
    // end.
    masks.iter().all(|mask| mask.is_some_and(|mask| mask & bit == 0))
}

/// Returns the id of the current boot; empty if the system does not provide it.
pub(crate) fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    })
}

/// Returns the identity of a running process.
pub(crate) fn identity(pid: i32) -> Option<ProcessIdentity> {
    let entry = entry(pid)?;
    Some(ProcessIdentity {
        pid: u32::try_from(pid).ok()?,
        start_time: entry.start_time,
        boot_id: boot_id().to_owned(),
    })
}

/// Returns the ids of all processes.
fn ids() -> impl Iterator<Item = i32> {
    let names = fs::read_dir("/proc").into_iter().flatten();
    names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok())
}

/// How often the table is read again because a process ended while it was read.
const MAX_READS: usize = 50;

/// Returns all processes of a process group, without zombies.
pub(crate) fn members(group: i32) -> Vec<(i32, Entry)> {
    members_of(group, || ids().collect(), entry)
}

/// Returns the members of a group. `ids` lists processes, `entry` reads one of them.
///
/// The table is not read at once: a member can start another process after the ids were listed and
/// end before its own entry is read. The group is empty only if no process that was listed ended
/// meanwhile.
fn members_of(
    group: i32,
    mut ids: impl FnMut() -> Vec<i32>,
    mut entry: impl FnMut(i32) -> Option<Entry>,
) -> Vec<(i32, Entry)> {
    let mut known_zombies = HashSet::new();
    for _ in 0..MAX_READS {
        let mut found = Vec::new();
        let mut changed = false;
        for pid in ids() {
            match entry(pid) {
                Some(entry) if entry.group != group => {}
                // A zombie that is new may have started a process just before it ended.
                Some(entry) if entry.zombie => changed |= known_zombies.insert(pid),
                Some(entry) => found.push((pid, entry)),
                None => changed = true,
            }
        }
        if !found.is_empty() || !changed {
            return found;
        }
    }
    Vec::new()
}

/// Returns all descendants of `root`, without zombies.
pub(crate) fn descendants(root: i32) -> Vec<(i32, Entry)> {
    let mut children: HashMap<i32, Vec<(i32, Entry)>> = HashMap::new();
    for (pid, entry) in ids().filter_map(|pid| Some((pid, entry(pid)?))) {
        children.entry(entry.parent).or_default().push((pid, entry));
    }
    let mut found = Vec::new();
    let mut todo = vec![root];
    while let Some(parent) = todo.pop() {
        // Removed from the map, because the table changes while it is read and could have a cycle.
        for (pid, entry) in children.remove(&parent).unwrap_or_default() {
            todo.push(pid);
            if !entry.zombie {
                found.push((pid, entry));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
