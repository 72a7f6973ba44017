//! Represents one word of a command: what is quoted, what is known, what a shell would replace.

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
    /// `$'…'` or `$"…"`: known, but treated as unknown by [`Word::is_dynamic`], because only a
    /// disguised command spells a program's name this way.
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

    /// Creates a word with this literal value, as if it were quoted.
    pub(crate) fn plain(text: &str) -> Self {
        Self::of(text, vec![Piece::Text { text: text.to_owned(), quoted: true }])
    }

    pub(crate) fn bare_text(text: &str) -> Self {
        Self::of(text, vec![Piece::Text { text: text.to_owned(), quoted: false }])
    }

    pub(crate) fn unknown() -> Self {
        Self::of(UNKNOWN, vec![Piece::Unknown])
    }

    /// Takes the text of one word apart. Never fails: what it does not understand is unknown.
    pub(crate) fn parse(raw: &str) -> Self {
        // Fast path: most words have no special characters.
        if !raw.is_empty() && !raw.contains(['\'', '"', '\\', '$', '`', '<', '>']) {
            return Self::bare_text(raw);
        }
        let mut out = super::syntax::pieces(raw);
        // `""` is a word; an empty stretch inside another word is nothing.
        if out.len() > 1 {
            out.retain(|piece| !matches!(piece, Piece::Text { text, .. } if text.is_empty()));
        }
        Self::of(raw, out)
    }

    /// Returns the value, when a shell would leave it exactly as it is.
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

    /// Returns the text of a word without quotes and variables: only such words can be keywords.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// Returns whether it is `[` or `[[`, which are programs and not globs.
    pub(crate) fn is_bracket(&self) -> bool {
        matches!(self.bare(), Some("[" | "[["))
    }

    /// Returns whether it is [`Word::unknown`], which a wrapper appends.
    pub(crate) fn is_unknown(&self) -> bool {
        self.raw == UNKNOWN && self.pieces.as_slice() == [Piece::Unknown]
    }

    /// Returns the known characters, with placeholders for what a shell replaces.
    pub(crate) fn text(&self) -> String {
        text(&self.pieces)
    }

    /// Returns the value with globs, braces and tilde left as they are; `None` with variables.
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

    /// Returns the pieces after this many bytes; `None` if fewer are known.
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

    /// Returns the value with unknown stretches.
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

    pub(crate) fn has_unknown(&self) -> bool {
        self.pieces.contains(&Piece::Unknown)
    }

    pub(crate) fn has_var(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Var { .. }))
    }

    /// Returns whether it may become an option: it begins with `-`, or with something unknown.
    pub(crate) fn may_be_flag(&self) -> bool {
        match self.pieces.first() {
            Some(Piece::Text { text, .. } | Piece::Ansi(text)) => {
                text.starts_with('-') || text.starts_with(['*', '?', '[', '{'])
            }
            Some(Piece::Var { .. } | Piece::Number | Piece::Unknown) => true,
            None => false,
        }
    }

    /// Returns the word as it would be written plainly: quotes only where they are needed.
    pub(crate) fn rendered(&self) -> String {
        match self.literal() {
            Some(value) => quote(&value),
            None => self.raw.clone(),
        }
    }
}

const UNKNOWN: &str = "…";

/// Returns the known characters of these pieces, with placeholders for what a shell replaces.
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

/// Characters as pieces; those with a meaning to the shell are not quoted.
pub(crate) fn of_live(text: &[(char, bool)]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    text.iter().for_each(|(c, live)| push(&mut pieces, c.encode_utf8(&mut [0; 4]), !live));
    pieces
}

/// Returns whether it may be the name of a variable, or a number.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(crate) fn quote(value: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "_@%+=:,./-^".contains(c);
    if !value.is_empty() && value.chars().all(safe) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}

fn replaced(at: usize, piece: &Piece) -> bool {
    match piece {
        Piece::Text { text, quoted } => {
            !quoted
                && (text.contains(['*', '?', '[', '{', '}']) || (at == 0 && text.starts_with('~')))
        }
        Piece::Var { .. } | Piece::Ansi(_) | Piece::Number | Piece::Unknown => true,
    }
}

pub(super) fn push(out: &mut Vec<Piece>, chars: &str, quoted: bool) {
    match out.last_mut() {
        Some(Piece::Text { text, quoted: q }) if *q == quoted => text.push_str(chars),
        _ => out.push(Piece::Text { text: chars.to_owned(), quoted }),
    }
}

/// Returns the text between the quotes of `$'…'`.
pub(crate) fn ansi(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < chars.len() {
        if chars[i] != '\\' {
            out.push(chars[i]);
            i += 1;
            continue;
        }
        let Some(c) = chars.get(i + 1) else { break };
        i += 2;
        let simple = "ntrabeEfv\\'\"?"
            .find(*c)
            .and_then(|at| "\n\t\r\u{7}\u{8}\u{1b}\u{1b}\u{c}\u{b}\\'\"?".chars().nth(at));
        let (radix, max, start) = match (c, simple) {
            (_, Some(c)) => {
                out.push(c);
                continue;
            }
            ('x', _) => (16, 2, i),
            ('u', _) => (16, 4, i),
            ('U', _) => (16, 8, i),
            ('0'..='7', _) => (8, 3, i - 1),
            ('c', _) => {
                i += 1;
                continue;
            }
            (other, _) => {
                out.extend(['\\', *other]);
                continue;
            }
        };
        let digits = chars[start..].iter().take(max).map_while(|c| c.to_digit(radix));
        let digits: Vec<u32> = digits.collect();
        let add = |code: u32, digit: &u32| code.wrapping_mul(radix).wrapping_add(*digit);
        out.extend(char::from_u32(digits.iter().fold(0, add)));
        i = start + digits.len();
    }
    out
}

#[cfg(test)]
mod tests;
