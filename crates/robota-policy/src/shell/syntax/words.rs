//! Words: quotes, expansions and substitutions.

use super::reader::{Read, Reader};
use super::{Arithmetic, Assigned, Assignment, Inner, Sequence, Span, Stop, WordSpan};
use crate::shell::word::{Piece, ansi, is_name, push};

/// Longer indexes are not searched for: most words with a bracket are globs.
const MAX_INDEX: usize = 200;

/// Takes the text of a word apart. What is not understood is unknown.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let mut reader = Reader::new(text);
    reader.pieces = Some(Vec::new());
    let mut inner = Vec::new();
    while reader.at < reader.end {
        let from = reader.at;
        let process = matches!(reader.peek(0), b'<' | b'>') && reader.peek(1) == b'(';
        let read = if process { reader.process().map(|_| ()) } else { reader.piece(&mut inner) };
        match reader.peek(0) {
            _ if read.is_ok() => {}
            // A continued line, or a quote that is never closed.
            b'\\' if reader.at == from => reader.at = reader.end.min(from + 2),
            b'\'' if reader.at == from => {
                reader.emit_text((from + 1, reader.end), true);
                break;
            }
            _ => break,
        }
    }
    reader.pieces.unwrap_or_default()
}

impl<'t> Reader<'t> {
    fn step(&mut self, quoted: bool) {
        let from = self.at;
        self.at += 1;
        while self.at < self.end && !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        self.emit_text((from, self.at), quoted);
    }

    fn emit(&mut self, piece: Piece) {
        if let Some(out) = &mut self.pieces {
            out.push(piece);
        }
    }

    fn emit_text(&mut self, span: Span, quoted: bool) {
        let text = self.raw(span);
        self.pieces.iter_mut().for_each(|out| push(out, text, quoted));
    }

    /// Reads something that is one piece of the word.
    fn as_one<T>(&mut self, piece: Piece, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let pieces = self.pieces.take();
        let found = read(self);
        self.pieces = pieces;
        self.emit(if found.is_ok() { piece } else { Piece::Unknown });
        found
    }

    fn process(&mut self) -> Read<Sequence> {
        self.at += 2;
        self.as_one(Piece::Unknown, Self::substitution)
    }

    /// Returns a word; it is not empty.
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
                    inner.push(Inner::Process(self.process()?));
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

    /// Counts one step; without any left, the rest of the word is not known.
    fn spend_on_piece(&mut self) -> Read<()> {
        let left = self.spend();
        if left.is_err() {
            self.emit(Piece::Unknown);
        }
        left
    }

