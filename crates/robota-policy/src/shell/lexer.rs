//! A small, independent splitter of shell text. It knows only what is common and answers
//! `None` for the rest. Its one use: to check the grammar's idea of where words begin and end,
//! because a parser that is wrong about that would be fooled.

/// A token and where it stands, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    /// `;`, `&`, `&&`, `|`, `||`, `|&`, `(`, `)`, a line's end.
    Control,
    /// `<`, `2>&`, `>>`, …
    Redirect,
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    /// Here-documents announced on this line: delimiter, and whether tabs are stripped.
    pending: Vec<(String, bool)>,
}

/// Splits the text, or says that it cannot.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut lexer =
        Lexer { text, bytes: text.as_bytes(), at: 0, tokens: Vec::new(), pending: Vec::new() };
    lexer.run()?;
    lexer.pending.is_empty().then_some(lexer.tokens)
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, len: usize) {
        self.tokens.push(Token { kind, start: self.at, end: self.at + len });
        self.at += len;
    }

    fn run(&mut self) -> Option<()> {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'\n' => {
                    self.push(Kind::Control, 1);
                    self.skip_documents()?;
                }
                b'#' => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                b';' => {
                    let len = if self.peek(1) == b';' { 2 } else { 1 };
                    self.push(Kind::Control, len);
                }
                b'&' if self.peek(1) == b'>' => {
                    let len = if self.peek(2) == b'>' { 3 } else { 2 };
                    self.push(Kind::Redirect, len);
                }
                b'&' => {
                    let len = if self.peek(1) == b'&' { 2 } else { 1 };
                    self.push(Kind::Control, len);
                }
                b'|' => {
                    let len = if matches!(self.peek(1), b'|' | b'&') { 2 } else { 1 };
                    self.push(Kind::Control, len);
                }
                b'(' => {
                    if self.peek(1) == b'(' {
                        return None;
                    }
                    self.push(Kind::Control, 1);
                }
                b')' => self.push(Kind::Control, 1),
                b'<' | b'>' => self.redirect(0)?,
                b'0'..=b'9' => {
                    let mut digits = 0;
                    while self.peek(digits).is_ascii_digit() {
                        digits += 1;
                    }
                    if matches!(self.peek(digits), b'<' | b'>') {
                        self.redirect(digits)?;
                    } else {
                        self.word()?;
                    }
                }
                _ => self.word()?,
            }
        }
        Some(())
    }

    fn redirect(&mut self, digits: usize) -> Option<()> {
        let op = &self.text[self.at + digits..];
        let len = ["<<<", "<<-", "<<", "<&-", ">&-", "<&", ">&", "<>", ">>", ">|", "<", ">"]
            .iter()
            .find(|name| op.starts_with(**name))
            .map(|name| name.len())?;
        let name = &op[..len];
        if op[len..].starts_with('(') || name == "<>" {
            return None;
        }
        let document = matches!(name, "<<" | "<<-");
        let tabs = name == "<<-";
        self.push(Kind::Redirect, digits + len);
        if document {
            while matches!(self.peek(0), b' ' | b'\t') {
                self.at += 1;
            }
            let start = self.at;
            self.word()?;
            self.tokens.pop();
            let raw = &self.text[start..self.at];
            let plain: String = raw.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
            self.pending.push((plain, tabs));
        }
        Some(())
    }

    fn skip_documents(&mut self) -> Option<()> {
        for (delimiter, tabs) in std::mem::take(&mut self.pending) {
            loop {
                let rest = self.text.get(self.at..)?;
                if rest.is_empty() {
                    return None;
                }
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.bytes.len());
                let line = if tabs { line.trim_start_matches('\t') } else { line };
                if line == delimiter {
                    break;
                }
            }
        }
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let start = self.at;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => {
                    // A continued line inside a word: too clever.
                    if matches!(self.peek(1), b'\n' | 0) {
                        return None;
                    }
                    self.at += 1;
                    self.step();
                }
                b'\'' => {
                    let len = self.text[self.at + 1..].find('\'')?;
                    self.at += len + 2;
                }
                b'"' => self.double()?,
                b'`' => return None,
                b'$' => self.dollar()?,
                _ => self.step(),
            }
        }
        if self.at == start {
            return None;
        }
        // `a(` is a function, `{fd}>` a descriptor.
        if self.peek(0) == b'(' {
            return None;
        }
        if matches!(self.peek(0), b'<' | b'>') && self.bytes[self.at - 1] == b'}' {
            return None;
        }
        self.tokens.push(Token { kind: Kind::Word, start, end: self.at });
        Some(())
    }

    /// One whole character.
    fn step(&mut self) {
        self.at += 1;
        while self.at < self.bytes.len() && !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    fn double(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    self.at += 1;
                    if self.at >= self.bytes.len() {
                        return None;
                    }
                    self.step();
                }
                b'`' => return None,
                b'$' if matches!(self.peek(1), b'(' | b'{' | b'[') => self.dollar()?,
                _ => self.step(),
            }
        }
    }

    /// `$NAME`, `${NAME}`, `$'…'`; nothing that runs or computes.
    fn dollar(&mut self) -> Option<()> {
        match self.peek(1) {
            b'(' | b'[' => None,
            b'{' => {
                let rest = &self.text[self.at + 2..];
                let end = rest.find('}')?;
                let name = &rest[..end];
                let plain = !name.is_empty()
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                plain.then(|| self.at += end + 3)
            }
            b'\'' => {
                self.at += 2;
                loop {
                    match self.bytes.get(self.at)? {
                        b'\\' => {
                            self.at += 1;
                            if self.at >= self.bytes.len() {
                                return None;
                            }
                            self.step();
                        }
                        b'\'' => {
                            self.at += 1;
                            return Some(());
                        }
                        _ => self.step(),
                    }
                }
            }
            _ => {
                self.at += 1;
                Some(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
