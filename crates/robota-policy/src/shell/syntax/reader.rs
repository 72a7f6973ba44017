//! Statements.

use crate::shell::word::{Piece, is_name};

use super::{
    Compound, Document, Item, Parsed, Redirection, Sequence, Simple, Span, Spans, Statement, Stop,
    Target, WordSpan,
};

/// Statements nested deeper than this are not followed: no person nests that far.
const MAX_DEPTH: usize = 100;

/// A text may be read this many times over: what may be an index is read as one first, and then as
/// a word, and this doubles the work at every level. Text that a person writes is read twice at most.
const MAX_READINGS: usize = 32;

const DECLARE: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

/// A here-document whose body has not been read yet.
struct Pending {
    index: usize,
    /// The operator and the delimiter.
    head: Span,
    delimiter: String,
    strip_tabs: bool,
}

#[derive(Default)]
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// Where the text ends for this reader: earlier inside backquotes.
    pub(super) end: usize,
    documents: Vec<Document>,
    pub(super) spans: Spans,
    /// The pieces of the word that is read, where they are asked for.
    pub(super) pieces: Option<Vec<Piece>>,
    pending: Vec<Pending>,
    depth: usize,
    /// How many pieces and statements may still be read.
    steps: usize,
}

/// What a reader has collected up to some place, to return to it.
pub(super) struct Mark {
    at: usize,
    end: usize,
    documents: usize,
    commands: usize,
    loose: usize,
    masked: usize,
    pending: Vec<Pending>,
}