    fn piece(&mut self, inner: &mut Vec<Inner>) -> Read<()> {
        self.spend_on_piece()?;
        match self.peek(0) {
            // A line continued inside a word may complete a keyword or an operator.
            b'\\' if matches!(self.peek(1), b'\n' | 0) => return Err(Stop::Unparsable),
            b'\\' => {
                self.at += 1;
                self.step(true);
            }
            b'\'' => {
                let from = self.at + 1;
                self.at = from + self.text[from..self.end].find('\'').ok_or(Stop::Unparsable)? + 1;
                self.emit_text((from, self.at - 1), true);
            }
            b'"' => {
                self.at += 1;
                // An empty text, so that `""` is a word.
                self.emit_text((0, 0), true);
                self.quoted(b'"', Some(inner))?;
            }
            b'`' => self.backquote(inner)?,
            b'$' => match self.peek(1) {
                b'\'' => {
                    self.at += 2;
                    let from = self.at;
                    let pieces = self.pieces.take();
                    let read = self.quoted(b'\'', None);
                    self.pieces = pieces;
                    if self.pieces.is_some() {
                        let end = self.at - usize::from(read.is_ok());
                        self.emit(Piece::Ansi(ansi(self.raw((from, end)))));
                    }
                    read?;
                }
                b'"' => {
                    self.at += 2;
                    let before = self.pieces.as_mut().map(std::mem::take);
                    let closed = self.quoted(b'"', Some(inner));
                    let read = self.pieces.take().unwrap_or_default();
                    let known = read.iter().map(|piece| match piece {
                        Piece::Text { text, .. } => Some(text.as_str()),
                        _ => None,
                    });
                    let text = known.collect::<Option<String>>();
                    self.pieces = before;
                    self.emit(text.map_or(Piece::Unknown, Piece::Ansi));
                    closed?;
                }
                _ => self.dollar(false, inner)?,
            },
            _ => self.step(false),
        }
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

    fn quoted_piece(&mut self, inner: Option<&mut Vec<Inner>>) -> Read<()> {
        self.spend_on_piece()?;
        match (self.peek(0), inner) {
            (b'\\', _) => {
                let from = self.at;
                self.at += 1;
                match self.peek(0) {
                    b'\n' => self.at += 1,
                    b'$' | b'`' | b'"' | b'\\' => self.step(true),
                    _ => {
                        self.emit_text((from, self.at), true);
                        self.step(true);
                    }
                }
            }
            (b'`', Some(inner)) => self.backquote(inner)?,
            (b'$', Some(inner)) => self.dollar(true, inner)?,
            _ => self.step(true),
        }
        Ok(())
    }

    /// Returns what is expanded in the body of a here-document.
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
            self.emit(Piece::Unknown);
        } else {
            let body = self.as_one(Piece::Unknown, |this| this.backquoted(end))?;
            inner.push(Inner::Command(body));
        }
        Ok(())
    }

    /// At a `$` outside single quotes.
    pub(super) fn dollar(&mut self, quoted: bool, inner: &mut Vec<Inner>) -> Read<()> {
        match (self.peek(1), self.peek(2)) {
            // The shell joins the lines first, so the dollar belongs to what follows.
            (b'\\', b'\n') => return Err(Stop::Unparsable),
            (b'(', b'(') => {
                self.at += 3;
                let number = self.as_one(Piece::Number, |this| this.arithmetic("))"))?;
                inner.push(Inner::Arithmetic(number));
            }
            (b'(', _) => {
                self.at += 2;
                inner.push(Inner::Command(self.as_one(Piece::Unknown, Self::substitution)?));
            }
            (b'[', _) => {
                self.at += 2;
                let number = self.as_one(Piece::Number, |this| this.arithmetic("]"))?;
                inner.push(Inner::Arithmetic(number));
            }
            (b'{', _) => {
                self.at += 2;
                let start = self.at;
                let mut within = Vec::new();
                let pieces = self.pieces.take();
                let read = self.deeper(|this| this.up_to(b'}', quoted, &mut within));
                self.pieces = pieces;
                if read.is_err() {
                    self.emit(Piece::Unknown);
                    return read;
                }
                let body = (start, self.at);
                self.at += 1;
                let name = self.raw(body);
                self.emit(match name.strip_prefix('#') {
                    None if is_name(name) => Piece::Var { name: name.to_owned(), quoted },
                    Some(of) if is_name(of) => Piece::Number,
                    _ => Piece::Unknown,
                });
                if !is_name(name) {
                    inner.push(Inner::Parameter { body, inner: within });
                }
            }
            (c, _) => {
                self.at += 1;
                let name =
                    self.rest().bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_');
                let len = match c {
                    b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => 1,
                    _ => name.count(),
                };
                if self.pieces.is_some() && len > 0 {
                    let name = self.raw((self.at, self.at + len)).to_owned();
                    self.at += len;
                    self.emit(Piece::Var { name, quoted });
                } else {
                    self.emit_text((self.at - 1, self.at), true);
                }
            }
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

    pub(super) fn arithmetic(&mut self, close: &'static str) -> Read<Arithmetic> {
        // A computation may contain others.
        self.deeper(|this| this.computation(close))
    }

    fn computation(&mut self, close: &'static str) -> Read<Arithmetic> {
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
            let mark = self.mark();
            self.at += 1;
            self.end = self.end.min(self.text.floor_char_boundary(self.at + MAX_INDEX));
            let index = self.up_to(b']', false, &mut inner);
            let behind = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
            if index.is_err() || !(behind.starts_with(b"=") || behind.starts_with(b"+=")) {
                self.rewind(mark);
                self.at = start;
                return Ok(None);
            }
            self.keep(mark);
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
