//! Walks statements and collects the simple commands that they run.

mod command;
mod folder;
mod inner;
mod loops;

use std::path::Path;

use super::{Cwd, Names, Part, Redirect, RedirectKind, Script};
use crate::shell::syntax::{Compound, Document, Parsed, Sequence, Span, Statement};
use crate::shell::word::Word;

/// Each command of a pipeline knows those before it, so that they must not be too many.
const MAX_UPSTREAM: usize = 64;

pub(super) struct Walker<'t, 's> {
    text: &'t str,
    home: &'t Path,
    documents: &'t [Document],
    script: &'s mut Script,
    cwd: Cwd,
    /// Inside a function: whether and when it runs is not known.
    hidden: bool,
    substituted: bool,
    /// It reads what a pipe or the redirection of a statement gives it.
    piped: bool,
    upstream: Vec<Vec<Word>>,
    bound: Names,
    rounds: u64,
    /// Where the last command leaves us if it was a `cd` that worked.
    after_cd: Option<Cwd>,
    numbers: Vec<String>,
    /// Names that refer to other variables (`declare -n NAME=TARGET`).
    aliases: Vec<(String, String)>,
    within: Vec<&'static str>,
    /// The words since the last command read a variable with the name of a secret.
    reads_secret: bool,
}

pub(super) fn walk(text: &str, parsed: &Parsed, cwd: &Path, home: &Path, script: &mut Script) {
    let mut walker = Walker {
        text,
        home,
        documents: &parsed.documents,
        script,
        cwd: Cwd::at(cwd),
        hidden: false,
        substituted: false,
        piped: false,
        upstream: Vec::new(),
        bound: Names::default(),
        rounds: 1,
        after_cd: None,
        numbers: Vec::new(),
        aliases: Vec::new(),
        within: Vec::new(),
        reads_secret: false,
    };
    walker.program(&parsed.body);
    walker.settle();
    // Words of loops and tests belong to no command.
    let outside = walker.reads_secret;
    script.parts.iter_mut().for_each(|part| part.reads_secret |= outside);
}

