//! Diffs for people and models to read.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// The maximum number of lines of a diff; the model and the journal keep it.
const MAX_LINES: usize = 400;
/// The time limit of the search for the *smallest* diff. After it a larger diff is used.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The difference of two contents of a file.
pub(crate) struct Difference {
    /// The unified diff, cut if it is long.
    pub(crate) text: String,
    /// How many lines were added, those that are cut included.
    pub(crate) added: u64,
    /// How many lines were removed, those that are cut included.
    pub(crate) removed: u64,
}

impl Difference {
    /// Compares two contents of a file.
    pub(crate) fn new(old: &[u8], new: &[u8], name: &str) -> Self {
        let (old, new) = (normalized(old), normalized(new));
        let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(old.as_str(), new.as_str());
        let count =
            |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
        Self {
            added: count(ChangeTag::Insert),
            removed: count(ChangeTag::Delete),
            text: shortened(diff.unified_diff().context_radius(3).header(name, name).to_string()),
        }
    }
}

/// Returns a unified diff of two contents of a file. Bytes that are not UTF-8 are shown as U+FFFD,
/// CRLF and LF are treated as equal, and a long diff is cut with a note.
#[must_use]
pub fn unified(old: &[u8], new: &[u8], name: &str) -> String {
    Difference::new(old, new, name).text
}

fn shortened(text: String) -> String {
    let cut = text.split_inclusive('\n').map(str::len).take(MAX_LINES).sum::<usize>();
    if cut == text.len() {
        return text;
    }
    let more = text[cut..].lines().count();
    format!("{}[... {more} more lines of this diff ...]\n", &text[..cut])
}

fn normalized(content: &[u8]) -> String {
    String::from_utf8_lossy(content).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
