//! One word of a command: what is quoted, what is known, what a shell would replace.

use std::ops::Deref;
use std::rc::Rc;

use crate::glob::Ch;

/// A word as written, taken apart. Many checks read it, so copies share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word(Rc<Text>);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// As written, for people and for rules that name the text of a command. What a command does is
    /// decided by the pieces.
    pub(crate) raw: String,
    pub(crate) pieces: Vec<Piece>,
}

impl Deref for Word {
    type Target = Text;

    fn deref(&self) -> &Text {
        &self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Known characters. Unquoted ones may still be a glob, a brace list or a tilde.
    Text {
        text: String,
        quoted: bool,
    },
    Var {
        name: String,
        quoted: bool,
    },
    /// `$'…'` or `$"…"`: known, but an honest command does not spell a program's name this way, so
    /// [`Word::is_dynamic`] holds for it.
    Ansi(String),
    /// The result of a computation or a length: digits, perhaps after a `-`.
    Number,
    /// A substitution or a complicated expansion.
    Unknown,
}

impl Word {
    pub(crate) fn of(raw: impl Into<String>, pieces: Vec<Piece>) -> Self {
        Self(Rc::new(Text { raw: raw.into(), pieces }))
    }

    /// A word that is what it says, as if it had been quoted.
    pub(crate) fn plain(text: &str) -> Self {
        Self::of(text, vec![Piece::Text { text: text.to_owned(), quoted: true }])
    }

    /// A word of which nothing is quoted.
    pub(crate) fn bare_text(text: &str) -> Self {
        Self::of(text, vec![Piece::Text { text: text.to_owned(), quoted: false }])
    }

    pub(crate) fn unknown() -> Self {
        Self::of(UNKNOWN, vec![Piece::Unknown])
    }

    /// Takes the text of one word apart. Never fails: what it does not understand is unknown.
    pub(crate) fn parse(raw: &str) -> Self {
        // Most words have nothing that means anything.
        if !raw.is_empty() && !raw.contains(['\'', '"', '\\', '$', '`', '<', '>']) {
            return Self::bare_text(raw);
        }
        let chars = Chars::new(raw);
        let out = &mut Vec::new();
        let mut i = 0;
        while i < chars.len() {
            i = match chars[i] {
                '\'' => {
                    let end = find(&chars, i + 1, '\'');
                    push(out, &chars[i + 1..end.min(chars.len())], true);
                    end + 1
                }
                '"' => double(&chars, i + 1, out),
                '\\' => {
                    match chars.get(i + 1) {
                        Some('\n') | None => {}
                        Some(c) => push(out, &[*c], true),
                    }
                    i + 2
                }
                '$' => dollar(&chars, i, false, out),
                '`' => {
                    out.push(Piece::Unknown);
                    backtick(&chars, i + 1)
                }
                '<' | '>' if chars.get(i + 1) == Some(&'(') => {
                    out.push(Piece::Unknown);
                    substitution(&chars, i).0
                }
                c => {
                    push(out, &[c], false);
                    i + 1
                }
            };
        }
        // `""` is a word; an empty stretch inside another word is nothing.
        if out.len() > 1 {
            out.retain(|piece| !matches!(piece, Piece::Text { text, .. } if text.is_empty()));
        }
        Self::of(raw, std::mem::take(out))
    }

    /// The value, when a shell would leave it exactly as it is.
    pub(crate) fn literal(&self) -> Option<String> {
        let mut value = String::new();
        for (i, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text { text, .. } if self.is_bracket() || !replaced(i, piece) => {
                    value.push_str(text);
                }
                Piece::Ansi(text) => value.push_str(text),
                _ => return None,
            }
        }
        Some(value)
    }

    /// The text of a word of which nothing is quoted or replaced by a variable: only such words
    /// can be keywords.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// `[` and `[[` are programs and match nothing.
    pub(crate) fn is_bracket(&self) -> bool {
        matches!(self.bare(), Some("[" | "[["))
    }

    /// Whether it is [`Word::unknown`], which a wrapper appends.
    pub(crate) fn is_unknown(&self) -> bool {
        self.raw == UNKNOWN && self.pieces.as_slice() == [Piece::Unknown]
    }

    /// The known characters, with placeholders for what a shell replaces.
    pub(crate) fn text(&self) -> String {
        text(&self.pieces)
    }

