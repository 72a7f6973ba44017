//! Words: quotes, expansions and substitutions.

use super::reader::{Read, Reader};
use super::{Arithmetic, Assigned, Assignment, Inner, Span, Spans, Stop, WordSpan};
use crate::shell::word::is_name;

/// Longer indexes are not searched for: most words with a bracket are globs.
const MAX_INDEX: usize = 200;

/// Where the substitution ends that begins at `at` with `$(`, `<(` or `>(`: the byte after its
/// closing bracket, or the end of the text. The flag is set for a number.
pub(crate) fn substitution_end(text: &str, at: usize) -> (usize, bool) {
    let mut reader = Reader::new(text);
    reader.at = at;
    let mut inner = Vec::new();
    let read = match text.as_bytes().get(at) {
        Some(b'$') => reader.dollar(false, &mut inner),
        _ => {
            reader.at += 2;
            reader.substitution().map(|_| ())
        }
    };
    let number = matches!(inner.as_slice(), [Inner::Arithmetic(_)]);
    if read.is_ok() { (reader.at, number) } else { (text.len(), false) }
}

impl<'t> Reader<'t> {
    fn step(&mut self) {
        self.at += 1;
        while self.at < self.end && !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    /// A word; it is not empty.
    pub(super) fn word(&mut self) -> Read<WordSpan> {
        let start = self.at;
        let mut inner = Vec::new();
        self.pieces(&mut inner)?;
        self.end_word(start, inner)
    }

    /// Everything up to a blank or an operator.
    fn pieces(&mut self, inner: &mut Vec<Inner>) -> Read<()> {
        while self.at < self.end {
            match self.peek(0) {
                b'<' | b'>' if self.peek(1) == b'(' => {
                    self.at += 2;
                    inner.push(Inner::Process(self.substitution()?));
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                _ => self.piece(inner)?,
            }
        }
        Ok(())
    }

    fn end_word(&self, start: usize, inner: Vec<Inner>) -> Read<WordSpan> {
        if self.at == start {
            return Err(Stop::Unparsable);
        }
        if matches!(self.peek(0), b'<' | b'>')
            && self.raw((start, self.at)).starts_with('{')
            && self.raw((start, self.at)).ends_with('}')
        {
            return Err(Stop::Unsupported("a redirection of a descriptor in a variable"));
        }
        Ok(WordSpan { span: (start, self.at), inner })
    }

    /// A character, a quoted stretch or an expansion.
    fn piece(&mut self, inner: &mut Vec<Inner>) -> Read<()> {
        match self.peek(0) {
            // A line continued inside a word may complete a keyword or an operator.
            b'\\' if matches!(self.peek(1), b'\n' | 0) => return Err(Stop::Unparsable),
            b'\\' => {
                self.at += 1;
                self.step();
            }
            b'\'' => self.single()?,
            b'"' => {
                self.at += 1;
                self.quoted(b'"', Some(inner))?;
            }
            b'`' => self.backquote(inner)?,
            b'$' => match self.peek(1) {
                b'\'' => {
                    self.at += 2;
                    self.quoted(b'\'', None)?;
                }
                b'"' => {
                    self.at += 2;
                    self.quoted(b'"', Some(inner))?;
                }
                _ => self.dollar(false, inner)?,
            },
            _ => self.step(),
        }
        Ok(())
    }

    fn single(&mut self) -> Read<()> {
        self.at += 1;
        let len = self.rest().find('\'').ok_or(Stop::Unparsable)?;
        self.at += len + 1;
        Ok(())
    }

    /// After an opening quote, up to the closing one. Without `inner` nothing is expanded.
    fn quoted(&mut self, close: u8, mut inner: Option<&mut Vec<Inner>>) -> Read<()> {
        while self.at < self.end {
            if self.peek(0) == close {
                self.at += 1;
                return Ok(());
            }
            self.quoted_piece(inner.as_deref_mut())?;
        }
        Err(Stop::Unparsable)
    }

    /// A character of quoted text, or an expansion in it.
    fn quoted_piece(&mut self, inner: Option<&mut Vec<Inner>>) -> Read<()> {
        match (self.peek(0), inner) {
            (b'\\', _) => {
                self.at += 1;
                self.step();
            }
            (b'`', Some(inner)) => self.backquote(inner)?,
            (b'$', Some(inner)) => self.dollar(true, inner)?,
            _ => self.step(),
        }
        Ok(())
    }

    /// What is expanded in the body of a here-document.
    pub(super) fn document(&mut self, body: Span) -> Read<Vec<Inner>> {
        let (at, end) = (self.at, self.end);
        (self.at, self.end) = body;
        let mut inner = Vec::new();
        while self.at < self.end {
            self.quoted_piece(Some(&mut inner))?;
        }
        (self.at, self.end) = (at, end);
        Ok(inner)
    }

    fn backquote(&mut self, inner: &mut Vec<Inner>) -> Read<()> {
        let start = self.at + 1;
        let mut end = start;
        let bytes = self.text.as_bytes();
        while end < self.end && bytes[end] != b'`' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= self.end {
            return Err(Stop::Unparsable);
        }
        self.at = start;
        if self.raw((start, end)).contains('\\') {
            inner.push(Inner::Escaped((start, end)));
            self.at = end + 1;
        } else {
            inner.push(Inner::Command(self.backquoted(end)?));
        }
        Ok(())
    }

    /// At a `$` outside single quotes.
    pub(super) fn dollar(&mut self, quoted: bool, inner: &mut Vec<Inner>) -> Read<()> {
        match (self.peek(1), self.peek(2)) {
            (b'\\', b'\n') => return Err(Stop::Unparsable),
            (b'(', b'(') => {
                self.at += 3;
                inner.push(Inner::Arithmetic(self.arithmetic("))")?));
            }
            (b'(', _) => {
                self.at += 2;
                inner.push(Inner::Command(self.substitution()?));
            }
            (b'[', _) => {
                self.at += 2;
                inner.push(Inner::Arithmetic(self.arithmetic("]")?));
            }
            (b'{', _) => {
                self.at += 2;
                let start = self.at;
                let mut within = Vec::new();
                self.deeper(|this| this.up_to(b'}', quoted, &mut within))?;
                let body = (start, self.at);
                self.at += 1;
                if !is_name(self.raw(body)) {
                    inner.push(Inner::Parameter { body, inner: within });
                }
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    /// Up to a closing character, with quotes and expansions skipped.
    fn up_to(&mut self, close: u8, quoted: bool, inner: &mut Vec<Inner>) -> Read<()> {
        while self.at < self.end {
            match self.peek(0) {
                c if c == close => return Ok(()),
                // Whether it quotes depends on the operator.
                b'\'' if quoted => {
                    return Err(Stop::Unsupported("a single quote inside a quoted expansion"));
                }
                _ => self.piece(inner)?,
            }
        }
        Err(Stop::Unparsable)
    }

    /// After the opening of an arithmetic expression.
    pub(super) fn arithmetic(&mut self, close: &'static str) -> Read<Arithmetic> {
        let start = self.at;
        let mut inner = Vec::new();
        let mut open = 0usize;
        while self.at < self.end {
            if open == 0 && self.rest().starts_with(close) {
                let body = (start, self.at);
                self.at += close.len();
                return Ok(Arithmetic { body, inner });
            }
            match self.peek(0) {
                b'(' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'\'' => return Err(Stop::Unsupported("a single quote inside a computation")),
                // Two brackets inside one another, not arithmetic.
                b')' | b']' if open == 0 => break,
                b')' | b']' => {
                    open -= 1;
                    self.at += 1;
                }
                _ => self.piece(&mut inner)?,
            }
        }
        Err(Stop::Unsupported("two brackets that may be a computation or a subshell"))
    }

    pub(super) fn regex(&mut self) -> Read<WordSpan> {
        let start = self.at;
        let mut inner = Vec::new();
        let mut open = 0usize;
        while self.at < self.end {
            match self.peek(0) {
                b' ' | b'\t' if open == 0 => break,
                b'\n' | b';' | b'&' if open == 0 => break,
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' => {
                    open = open.saturating_sub(1);
                    self.at += 1;
                }
                b'|' | b'<' | b'>' | b' ' | b'\t' | b';' | b'&' | b'\n' => self.at += 1,
                _ => self.piece(&mut inner)?,
            }
        }
        self.end_word(start, inner)
    }

    /// An assignment, if there is one at this position.
    pub(super) fn assignment(&mut self) -> Read<Option<Assignment>> {
        let start = self.at;
        let rest = self.rest();
        let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        if len == 0 || rest.as_bytes()[0].is_ascii_digit() {
            return Ok(None);
        }
        self.at += len;
        let mut inner = Vec::new();
        if self.peek(0) == b'[' {
            self.at += 1;
            let end = self.end;
            self.end = end.min(self.at + MAX_INDEX);
            let Spans { commands, loose, masked } = &self.spans;
            let before = (commands.len(), loose.len(), masked.len());
            let index = self.up_to(b']', false, &mut inner);
            self.end = end;
            if index.is_err() {
                self.at = start;
                self.spans.commands.truncate(before.0);
                self.spans.loose.truncate(before.1);
                self.spans.masked.truncate(before.2);
                return Ok(None);
            }
            self.at += 1;
        }
        let name = (start, self.at);
        let adds = self.eat("+");
        if !self.eat("=") {
            self.at = start;
            return Ok(None);
        }
        let value = if self.eat("(") {
            Assigned::Array(self.array()?)
        } else {
            let from = self.at;
            self.pieces(&mut inner)?;
            Assigned::Word((from, self.at))
        };
        let word = WordSpan { span: (start, self.at), inner };
        Ok(Some(Assignment { word, name, adds, value }))
    }

    fn array(&mut self) -> Read<Vec<WordSpan>> {
        let mut values = Vec::new();
        loop {
            self.blanks();
            match self.peek(0) {
                b'\n' => self.newline()?,
                b')' => {
                    self.at += 1;
                    return Ok(values);
                }
                _ => values.push(self.word()?),
            }
        }
    }
}
