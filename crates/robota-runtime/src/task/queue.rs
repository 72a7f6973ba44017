//! The tasks that wait for a slot. Pure: the manager owns it under a lock.

use std::collections::HashMap;

use robota_core::ids::{GroupId, TaskId};
use robota_core::task::TaskKind;

/// A task that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    task: TaskId,
    kind: TaskKind,
    group: Option<GroupId>,
}

/// Gives slots to tasks: of the waiting tasks, the one whose group has the fewest running tasks is
/// next, and among those the oldest. So a group of a hundred tasks does not hold up a single one.
#[derive(Debug)]
pub(super) struct Slots {
    limits: HashMap<TaskKind, usize>,
    waiting: Vec<Entry>,
    running: Vec<Entry>,
}

impl Slots {
    pub(super) fn new(limits: HashMap<TaskKind, usize>) -> Self {
        Self { limits, waiting: Vec::new(), running: Vec::new() }
    }

    pub(super) fn limit(&self, kind: TaskKind) -> usize {
        // A limit of zero would let tasks wait forever.
        self.limits.get(&kind).copied().unwrap_or(1).max(1)
    }

    /// Returns whether a new task would start at once.
    pub(super) fn is_free(&self, kind: TaskKind) -> bool {
        self.of_kind(kind) < self.limit(kind)
            // A free slot belongs to a task that waits already.
            && !self.waiting.iter().any(|entry| entry.kind == kind)
    }

    pub(super) fn add(&mut self, task: TaskId, kind: TaskKind, group: Option<GroupId>) {
        self.waiting.push(Entry { task, kind, group });
    }

    /// Gives a slot to the next task.
    pub(super) fn take_next(&mut self) -> Option<TaskId> {
        let ready = self.waiting.iter().enumerate();
        let ready = ready.filter(|(_, entry)| self.of_kind(entry.kind) < self.limit(entry.kind));
        let (at, _) = ready.min_by_key(|(at, entry)| (self.of_group(entry), *at))?;
        let entry = self.waiting.remove(at);
        let task = entry.task.clone();
        self.running.push(entry);
        Some(task)
    }

    /// Removes a task that waits. Returns false if it has a slot or is not known.
    pub(super) fn withdraw(&mut self, task: &TaskId) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|entry| entry.task != *task);
        self.waiting.len() < before
    }

    /// Frees the slot of a task.
    pub(super) fn free(&mut self, task: &TaskId) {
        self.running.retain(|entry| entry.task != *task);
    }

    fn of_kind(&self, kind: TaskKind) -> usize {
        self.running.iter().filter(|entry| entry.kind == kind).count()
    }

    /// Counts the running tasks of the entry's group. A task without a group is a group of its own.
    fn of_group(&self, entry: &Entry) -> usize {
        match &entry.group {
            None => 0,
            group => self.running.iter().filter(|running| running.group == *group).count(),
        }
    }
}

#[cfg(test)]
mod tests;