impl<'t> Walker<'t, '_> {
    fn raw(&self, span: Span) -> &'t str {
        self.text.get(span.0..span.1).unwrap_or_default()
    }

    /// Walks the statements of a whole script: their assignments apply to all that follow.
    fn program(&mut self, sequence: &'t Sequence) {
        for item in &sequence.items {
            self.statement(&item.statement);
            if item.background {
                // It was set in a subshell.
                continue;
            }
            // With words behind them they are set for that command alone.
            if let Statement::Simple(simple) = &item.statement
                && simple.words.is_empty()
            {
                for assign in &simple.assigns {
                    self.bound = self.bound.with(self.raw(assign.name).to_owned());
                }
            }
        }
    }

    fn sequence(&mut self, sequence: &'t Sequence) {
        for item in &sequence.items {
            self.statement(&item.statement);
        }
    }

    fn statement(&mut self, statement: &'t Statement) {
        match statement {
            Statement::Simple(simple) => self.simple(simple),
            Statement::List(first, rest) => self.list(first, rest),
            Statement::Pipeline(commands) => self.pipeline(commands),
            Statement::Function(body) => {
                // Later words may call it, whatever program they are called like.
                self.script.doubt("it defines a function", false);
                let (hidden, cwd) = (self.hidden, self.cwd.clone());
                self.hidden = true;
                self.within.push("function");
                self.statement(body);
                self.within.pop();
                self.hidden = hidden;
                self.cwd = cwd;
                self.after_cd = None;
            }
            Statement::Compound(body, redirects) => {
                let from = self.script.parts.len();
                self.redirects(redirects);
                let own = self.script.parts.get(from).filter(|_| !redirects.is_empty());
                let reads = |r: &Redirect| r.kind == RedirectKind::Read;
                let stdin = own.and_then(|part| part.stdin.clone());
                let fed =
                    stdin.is_some() || own.is_some_and(|part| part.redirects.iter().any(reads));
                let piped = self.piped;
                self.piped |= fed;
                self.within.push(label(body));
                self.compound(body);
                self.within.pop();
                self.piped = piped;
                // `{ sh; } <<E`: every command inside reads it.
                if stdin.is_some() {
                    for part in self.script.parts.iter_mut().skip(from) {
                        part.stdin = part.stdin.take().or_else(|| stdin.clone());
                    }
                }
            }
        }
    }

    fn compound(&mut self, body: &'t Compound) {
        match body {
            Compound::Group(sequence) => self.sequence(sequence),
            Compound::Subshell(sequence) => self.scoped(|this| this.sequence(sequence)),
            Compound::If(blocks) => blocks.iter().for_each(|block| self.sequence(block)),
            Compound::While { until, condition, body } => {
                self.script.endless |= *until || !self.reads_on(condition);
                self.sequence(condition);
                self.sequence(body);
            }
            Compound::For { name, values, select, body } => {
                self.for_loop(*name, values.as_deref(), *select, body);
            }
            Compound::Counted(header, body) => {
                self.script.doubt("it contains a counted loop, which is not analysed", false);
                self.computed(header);
                self.sequence(body);
            }
            Compound::Case(value, items) => self.case(value, items),
            Compound::Arithmetic(arithmetic) => self.computed(arithmetic),
            Compound::Test(words) => self.compare(words),
        }
        self.after_cd = None;
    }

    fn list(&mut self, first: &'t Statement, rest: &'t [(bool, Statement)]) {
        self.after_cd = None;
        self.statement(first);
        for (and, right) in rest {
            match self.after_cd.take() {
                Some(there) if *and => {
                    // The right side runs only if the `cd` worked.
                    let before = std::mem::replace(&mut self.cwd, there);
                    self.statement(right);
                    let ended = self.after_cd.take();
                    // The `cd` may have failed, so what follows may run in either folder.
                    self.cwd.join(&before);
                    self.after_cd = ended;
                }
                _ => self.statement(right),
            }
        }
    }

    fn pipeline(&mut self, commands: &'t [Statement]) {
        let outer = self.piped;
        let before = self.upstream.len();
        for (i, command) in commands.iter().enumerate() {
            self.piped = i > 0 || outer;
            let from = self.script.parts.len();
            // Each side runs in a shell of its own.
            self.scoped(|this| this.statement(command));
            let written = self.script.parts.iter().skip(from).map(|part| part.words.clone());
            self.upstream.extend(written.filter(|words| !words.is_empty()));
            if self.upstream.len() > MAX_UPSTREAM {
                self.script.doubt("a pipeline has more commands than are analysed", true);
                self.upstream.clear();
            }
        }
        self.upstream.truncate(before);
        self.piped = outer;
    }

    /// Walks something that runs in a subshell: its `cd`s have no effect after it.
    fn scoped(&mut self, run: impl FnOnce(&mut Self)) {
        let cwd = self.cwd.clone();
        run(self);
        self.cwd = cwd;
        self.after_cd = None;
    }

    fn push(&mut self, part: Part) -> usize {
        let index = self.script.parts.len();
        // Of too many commands only the words are compared with rules.
        let upstream = if self.script.is_crowded() { Vec::new() } else { self.upstream.clone() };
        self.script.parts.push(Part {
            cwd: self.cwd.clone(),
            bound: self.bound.clone(),
            hidden: self.hidden,
            substituted: self.substituted,
            piped: self.piped,
            upstream,
            within: self.within.clone(),
            ..part
        });
        index
    }
}

fn label(body: &Compound) -> &'static str {
    match body {
        Compound::Group(_) => "{ }",
        Compound::Subshell(_) => "( )",
        Compound::If(_) => "if",
        Compound::While { until: false, .. } => "while",
        Compound::While { until: true, .. } => "until",
        Compound::For { select: false, .. } | Compound::Counted(..) => "for",
        Compound::For { select: true, .. } => "select",
        Compound::Case(..) => "case",
        Compound::Arithmetic(_) => "(( ))",
        Compound::Test(_) => "[[ ]]",
    }
}