    /// The value with globs, braces and tilde left as they are; `None` with variables.
    pub(crate) fn value(&self) -> Option<String> {
        let mut value = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text { text, .. } | Piece::Ansi(text) => value.push_str(text),
                Piece::Var { .. } | Piece::Number | Piece::Unknown => return None,
            }
        }
        Some(value)
    }

    /// What follows so many bytes; `None` where fewer are known.
    pub(crate) fn after(&self, at: usize) -> Option<Vec<Piece>> {
        let mut left = at;
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            let rest = |text: &str| (left < text.len()).then(|| text[left..].to_owned());
            let (rest, len) = match piece {
                Piece::Text { text, quoted } => {
                    (rest(text).map(|text| Piece::Text { text, quoted: *quoted }), text.len())
                }
                Piece::Ansi(text) => (rest(text).map(Piece::Ansi), text.len()),
                Piece::Var { .. } | Piece::Number | Piece::Unknown if left > 0 => return None,
                other => (Some(other.clone()), 0),
            };
            left = left.saturating_sub(len);
            pieces.extend(rest);
        }
        Some(pieces)
    }

    /// The value with unknown stretches.
    pub(crate) fn holes(&self) -> Vec<Ch> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text { text, quoted: true } | Piece::Ansi(text) => {
                    out.extend(text.chars().map(Ch::Is));
                }
                Piece::Text { text, quoted: false } => {
                    out.extend(text.chars().map(|c| {
                        if matches!(c, '*' | '?' | '[' | '{') { Ch::Any } else { Ch::Is(c) }
                    }));
                }
                Piece::Var { .. } | Piece::Number | Piece::Unknown => out.push(Ch::Any),
            }
        }
        // `[ab]` and `{a,b}`: what follows the opening is part of the unknown.
        if self
            .pieces
            .iter()
            .any(|p| matches!(p, Piece::Text { text, quoted: false } if text.contains(['[', '{'])))
            && let Some(at) = out.iter().position(|c| *c == Ch::Any)
        {
            out.truncate(at + 1);
        }
        out
    }

    pub(crate) fn is_dynamic(&self) -> bool {
        !self.is_bracket() && self.pieces.iter().enumerate().any(|(i, piece)| replaced(i, piece))
    }

    /// Whether it has a substitution or a complicated expansion.
    pub(crate) fn has_unknown(&self) -> bool {
        self.pieces.contains(&Piece::Unknown)
    }

    pub(crate) fn has_var(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Var { .. }))
    }

    /// Whether it may become an option: it begins with `-`, or with something unknown.
    pub(crate) fn may_be_flag(&self) -> bool {
        match self.pieces.first() {
            Some(Piece::Text { text, .. } | Piece::Ansi(text)) => {
                text.starts_with('-') || text.starts_with(['*', '?', '[', '{'])
            }
            Some(Piece::Var { .. } | Piece::Number | Piece::Unknown) => true,
            None => false,
        }
    }

    /// The word as it would be written plainly: quotes only where they are needed.
    pub(crate) fn rendered(&self) -> String {
        match self.literal() {
            Some(value) => quote(&value),
            None => self.raw.clone(),
        }
    }
}

/// How a word is shown that is not known.
const UNKNOWN: &str = "…";

/// The known characters of these pieces, with placeholders for what a shell replaces.
pub(crate) fn text(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text { text, .. } | Piece::Ansi(text) => out.push_str(text),
            Piece::Var { name, .. } => {
                out.push('$');
                out.push_str(name);
            }
            Piece::Number | Piece::Unknown => out.push_str(UNKNOWN),
        }
    }
    out
}

/// Whether it may be the name of a variable, or a number.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Puts quotes around what needs them.
pub(crate) fn quote(value: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "_@%+=:,./-^".contains(c);
    if !value.is_empty() && value.chars().all(safe) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}

/// Whether a shell would leave something else in this piece's place.
fn replaced(at: usize, piece: &Piece) -> bool {
    match piece {
        Piece::Text { text, quoted } => {
            !quoted
                && (text.contains(['*', '?', '[', '{', '}']) || (at == 0 && text.starts_with('~')))
        }
        Piece::Var { .. } | Piece::Ansi(_) | Piece::Number | Piece::Unknown => true,
    }
}

/// A text as characters, and the position of each in bytes.
struct Chars<'a> {
    raw: &'a str,
    list: Vec<char>,
    offsets: Vec<usize>,
}

impl<'a> Chars<'a> {
    fn new(raw: &'a str) -> Self {
        let (offsets, list) = raw.char_indices().unzip();
        Self { raw, list, offsets }
    }
}

impl Deref for Chars<'_> {
    type Target = [char];

    fn deref(&self) -> &[char] {
        &self.list
    }
}

/// Adds characters to the last piece, or as a new one.
fn push(out: &mut Vec<Piece>, chars: &[char], quoted: bool) {
    match out.last_mut() {
        Some(Piece::Text { text, quoted: q }) if *q == quoted => text.extend(chars),
        _ => out.push(Piece::Text { text: chars.iter().collect(), quoted }),
    }
}

fn find(chars: &[char], from: usize, what: char) -> usize {
    (from..chars.len()).find(|i| chars[*i] == what).unwrap_or(chars.len())
}

