//! Changes of text, as people read them.

use std::time::Duration;

use similar::TextDiff;

/// Lines of a diff that are shown.
const MOST_LINES: usize = 400;
/// When the search for the *smallest* diff is given up for a larger one.
const PATIENCE: Duration = Duration::from_millis(200);

/// A unified diff of two contents of one file. Bytes that are not UTF-8 are shown as U+FFFD,
/// line endings are not compared, and a long diff is cut with a note.
#[must_use]
pub fn unified(old: &[u8], new: &[u8], name: &str) -> String {
    let (old, new) = (shown(old), shown(new));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old.as_str(), new.as_str());
    let text = diff.unified_diff().context_radius(3).header(name, name).to_string();
    let cut = text.split_inclusive('\n').map(str::len).take(MOST_LINES).sum::<usize>();
    if cut == text.len() {
        return text;
    }
    let more = text[cut..].lines().count();
    format!("{}[... {more} more lines of this diff ...]\n", &text[..cut])
}

fn shown(content: &[u8]) -> String {
    String::from_utf8_lossy(content).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
