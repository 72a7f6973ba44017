//! Styled text: what views produce and the screen draws.

mod wrap;

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

pub(crate) use wrap::{break_anywhere, truncate, wrap};

/// What a piece of text is. The theme decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) enum Role {
    /// Ordinary text.
    #[default]
    Text,
    /// Less important text.
    Dim,
    /// Headings, names of keys, the selected entry.
    Accent,
    /// The user's own prompts.
    User,
    /// What succeeded: a call, a check.
    Good,
    /// What failed, and errors.
    Bad,
    /// Questions and warnings.
    Warn,
    /// Code inside of text.
    Code,
    /// The text or the address of a link.
    Link,
    /// The sign and the number of an added line.
    Added,
    /// The sign and the number of a removed line.
    Removed,
    /// A keyword of a programming language.
    Keyword,
    /// A string or number of a programming language.
    Literal,
    /// A comment of a programming language.
    Comment,
    /// A type or function name of a programming language.
    Name,
    /// One of the terminal's 16 colours, as the output of a command asked for it.
    Ansi(u8),
}

/// The background of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) enum Ground {
    /// The terminal's background.
    #[default]
    Plain,
    /// An added line of a diff.
    Added,
    /// The changed words of an added line.
    AddedWord,
    /// A removed line of a diff.
    Removed,
    /// The changed words of a removed line.
    RemovedWord,
    /// The selected entry of a list.
    Selected,
}

/// The appearance of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct Style {
    pub(crate) role: Role,
    pub(crate) ground: Ground,
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) strike: bool,
    pub(crate) reverse: bool,
    /// Whether the row that begins with this text continues the line of the row above, which was
    /// too long. The terminal joins them when the user copies them.
    pub(crate) goes_on: bool,
}

impl From<Role> for Style {
    fn from(role: Role) -> Self {
        Self { role, ..Self::default() }
    }
}

impl Style {
    /// Returns the style in bold.
    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Returns the style in italics.
    pub(crate) fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    /// Returns the style underlined.
    pub(crate) fn underline(self) -> Self {
        Self { underline: true, ..self }
    }

    /// Returns the style on a ground.
    pub(crate) fn on(self, ground: Ground) -> Self {
        Self { ground, ..self }
    }
}

impl Role {
    /// Returns the role in bold.
    pub(crate) fn bold(self) -> Style {
        Style::from(self).bold()
    }
}

/// A piece of text with one style. It contains no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
    /// The address that a click opens.
    pub(crate) link: Option<String>,
}

impl Span {
    /// Creates a span. Control characters, which could change the terminal, are replaced.
    pub(crate) fn new(text: impl AsRef<str>, style: impl Into<Style>) -> Self {
        Self { text: printable(text.as_ref()).into_owned(), style: style.into(), link: None }
    }

    /// Returns the number of columns.
    pub(crate) fn width(&self) -> usize {
        width(&self.text)
    }

    /// Returns whether another span looks the same and leads to the same address.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        self.style == other.style && self.link == other.link
    }
}

/// A line of text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub(crate) struct Line(pub(crate) Vec<Span>);

impl Line {
    /// Creates a line of one span.
    pub(crate) fn new(text: impl AsRef<str>, style: impl Into<Style>) -> Self {
        Self(vec![Span::new(text, style)])
    }

    /// Adds a span at the end.
    pub(crate) fn push(&mut self, text: impl AsRef<str>, style: impl Into<Style>) {
        self.append(Span::new(text, style));
    }

    /// Adds a span at the end, joined with the last one if they look the same.
    pub(crate) fn append(&mut self, span: Span) {
        match self.0.last_mut() {
            Some(last) if last.looks_like(&span) => last.text.push_str(&span.text),
            _ => self.0.push(span),
        }
    }

    /// Adds the spans of another line at the end.
    pub(crate) fn extend(&mut self, line: Line) {
        for span in line.0 {
            self.append(span);
        }
    }

    /// Returns the line with a span more at its end.
    #[must_use]
    pub(crate) fn with(mut self, text: impl AsRef<str>, style: impl Into<Style>) -> Self {
        self.push(text, style);
        self
    }

    /// Returns the number of columns.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(Span::width).sum()
    }

    /// Returns whether the line has no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|span| span.text.is_empty())
    }

    /// Returns whether the row continues the line of the row above.
    pub(crate) fn goes_on(&self) -> bool {
        self.0.first().is_some_and(|span| span.style.goes_on)
    }

    /// Returns whether all letters are ASCII, whose width is certain.
    pub(crate) fn is_ascii(&self) -> bool {
        self.0.iter().all(|span| span.text.is_ascii())
    }

    /// Returns the text without styles.
    pub(crate) fn plain(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// Returns the line with spaces at its end, up to a width.
    #[must_use]
    pub(crate) fn pad(mut self, columns: usize, style: impl Into<Style>) -> Self {
        let missing = columns.saturating_sub(self.width());
        if missing > 0 {
            self.push(" ".repeat(missing), style);
        }
        self
    }
}

/// Returns the number of columns of a text, by grapheme.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Returns the number of columns of one grapheme: at most two.
pub(crate) fn grapheme_width(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [_] => 1,
        // An emoji of several parts is drawn as one sign, which is two columns wide.
        _ => grapheme.width().min(2),
    }
}

/// Replaces what could change the terminal: escapes become a visible sign, tabs four spaces, other
/// control characters nothing.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) || !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => out.push_str("    "),
            '\u{1b}' => out.push('␛'),
            letter if is_control(letter) => {}
            letter => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character changes the terminal or the direction of the text around it.
pub(crate) fn is_control(letter: char) -> bool {
    // The others are marks of direction, line separators and the byte order mark: they can make a
    // command look different from what it does.
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
