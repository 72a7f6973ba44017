//! Plans the restore of files from the recorded changes. Pure: nothing here reads a file.

use indexmap::IndexMap;

use super::{FileDelta, PathState};

/// A change that the journal records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedChange {
    /// The sequence number of its event.
    pub seq: u64,
    /// The path and what was there before and after.
    pub delta: FileDelta,
    /// Whether it was made for certain. A tool records a change before it makes it, so a crash or a
    /// failure can leave the file as it was.
    pub made: bool,
}

/// A path that a restore has to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// The absolute path, unique in a plan.
    pub path: String,
    /// What was there at the checkpoint.
    pub target: PathState,
    /// What is there now, if nothing else than the session changed it. A change that may not have
    /// been made leaves two possibilities.
    pub expected: Vec<PathState>,
    /// Whether something else than the session changed it between two changes of the session.
    pub changed_outside: bool,
}

/// Returns what a restore of the state before these changes, oldest first, has to change.
#[must_use]
pub fn plan<'a>(changes: impl IntoIterator<Item = &'a RecordedChange>) -> Vec<PlannedFile> {
    let mut planned: IndexMap<&str, PlannedFile> = IndexMap::new();
    for RecordedChange { delta, made, .. } in changes {
        let mut expected = vec![delta.after.identity()];
        if !made {
            // Announced, and perhaps not made: a crash may have come first, so both states are the
            // session's own.
            expected.push(delta.before.identity());
        }
        match planned.get_mut(delta.path.as_str()) {
            Some(file) => {
                // A late record repeats changes of tools that the journal has already.
                let repeated = file.expected.first().is_some_and(|it| it.same_as(&delta.after));
                file.changed_outside |= !repeated && !file.expects(&delta.before);
                // Only the last change counts: the file has to be as the session left it.
                file.expected = expected;
            }
            None => {
                let (path, target) = (delta.path.clone(), delta.before.clone());
                let file = PlannedFile { path, target, expected, changed_outside: false };
                planned.insert(&delta.path, file);
            }
        }
    }
    // What the session changed back needs no restore.
    planned.retain(|_, file| !file.expected.iter().all(|now| now.same_as(&file.target)));
    planned.into_values().collect()
}

impl PlannedFile {
    /// Returns whether a state is one that the session left behind.
    #[must_use]
    pub fn expects(&self, now: &PathState) -> bool {
        self.expected.iter().any(|expected| expected.same_as(now))
    }

    /// Returns what a restore does with the path, if `now` is there.
    #[must_use]
    pub fn step(&self, now: &PathState, overwrite: bool) -> RestoreStep {
        if now.same_as(&self.target) {
            return RestoreStep::Nothing;
        }
        // Asked before conflicts: there is nothing to write back, whatever the user decides.
        if let PathState::Unsaved { .. } = self.target {
            return RestoreStep::Impossible;
        }
        if !overwrite && (self.changed_outside || !self.expects(now)) {
            return RestoreStep::Conflict;
        }
        // What cannot be saved would be lost, because the restore could not be undone.
        if let PathState::Unsaved { .. } = now
            && !overwrite
        {
            return RestoreStep::Conflict;
        }
        RestoreStep::Change
    }
}

/// What a restore does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestoreStep {
    /// It is as it was at the checkpoint.
    Nothing,
    /// It is changed to what was there at the checkpoint.
    Change,
    /// Something else than the session changed it, so it is not overwritten.
    Conflict,
    /// Its content at the checkpoint was not saved.
    Impossible,
}

#[cfg(test)]
mod tests;