fn double(chars: &Chars<'_>, from: usize, out: &mut Vec<Piece>) -> usize {
    let mut i = from;
    push(out, &[], true);
    while i < chars.len() {
        match chars[i] {
            '"' => return i + 1,
            '\\' => {
                match chars.get(i + 1) {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => push(out, &[*c], true),
                    Some(c) => push(out, &['\\', *c], true),
                }
                i += 2;
            }
            '$' => i = dollar(chars, i, true, out),
            '`' => {
                out.push(Piece::Unknown);
                i = backtick(chars, i + 1);
            }
            c => {
                push(out, &[c], true);
                i += 1;
            }
        }
    }
    i
}

/// At a `$`; returns the index after what it begins.
fn dollar(chars: &Chars<'_>, at: usize, quoted: bool, out: &mut Vec<Piece>) -> usize {
    let name_char = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    match chars.get(at + 1) {
        Some('\'') if !quoted => {
            let (text, end) = ansi(chars, at + 2);
            out.push(Piece::Ansi(text));
            end
        }
        Some('"') if !quoted => {
            let mut inner = Vec::new();
            let end = double(chars, at + 2, &mut inner);
            let text: Option<String> = inner
                .iter()
                .map(|piece| match piece {
                    Piece::Text { text, .. } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            out.push(text.map_or(Piece::Unknown, Piece::Ansi));
            end
        }
        Some('(' | '[') => {
            let (end, number) = substitution(chars, at);
            out.push(if number { Piece::Number } else { Piece::Unknown });
            end
        }
        Some('{') => {
            let end = closing_brace(chars, at + 1);
            let name: String =
                chars.get(at + 2..end.saturating_sub(1)).unwrap_or_default().iter().collect();
            out.push(if is_name(&name) {
                Piece::Var { name, quoted }
            } else if name.strip_prefix('#').is_some_and(is_name) {
                Piece::Number
            } else {
                Piece::Unknown
            });
            end
        }
        Some(c) if name_char(c) => {
            let mut end = at + 2;
            if !c.is_ascii_digit() {
                while chars.get(end).is_some_and(name_char) {
                    end += 1;
                }
            }
            let name = chars[at + 1..end].iter().collect();
            out.push(Piece::Var { name, quoted });
            end
        }
        Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
            out.push(Piece::Var { name: c.to_string(), quoted });
            at + 2
        }
        _ => {
            push(out, &['$'], true);
            at + 1
        }
    }
}

/// At the beginning of a substitution; returns the index after its end, and whether it computes.
fn substitution(chars: &Chars<'_>, at: usize) -> (usize, bool) {
    let start = chars.offsets.get(at).copied().unwrap_or(chars.raw.len());
    let (end, number) = super::syntax::substitution_end(chars.raw, start);
    (chars.offsets.partition_point(|offset| *offset < end), number)
}

/// After an opening backtick; returns the index after the closing one.
fn backtick(chars: &[char], from: usize) -> usize {
    let mut i = from;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '`' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// At an opening brace; returns the index after its partner, quotes being skipped.
fn closing_brace(chars: &[char], at: usize) -> usize {
    let mut depth = 0usize;
    let mut i = at;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 1,
            '\'' => i = find(chars, i + 1, '\''),
            '{' => depth += 1,
            '}' if depth == 1 => return i + 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        i += 1;
    }
    chars.len()
}

/// Inside `$'…'`; returns the decoded text and the index after the closing quote.
fn ansi(chars: &[char], from: usize) -> (String, usize) {
    let mut out = String::new();
    let mut i = from;
    while i < chars.len() {
        match chars[i] {
            '\'' => return (out, i + 1),
            '\\' => {
                let Some(c) = chars.get(i + 1) else { break };
                i += 2;
                let simple = match c {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    'r' => Some('\r'),
                    'a' => Some('\u{7}'),
                    'b' => Some('\u{8}'),
                    'e' | 'E' => Some('\u{1b}'),
                    'f' => Some('\u{c}'),
                    'v' => Some('\u{b}'),
                    '\\' | '\'' | '"' | '?' => Some(*c),
                    _ => None,
                };
                if let Some(c) = simple {
                    out.push(c);
                    continue;
                }
                let (radix, max, start) = match c {
                    'x' => (16, 2, i),
                    'u' => (16, 4, i),
                    'U' => (16, 8, i),
                    '0'..='7' => (8, 3, i - 1),
                    'c' => {
                        i += 1;
                        continue;
                    }
                    other => {
                        out.push('\\');
                        out.push(*other);
                        continue;
                    }
                };
                let mut end = start;
                let mut code = 0u32;
                while end < chars.len() && end - start < max {
                    let Some(digit) = chars[end].to_digit(radix) else { break };
                    code = code.wrapping_mul(radix).wrapping_add(digit);
                    end += 1;
                }
                out.extend(char::from_u32(code));
                i = end;
            }
            c => {
                out.push(c);
                i += 1;
            }
        }
    }
    (out, chars.len())
}

#[cfg(test)]
mod tests;
