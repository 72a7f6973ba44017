//! Splits awk programs into tokens. The meaning of a slash depends on its position, so the parser
//! passes whether an operand may begin there.

use crate::program::sed::ends_in_bracket;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'p> {
    Name(&'p str),
    Number(f64),
    Text(&'p str),
    Regex,
    Sign(&'p str),
    End,
    Done,
}

pub(super) struct Lexer<'p> {
    text: &'p str,
    at: usize,
}

const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "!~", "{",
    "}", "(", ")", "[", "]", "$", "!", "<", ">", "+", "-", "*", "/", "%", "^", "?", ":", ",", "~",
    "=",
];

impl<'p> Lexer<'p> {
    pub(super) fn new(text: &'p str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn follows(&self, c: char) -> bool {
        self.text[self.at..].starts_with(c)
    }

    /// Returns the next token. `operand`: a slash begins a regular expression.
    pub(super) fn take(&mut self, operand: bool) -> Option<Token<'p>> {
        self.blanks();
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return Some(Token::Done) };
        match first {
            '\n' | ';' => {
                self.at += 1;
                Some(Token::End)
            }
            '"' => {
                let end = closing(&rest[1..], '"')?;
                self.at += end + 2;
                Some(Token::Text(&rest[1..=end]))
            }
            '/' if operand => {
                let end = closing(&rest[1..], '/')?;
                // In a bracket some programs see the slash and some do not.
                (!ends_in_bracket(&rest[1..=end])).then_some(())?;
                self.at += end + 2;
                Some(Token::Regex)
            }
            '0'..='9' | '.' => {
                let end =
                    rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                let number = rest[..end].parse().ok()?;
                // `1e9` and `0x10` are read in different ways.
                let joined = rest[end..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
                (!joined).then_some(())?;
                self.at += end;
                Some(Token::Number(number))
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                self.at += end;
                Some(Token::Name(&rest[..end]))
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
                // Operators such as `>>`, `|&` and `**` are not understood.
                (!rest.starts_with(">>") && !rest.starts_with("**")).then_some(())?;
                self.at += sign.len();
                Some(Token::Sign(&rest[..sign.len()]))
            }
        }
    }

    pub(super) fn peek(&mut self, operand: bool) -> Option<Token<'p>> {
        let mark = self.at;
        let token = self.take(operand);
        self.at = mark;
        token
    }

    pub(super) fn eat(&mut self, sign: &str) -> Option<bool> {
        let mark = self.at;
        let found = self.take(false) == Some(Token::Sign(sign));
        if !found {
            self.at = mark;
        }
        Some(found)
    }

    fn blanks(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.find(|c| c != ' ' && c != '\t').unwrap_or(rest.len());
            self.at += blank;
            if !self.text[self.at..].starts_with('#') {
                return;
            }
            let rest = &self.text[self.at..];
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    pub(super) fn skip_ends(&mut self) {
        while self.peek(true) == Some(Token::End) {
            self.take(true);
        }
    }

    pub(super) fn skip_newlines(&mut self) {
        loop {
            self.blanks();
            if !self.text[self.at..].starts_with('\n') {
                return;
            }
            self.at += 1;
        }
    }
}

fn closing(text: &str, delimiter: char) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match c {
            // Also behind a backslash: continued lines are not understood.
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == delimiter => return Some(i),
            _ => {}
        }
    }
    None
}
