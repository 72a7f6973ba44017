//! Finds the changed words in changed lines.

use std::borrow::Cow;

use robota_sdk::DiffLine;
use similar::{ChangeTag, DiffOp, TextDiff};

/// Larger groups of lines are not compared by words.
const MOST_LINES: usize = 60;
const MOST_BYTES: usize = 8 * 1024;

/// The changed parts of a line: ranges of bytes, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks(Vec<(usize, usize)>);

impl Marks {
    /// Returns whether a byte is in a changed part, and where that changes.
    pub(super) fn at(&self, offset: usize) -> (bool, usize) {
        for (start, end) in &self.0 {
            if offset < *start {
                return (false, *start);
            }
            if offset < *end {
                return (true, *end);
            }
        }
        (false, usize::MAX)
    }
}

/// Returns the changed parts of each line. Removed lines are compared with the added lines that
/// follow them.
pub(super) fn changed_words(lines: &[DiffLine]) -> Vec<Marks> {
    let mut marks = vec![Marks::default(); lines.len()];
    let removed = |line: &DiffLine| matches!(line, DiffLine::Remove { .. });
    let added = |line: &DiffLine| matches!(line, DiffLine::Add { .. });
    let mut at = 0;
    while at < lines.len() {
        let first = at;
        while at < lines.len() && removed(&lines[at]) {
            at += 1;
        }
        let second = at;
        while at < lines.len() && added(&lines[at]) {
            at += 1;
        }
        if first < second && second < at {
            compare(lines, first, second, at, &mut marks);
        }
        if at == first {
            at += 1;
        }
    }
    marks
}

fn text(line: &DiffLine) -> &str {
    match line {
        DiffLine::Hunk { text }
        | DiffLine::Context { text, .. }
        | DiffLine::Add { text, .. }
        | DiffLine::Remove { text, .. } => text,
    }
}

fn compare(lines: &[DiffLine], first: usize, second: usize, end: usize, marks: &mut [Marks]) {
    let bytes: usize = lines[first..end].iter().map(|line| text(line).len()).sum();
    if end - first > MOST_LINES || bytes > MOST_BYTES {
        return;
    }
    let old: Vec<&str> = lines[first..second].iter().map(text).collect();
    let new: Vec<&str> = lines[second..end].iter().map(text).collect();
    let diff = TextDiff::from_slices(&old, &new);
    // The group as a whole, without pairs of lines: one line may have become two.
    let all =
        DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() };
    for change in diff.iter_inline_changes(&all) {
        let at = match change.tag() {
            ChangeTag::Delete => change.old_index().map(|index| first + index),
            ChangeTag::Insert => change.new_index().map(|index| second + index),
            ChangeTag::Equal => None,
        };
        let Some(at) = at else { continue };
        let mut offset = 0;
        let mut ranges = Vec::new();
        for (changed, part) in change.values() {
            if *changed {
                ranges.push((offset, offset + part.len()));
            }
            offset += part.len();
        }
        // A line that changed as a whole needs no marks.
        let marked: usize = ranges.iter().map(|(start, end)| end - start).sum();
        if marked < text(&lines[at]).trim().len() {
            marks[at] = Marks(ranges);
        }
    }
}

/// Replaces tabs by spaces, up to the next column that is a multiple of four, and moves the marks
/// accordingly. Other control characters become visible signs.
pub(super) fn expand_tabs<'a>(text: &'a str, marks: &Marks) -> (Cow<'a, str>, Marks) {
    if !text.chars().any(char::is_control) {
        return (Cow::Borrowed(text), marks.clone());
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut column = 0;
    let mut moved: Vec<(usize, usize)> = Vec::new();
    let offsets = |at: usize, out: &str, moved: &mut Vec<(usize, usize)>| {
        for (index, (start, end)) in marks.0.iter().enumerate() {
            if *start == at {
                moved.push((out.len(), out.len()));
            }
            if *end == at
                && let Some(range) = moved.get_mut(index)
            {
                range.1 = out.len();
            }
        }
    };
    for (at, letter) in text.char_indices() {
        offsets(at, &out, &mut moved);
        match letter {
            // The tab stops of the terminal count from its edge, not from the beginning of the line
            // of code.
            '\t' => {
                let spaces = 4 - column % 4;
                out.push_str(&"    "[..spaces]);
                column += spaces;
            }
            '\u{1b}' => out.push('␛'),
            '\r' => out.push('␍'),
            '\0' => out.push('␀'),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
        if letter != '\t' {
            column += 1;
        }
    }
    offsets(text.len(), &out, &mut moved);
    (Cow::Owned(out), Marks(moved))
}
