//! Splits a Markdown file into its header (frontmatter) and its body.
//!
//! The header is YAML between two lines `---`, the first of which is the first line of the file. Many
//! headers that people write are not valid YAML (`description: Use this: now`). Then each key is read
//! on its own, and a value that is not valid YAML is the text after the colon. Nothing in a file makes
//! this fail.
//!
//! ```
//! use robota_config::frontmatter::Markdown;
//!
//! let file = Markdown::parse(
//!     "---\ndescription: Use this: now\nallowed-tools: Read, Bash(git add:*)\nuser-invocable: no\n---\nBody\n",
//! );
//! assert_eq!(file.header.text("description").as_deref(), Some("Use this: now"));
//! assert_eq!(file.header.words("allowed-tools"), ["Read", "Bash(git add:*)"]);
//! assert_eq!(file.header.flag("user-invocable"), Ok(Some(false)));
//! assert_eq!(file.body, "Body\n");
//! ```

mod fields;
mod header;
mod plain;
mod words;

use std::borrow::Cow;

pub(crate) use fields::Fields;
pub use header::{FieldError, Header};
pub use words::split_rules;

use crate::clean::clean;

/// A header that has more bytes than this is ignored.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Splits a Markdown file into header and body.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Markdown {
    /// The fields of the header; empty if there is none.
    pub header: Header,
    /// The text after the header.
    pub body: String,
    /// What is wrong with the header, with line numbers.
    pub notes: Vec<HeaderNote>,
}

/// Something about a header that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderNote {
    /// The line in the file, counted from 1.
    pub line: usize,
    /// What is wrong, and what was done.
    pub message: String,
}

impl Markdown {
    /// Parses the text of a file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::of_clean(&clean(text))
    }

    /// Parses a text that was cleaned.
    pub(crate) fn of_clean(text: &str) -> Self {
        match split(text) {
            // Before it is parsed: the time of the parser grows with the text.
            Split::Header { header, body } if header.len() > MAX_HEADER_BYTES => {
                let message =
                    format!("the header has more than {MAX_HEADER_BYTES} bytes, so it is ignored");
                Self { body: body.to_owned(), notes: vec![note(1, message)], ..Self::default() }
            }
            Split::Header { header, body } => {
                let (header, notes) = Header::parse(header);
                Self { header, body: body.to_owned(), notes }
            }
            Split::None(reason) => {
                let notes = reason.into_iter().map(|(line, message)| note(line, message)).collect();
                Self { header: Header::default(), body: text.to_owned(), notes }
            }
        }
    }
}

fn note(line: usize, message: impl Into<Cow<'static, str>>) -> HeaderNote {
    HeaderNote { line, message: message.into().into_owned() }
}

enum Split<'a> {
    Header {
        header: &'a str,
        body: &'a str,
    },
    /// No header, and the reason if the text seems to have one.
    None(Option<(usize, &'static str)>),
}

fn split(text: &str) -> Split<'_> {
    let (first, rest) = line(text);
    if !is_fence(first) {
        // Probably meant as a header; the author should know why it has no effect.
        let at = misplaced(text);
        return Split::None(at.map(|line| {
            (line, "a header begins in the first line of a file, so this one is part of the text")
        }));
    }
    let mut at = 0;
    while let Some(left) = rest.get(at..).filter(|left| !left.is_empty()) {
        let (here, after) = line(left);
        if is_fence(here) {
            return Split::Header { header: rest.get(..at).unwrap_or_default(), body: after };
        }
        at = rest.len() - after.len();
    }
    Split::None(Some((1, "the header has no end (a line `---`), so it is part of the text")))
}

/// Returns the first line without its end, and what follows.
fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Returns the line of a header that follows comments or blank lines.
fn misplaced(text: &str) -> Option<usize> {
    let mut in_comment = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_comment = in_comment || line.starts_with("<!--");
        in_comment = is_comment && !line.ends_with("-->");
        if is_comment || line.is_empty() || line.starts_with('#') || line.starts_with("//") {
            continue;
        }
        let next = text.lines().nth(at + 1).unwrap_or_default();
        let has_key = next.split_once(':').is_some_and(|(key, _)| header::is_key(key));
        return (is_fence(line) && has_key).then_some(at + 1);
    }
    None
}

#[cfg(test)]
mod tests;
