//! The positions of the words of each command, by our own parser.

use crate::shell::syntax::{
    Arithmetic, Assigned, Compound, Inner, Parsed, Redirection, Sequence, Simple, Span, Statement,
    Target, WordSpan,
};

/// The words of a text.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// The words of each simple command.
    pub(super) commands: Vec<Vec<Span>>,
    /// Words of redirections.
    pub(super) loose: Vec<Span>,
    /// Words that the other grammar is known to misread, and what it reads in their place.
    pub(super) masked: Vec<(Span, char)>,
}

impl Spans {
    pub(super) fn of(parsed: &Parsed) -> Self {
        let mut spans = Self::default();
        spans.sequence(&parsed.body);
        for document in &parsed.documents {
            spans.inner(&document.inner);
            // It understands a here-document only at the end of a line.
            if document.inner.is_empty() {
                spans.masked.push((document.head, ' '));
                spans.masked.push(((document.body.0, document.end), ' '));
            }
        }
        spans
    }

    fn sequence(&mut self, sequence: &Sequence) {
        sequence.items.iter().for_each(|item| self.statement(&item.statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Simple(simple) => self.simple(simple),
            Statement::List { first, rest } => {
                self.statement(first);
                rest.iter().for_each(|(_, statement)| self.statement(statement));
            }
            Statement::Pipeline { timed, commands } => {
                // It takes the keyword for a command.
                self.masked.extend(timed.iter().map(|span| (*span, ' ')));
                commands.iter().for_each(|command| self.statement(command));
            }
            Statement::Compound { body, redirects } => {
                self.compound(body);
                self.redirects(redirects);
            }
            Statement::Function { body } => self.statement(body),
        }
    }

    fn compound(&mut self, body: &Compound) {
        match body {
            Compound::Group(sequence) | Compound::Subshell(sequence) => self.sequence(sequence),
            Compound::If(blocks) => blocks.iter().for_each(|block| self.sequence(block)),
            Compound::While { until: _, condition, body } => {
                self.sequence(condition);
                self.sequence(body);
            }
            Compound::For { name: _, values, select: _, body } => {
                values.iter().flatten().for_each(|word| self.word(word));
                self.sequence(body);
            }
            Compound::Counted { header, body } => {
                self.arithmetic(header);
                self.sequence(body);
            }
            Compound::Case { value, items } => {
                self.word(value);
                for (patterns, body) in items {
                    patterns.iter().for_each(|pattern| self.word(pattern));
                    self.sequence(body);
                }
            }
            Compound::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
            Compound::Test(words) => words.iter().for_each(|word| self.inner(&word.inner)),
        }
    }

    fn simple(&mut self, simple: &Simple) {
        // It reads `[` as an expression, where a redirection is a comparison.
        if let Some(first) = simple.words.first()
            && simple.bracket
        {
            self.masked.push((first.span, 'x'));
        }
        let mut words = Vec::new();
        for assign in &simple.assigns {
            words.push(assign.word.span);
            self.inner(&assign.word.inner);
            if let Assigned::Array(values) = &assign.value {
                values.iter().for_each(|value| self.inner(&value.inner));
            }
        }
        for word in &simple.words {
            words.push(word.span);
            self.inner(&word.inner);
        }
        if !words.is_empty() {
            self.commands.push(words);
        }
        self.redirects(&simple.redirects);
    }

    fn redirects(&mut self, redirects: &[Redirection]) {
        for redirect in redirects {
            match &redirect.target {
                Target::Word(word) => self.word(word),
                Target::Document(_) => {}
            }
        }
    }

    fn word(&mut self, word: &WordSpan) {
        self.loose.push(word.span);
        self.inner(&word.inner);
    }

    fn inner(&mut self, inner: &[Inner]) {
        for inner in inner {
            match inner {
                Inner::Command(body) | Inner::Process(body) => self.sequence(body),
                Inner::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
                Inner::Parameter { body: _, inner } => self.inner(inner),
                Inner::Escaped(_) => {}
            }
        }
    }

    fn arithmetic(&mut self, arithmetic: &Arithmetic) {
        self.inner(&arithmetic.inner);
    }
}