pub(super) type Read<T> = Result<T, Stop>;

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let steps = text.len().saturating_add(100).saturating_mul(MAX_READINGS);
        Self { text, end: text.len(), steps, ..Self::default() }
    }

    /// Counts one step of the work.
    pub(super) fn spend(&mut self) -> Read<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Stop::Exhausted)?;
        Ok(())
    }

    /// Begins an attempt. Here-documents that are open belong to the line around it, so that they
    /// are out of its reach.
    pub(super) fn mark(&mut self) -> Mark {
        let Spans { commands, loose, masked } = &self.spans;
        Mark {
            at: self.at,
            end: self.end,
            documents: self.documents.len(),
            commands: commands.len(),
            loose: loose.len(),
            masked: masked.len(),
            pending: std::mem::take(&mut self.pending),
        }
    }

    /// Ends an attempt that succeeded.
    pub(super) fn keep(&mut self, mark: Mark) {
        self.end = mark.end;
        self.pending = mark.pending;
    }

    /// Ends an attempt that failed: what it recorded is recorded again by the next reading.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.at = mark.at;
        self.documents.truncate(mark.documents);
        self.spans.commands.truncate(mark.commands);
        self.spans.loose.truncate(mark.loose);
        self.spans.masked.truncate(mark.masked);
        self.keep(mark);
    }

    pub(super) fn program(mut self) -> Read<Parsed> {
        let body = self.sequence(&[])?;
        if self.at < self.end || !self.pending.is_empty() {
            return Err(Stop::Unparsable);
        }
        Ok(Parsed { body, documents: self.documents, spans: self.spans })
    }

    /// Returns the byte that many after the current one; 0 at the end.
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        let at = self.at + ahead;
        if at < self.end { self.text.as_bytes()[at] } else { 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn raw(&self, span: Span) -> &'t str {
        self.text.get(span.0..span.1).unwrap_or_default()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Takes this text, which must come next.
    pub(super) fn expect(&mut self, text: &str) -> Read<()> {
        if self.eat(text) { Ok(()) } else { Err(Stop::Unparsable) }
    }

    /// Takes a word, which must come next, and says whether it does.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.bare_word() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop::Unsupported("the command is nested too deeply"));
        }
        self.spend()?;
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'#' => {
                    let line = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += line;
                }
                _ => return,
            }
        }
    }

    fn newlines(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if self.peek(0) != b'\n' {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Takes the end of a line, and the here-documents that follow it.
    pub(super) fn newline(&mut self) -> Read<()> {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            let start = self.at;
            let body_end = loop {
                let line_start = self.at;
                let rest = self.rest();
                // Bash takes the rest of the text, with a warning; here that is refused.
                if rest.is_empty() {
                    return Err(Stop::Unparsable);
                }
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.end);
                let stripped =
                    if pending.strip_tabs { line.trim_start_matches('\t') } else { line };
                if stripped == pending.delimiter {
                    break line_start;
                }
            };
            let inner = match self.documents.get(pending.index) {
                Some(document) if !document.literal => self.document((start, body_end))?,
                _ => Vec::new(),
            };
            // The other grammar understands a here-document only at the end of a line.
            if inner.is_empty() {
                self.spans.masked.extend([(pending.head, ' '), ((start, self.at), ' ')]);
            }
            if let Some(document) = self.documents.get_mut(pending.index) {
                document.body = (start, body_end);
                document.inner = inner;
            }
        }
        Ok(())
    }

    /// Statements up to one of these words, a closing bracket, `;;` or the end.
    pub(super) fn sequence(&mut self, ends: &[&str]) -> Read<Sequence> {
        let mut items = Vec::new();
        loop {
            self.newlines()?;
            if self.at >= self.end
                || self.peek(0) == b')'
                || (self.peek(0) == b';' && matches!(self.peek(1), b';' | b'&'))
                || ends.contains(&self.bare_word())
            {
                return Ok(Sequence { items });
            }
            let statement = self.deeper(Self::list)?;
            self.blanks();
            let background = self.peek(0) == b'&' && self.peek(1) != b'&';
            items.push(Item { statement, background });
            match self.peek(0) {
                b'&' if background => self.at += 1,
                b';' if !matches!(self.peek(1), b';' | b'&') => self.at += 1,
                b'\n' => self.newline()?,
                _ => return Ok(Sequence { items }),
            }
        }
    }

    /// As [`Self::sequence`], but not empty.
    fn statements(&mut self, ends: &[&str]) -> Read<Sequence> {
        let sequence = self.sequence(ends)?;
        if sequence.items.is_empty() { Err(Stop::Unparsable) } else { Ok(sequence) }
    }

    fn list(&mut self) -> Read<Statement> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let and = match (self.peek(0), self.peek(1)) {
                (b'&', b'&') => true,
                (b'|', b'|') => false,
                _ if rest.is_empty() => return Ok(first),
                _ => return Ok(Statement::List(Box::new(first), rest)),
            };
            self.at += 2;
            self.newlines()?;
            rest.push((and, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Read<Statement> {
        let mut commands = Vec::new();
        let mut timed = false;
        loop {
            self.blanks();
            match self.bare_word() {
                "!" => self.at += 1,
                "time" if self.times_a_statement() => {
                    let start = self.at;
                    self.at += "time".len();
                    self.blanks();
                    self.eat_word("-p");
                    // The other grammar takes the keyword for a command.
                    if !std::mem::replace(&mut timed, true) {
                        self.spans.masked.push(((start, self.at), ' '));
                    }
                }
                _ => break,
            }
        }
        loop {
            commands.push(self.deeper(Self::command)?);
            self.blanks();
            if self.peek(0) != b'|' || self.peek(1) == b'|' {
                break;
            }
            self.at += if self.peek(1) == b'&' { 2 } else { 1 };
            self.newlines()?;
        }
        match commands.pop() {
            Some(only) if commands.is_empty() && !timed => Ok(only),
            Some(last) => {
                commands.push(last);
                Ok(Statement::Pipeline(commands))
            }
            None => Err(Stop::Unparsable),
        }
    }

    /// Returns whether `time` is followed by something other than a simple command.
    fn times_a_statement(&mut self) -> bool {
        let start = self.at;
        self.at += "time".len();
        self.blanks();
        if self.eat_word("-p") {
            self.blanks();
        }
        let compound = self.peek(0) == b'('
            || matches!(
                self.bare_word(),
                "{" | "!" | "time" | "if" | "while" | "until" | "for" | "select" | "case" | "[["
            );
        self.at = start;
        compound
    }

    /// Returns the next word as far as it has no quotes and no meaning: keywords are such words.
    fn bare_word(&self) -> &'t str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_ascii_whitespace() || ";&|()<>'\"\\$`".contains(c))
            .unwrap_or(rest.len());
        // A word that continues with a quote is no keyword.
        if rest[end..].starts_with(['\'', '"', '\\', '$', '`']) { "" } else { &rest[..end] }
    }

    fn keyword(&mut self, word: &str) -> Read<()> {
        self.newlines()?;
        if self.eat_word(word) { Ok(()) } else { Err(Stop::Unparsable) }
    }

    fn command(&mut self) -> Read<Statement> {
        self.blanks();
        let body = match self.bare_word() {
            // Two subshells could begin so as well; then the computation cannot be read, and it is
            // refused.
            _ if self.rest().starts_with("((") => {
                self.at += 2;
                Compound::Arithmetic(self.arithmetic("))")?)
            }
            _ if self.peek(0) == b'(' => {
                self.at += 1;
                let body = self.statements(&[])?;
                self.expect(")")?;
                Compound::Subshell(body)
            }
            "{" => {
                self.at += 1;
                let body = self.statements(&["}"])?;
                self.keyword("}")?;
                Compound::Group(body)
            }
            "if" => self.conditional()?,
            word @ ("while" | "until") => {
                self.at += word.len();
                let condition = self.statements(&["do"])?;
                let body = self.do_group()?;
                Compound::While { until: word == "until", condition, body }
            }
            word @ ("for" | "select") => self.loop_over(word == "select", word.len())?,
            "case" => self.case()?,
            "[[" => self.test()?,
            "function" => {
                self.at += "function".len();
                self.blanks();
                self.word()?;
                self.blanks();
                if self.eat("(") {
                    self.blanks();
                    self.expect(")")?;
                }
                return self.function();
            }
            "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "in" | "}" | "]]" => {
                return Err(Stop::Unparsable);
            }
            _ => return self.simple(),
        };
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirection()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(Statement::Compound(body, redirects)),
            }
        }
    }

    fn function(&mut self) -> Read<Statement> {
        self.newlines()?;
        let body = self.deeper(Self::command)?;
        match body {
            Statement::Compound(..) => Ok(Statement::Function(Box::new(body))),
            _ => Err(Stop::Unparsable),
        }
    }

    fn do_group(&mut self) -> Read<Sequence> {
        self.keyword("do")?;
        let body = self.statements(&["done"])?;
        self.keyword("done")?;
        Ok(body)
    }

    fn conditional(&mut self) -> Read<Compound> {
        self.at += "if".len();
        let mut blocks = vec![self.statements(&["then"])?];
        self.keyword("then")?;
        loop {
            blocks.push(self.statements(&["elif", "else", "fi"])?);
            if self.eat_word("elif") {
                blocks.push(self.statements(&["then"])?);
                self.keyword("then")?;
                continue;
            }
            if self.eat_word("else") {
                blocks.push(self.statements(&["fi"])?);
            }
            self.keyword("fi")?;
            return Ok(Compound::If(blocks));
        }
    }

    fn loop_over(&mut self, select: bool, len: usize) -> Read<Compound> {
        self.at += len;
        self.blanks();
        if self.rest().starts_with("((") {
            self.at += 2;
            let header = self.arithmetic("))")?;
            self.blanks();
            self.eat(";");
            let body = self.do_group()?;
            return Ok(Compound::Counted(header, body));
        }
        let start = self.at;
        self.at += self.bare_word().len();
        let name = (start, self.at);
        if !is_name(self.raw(name)) || self.raw(name).starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Stop::Unparsable);
        }
        self.newlines()?;
        let mut values = None;
        if self.eat_word("in") {
            let mut words = Vec::new();
            loop {
                self.blanks();
                match self.peek(0) {
                    b';' => {
                        self.at += 1;
                        break;
                    }
                    b'\n' => break,
                    _ => words.push(self.loose_word()?),
                }
            }
            values = Some(words);
        } else {
            self.eat(";");
        }
        let body = self.do_group()?;
        Ok(Compound::For { name, values, select, body })
    }

    fn case(&mut self) -> Read<Compound> {
        self.at += "case".len();
        self.blanks();
        let value = self.loose_word()?;
        self.keyword("in")?;
        let mut items = Vec::new();
        loop {
            self.newlines()?;
            if self.eat_word("esac") {
                return Ok(Compound::Case(value, items));
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.loose_word()?);
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            let body = self.sequence(&["esac"])?;
            items.push((patterns, body));
            if ![";;&", ";;", ";&"].iter().any(|end| self.eat(end)) {
                self.newlines()?;
                if self.bare_word() != "esac" {
                    return Err(Stop::Unparsable);
                }
            }
        }
    }

    /// `[[ … ]]`: compares, so `<` and `>` are operators.
    fn test(&mut self) -> Read<Compound> {
        let mut words = Vec::new();
        let mut regex = false;
        loop {
            self.newlines()?;
            let start = self.at;
            let operator = ["&&", "||", "(", ")", "<", ">"].iter().find(|op| self.eat(op));
            if operator.is_some() && !regex {
                words.push(WordSpan { span: (start, self.at), inner: Vec::new() });
                continue;
            }
            self.at = start;
            let word = if regex { self.regex()? } else { self.word()? };
            let raw = self.raw(word.span);
            regex = raw == "=~";
            let end = raw == "]]";
            words.push(word);
            if end {
                return Ok(Compound::Test(words));
            }
        }
    }

    fn simple(&mut self) -> Read<Statement> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirection()? {
                simple.redirects.push(redirect);
                continue;
            }
            match self.peek(0) {
                b'\n' | b';' | b'&' | b'|' | b')' | 0 => break,
                b'(' => {
                    // `f ()` defines a function; nothing else has a bracket here.
                    self.at += 1;
                    self.blanks();
                    let named = simple.words.len() == 1
                        && simple.assigns.is_empty()
                        && simple.redirects.is_empty();
                    if !named || !self.eat(")") {
                        return Err(Stop::Unparsable);
                    }
                    return self.function();
                }
                _ => {}
            }
            let declares =
                simple.words.first().is_some_and(|word| DECLARE.contains(&self.raw(word.span)));
            if (simple.words.is_empty() || declares)
                && let Some(assignment) = self.assignment()?
            {
                simple.assigns.push(assignment);
                continue;
            }
            let word = self.word()?;
            // The other grammar reads it as an expression, where a redirection is a comparison.
            if simple.words.is_empty() && self.raw(word.span) == "[" {
                self.spans.masked.push((word.span, 'x'));
            }
            simple.words.push(word);
        }
        let words = simple.assigns.iter().map(|assign| &assign.word).chain(&simple.words);
        let words: Vec<Span> = words.map(|word| word.span).collect();
        if !words.is_empty() {
            self.spans.commands.push(words);
        } else if simple.redirects.is_empty() {
            return Err(Stop::Unparsable);
        }
        Ok(Statement::Simple(simple))
    }

    /// Returns a word that is none of a simple command.
    fn loose_word(&mut self) -> Read<WordSpan> {
        let word = self.word()?;
        self.spans.loose.push(word.span);
        Ok(word)
    }

    fn redirection(&mut self) -> Read<Option<Redirection>> {
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let rest = &self.rest()[digits..];
        const OPERATORS: &[&str] =
            &["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
        // A number does not belong to the first two.
        let operators = &OPERATORS[if digits == 0 { 0 } else { 2 }..];
        let Some(name) = operators.iter().find(|name| rest.starts_with(**name)) else {
            return Ok(None);
        };
        // `<(` begins a word.
        if matches!(*name, "<" | ">") && rest[1..].starts_with('(') {
            return Ok(None);
        }
        self.at += digits + name.len();
        let operator = (start, self.at);
        self.blanks();
        if !matches!(*name, "<<" | "<<-") {
            let target = Target::Word(self.loose_word()?);
            return Ok(Some(Redirection { operator, target }));
        }
        let word = self.word()?;
        let raw = self.raw(word.span);
        if raw.contains(['$', '`']) {
            return Err(Stop::Unsupported("the end of a here-document is not a plain word"));
        }
        if !raw.is_ascii() {
            return Err(Stop::Unparsable);
        }
        let index = self.documents.len();
        let head = (start, self.at);
        self.documents.push(Document {
            body: (0, 0),
            literal: raw.contains(['\'', '"', '\\']),
            inner: Vec::new(),
        });
        let delimiter = raw.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        self.pending.push(Pending { index, head, delimiter, strip_tabs: *name == "<<-" });
        Ok(Some(Redirection { operator, target: Target::Document(index) }))
    }

    /// Returns a script inside a word, up to its closing bracket.
    pub(super) fn substitution(&mut self) -> Read<Sequence> {
        // Here-documents of the line around it begin behind that line, not inside.
        let outer = std::mem::take(&mut self.pending);
        let body = self.deeper(|this| this.sequence(&[]))?;
        if !self.pending.is_empty() {
            return Err(Stop::Unparsable);
        }
        self.expect(")")?;
        self.pending = outer;
        Ok(body)
    }

    /// Returns a script between backquotes, without escapes; `end` is the position of the closing
    /// one.
    pub(super) fn backquoted(&mut self, end: usize) -> Read<Sequence> {
        let (outer, limit) =
            (std::mem::take(&mut self.pending), std::mem::replace(&mut self.end, end));
        let body = self.deeper(|this| this.sequence(&[]))?;
        if !self.pending.is_empty() || self.at != end {
            return Err(Stop::Unparsable);
        }
        self.pending = outer;
        self.end = limit;
        self.at = end + 1;
        Ok(body)
    }
}
