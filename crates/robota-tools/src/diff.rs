//! Diffs for people and models to read.

use std::time::Duration;

use similar::TextDiff;

/// The maximum number of lines of a diff.
const MAX_LINES: usize = 400;
/// The time limit of the search for the *smallest* diff. After it a larger diff is used.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Returns a unified diff of two contents of a file. Bytes that are not UTF-8 are shown as U+FFFD,
/// CRLF and LF are treated as equal, and a long diff is cut with a note.
#[must_use]
pub fn unified(old: &[u8], new: &[u8], name: &str) -> String {
    let (old, new) = (normalized(old), normalized(new));
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(old.as_str(), new.as_str());
    let text = diff.unified_diff().context_radius(3).header(name, name).to_string();
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
