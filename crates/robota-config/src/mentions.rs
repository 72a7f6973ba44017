//! Finds mentions of files in Markdown: `@path`, `@"path with spaces"` and `@path#L10-20`, outside
//! code.
//!
//! ```
//! use robota_config::mentions::{LineRange, mentions};
//!
//! let found = mentions("Compare @src/a.rs#L10-20 with `@this` and @\"my notes.md\".");
//! assert_eq!(found[0].path, "src/a.rs");
//! assert_eq!(found[0].lines, Some(LineRange { first: 10, last: 20 }));
//! assert_eq!(found[1].path, "my notes.md");
//! ```

/// The most mentions of one text that are used.
const MAX_MENTIONS: usize = 100;

/// Refers to a file as a person writes it in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The range of the mention in the text, from the `@` on.
    pub range: std::ops::Range<usize>,
    /// The path, without quotes, escapes and lines.
    pub path: String,
    /// The lines that the mention selects; none selects the whole file.
    pub lines: Option<LineRange>,
}

/// Selects lines of a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first line, counted from 1.
    pub first: u64,
    /// The last line, which belongs to the range.
    pub last: u64,
}

impl LineRange {
    /// Reads `L10`, `L10-20` or `L10-L20`; none for anything else.
    ///
    /// ```
    /// use robota_config::mentions::LineRange;
    ///
    /// assert_eq!(LineRange::parse("L7"), Some(LineRange { first: 7, last: 7 }));
    /// assert_eq!(LineRange::parse("install"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim_start_matches('L').parse().ok().filter(|it| *it > 0);
        let text = text.strip_prefix('L')?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(Self { first, last })
    }
}

/// Returns the mentions in a text. Code spans and fenced code have none.
#[must_use]
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut fences = Fences::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !fences.covers(line) {
            in_line(line, at, &mut found);
        }
        at += line.len();
    }
    found.truncate(MAX_MENTIONS);
    found
}

/// Returns the text that mentions a file, with quotes if the path needs them. None if no mention can have
/// the path, for instance one with a quote and a space.
///
/// ```
/// use robota_config::mentions::{LineRange, mention_of};
///
/// assert_eq!(mention_of("src/a.rs", None).as_deref(), Some("@src/a.rs"));
/// let lines = LineRange { first: 2, last: 3 };
/// assert_eq!(mention_of("my notes.md", Some(lines)).as_deref(), Some("@\"my notes.md\"#L2-3"));
/// ```
#[must_use]
pub fn mention_of(path: &str, lines: Option<LineRange>) -> Option<String> {
    let part = lines.map_or_else(String::new, |it| format!("#L{}-{}", it.first, it.last));
    // The reader decides what is a mention: the text is used only if it is read as this path.
    let reads_back = |text: &String| match mentions(text).as_slice() {
        [one] => one.range == (0..text.len()) && one.path == path && one.lines == lines,
        _ => false,
    };
    [format!("@{path}{part}"), format!("@\"{path}\"{part}")].into_iter().find(reads_back)
}

/// Tracks which lines of a Markdown text belong to fenced code.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    /// Returns whether the next line is fenced code, or its first or last line.
    pub(crate) fn covers(&mut self, line: &str) -> bool {
        let line = line.trim();
        let run = |letter: char| line.chars().take_while(|c| *c == letter).count();
        match self.open {
            Some((letter, length)) => {
                // A line with more marks, or with text behind them, does not end the code.
                if run(letter) >= length && line.chars().all(|c| c == letter) {
                    self.open = None;
                }
                true
            }
            None => {
                let fence = ['`', '~'].into_iter().find(|letter| run(*letter) >= 3);
                // A code span with three marks is no fence.
                let fence = fence
                    .filter(|letter| *letter == '~' || !line.trim_start_matches('`').contains('`'));
                self.open = fence.map(|letter| (letter, run(letter)));
                fence.is_some()
            }
        }
    }
}

fn in_line(line: &str, offset: usize, found: &mut Vec<Mention>) {
    let mut at = 0;
    let mut before = ' ';
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let letter = rest.chars().next().unwrap_or(' ');
        let mut step = letter.len_utf8();
        if letter == '`' {
            step = code_span(rest);
        } else if letter == '@'
            // Only after a space: `user@host` is no mention.
            && before.is_whitespace()
            && let Some((length, path, lines)) = path(&rest[1..])
        {
            let start = offset + at;
            found.push(Mention { range: start..start + 1 + length, path, lines });
            step = 1 + length;
        }
        before = letter;
        at += step;
    }
}

/// Returns the length of the code span at the start of a text, or of the marks if it does not end.
fn code_span(text: &str) -> usize {
    let marks = text.chars().take_while(|c| *c == '`').count();
    let mut at = marks;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('`')) {
        at += found;
        let run = text[at..].chars().take_while(|c| *c == '`').count();
        at += run;
        if run == marks {
            return at;
        }
    }
    marks
}

/// Returns the length of the path at the start of a text, the path itself, and its lines.
fn path(text: &str) -> Option<(usize, String, Option<LineRange>)> {
    if let Some(rest) = text.strip_prefix('"') {
        let end = rest.find(['"', '\n'])?;
        let quoted =
            rest.get(..end).filter(|path| !path.is_empty() && rest[end..].starts_with('"'))?;
        let after = &rest[end + 1..];
        let part = after.strip_prefix('#').unwrap_or_default();
        let part = &part[..part.find(|c: char| !is_part_letter(c)).unwrap_or(part.len())];
        let lines = LineRange::parse(part);
        let length = end + 2 + lines.map_or(0, |_| 1 + part.len());
        return Some((length, quoted.to_owned(), lines));
    }
    let mut path = String::new();
    let mut length = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&' ') => {
                letters.next();
                path.push(' ');
                length += 2;
            }
            // A mark of code ends the path: `` @a`b` ``.
            letter if letter.is_whitespace() || letter == '`' => break,
            letter => {
                path.push(letter);
                length += letter.len_utf8();
            }
        }
    }
    // Punctuation at the end belongs to the sentence.
    let trimmed =
        path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '*']);
    length -= path.len() - trimmed.len();
    let (path, part) = trimmed.split_once('#').unwrap_or((trimmed, ""));
    let starts = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '.' | '/' | '~' | '_' | '-' | '$')
    };
    path.starts_with(starts).then(|| (length, path.to_owned(), LineRange::parse(part)))
}

fn is_part_letter(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, 'L' | '-')
}

#[cfg(test)]
mod tests;
