//! One simple command: its words, assignments and redirections.

use super::Walker;
use crate::program::read_only::indexes;
use crate::program::{Program, Trait};
use crate::shell::parse::{Assign, Part, Redirect, RedirectKind};
use crate::shell::syntax::{
    Assigned, Assignment, Inner, Redirection, Sequence, Simple, Statement, Target, WordSpan,
};
use crate::shell::vars::Value;
use crate::shell::word::{Piece, Word, is_name};
use crate::shell::{bomb, vars};
use crate::words;

impl<'t> Walker<'t, '_> {
    pub(super) fn simple(&mut self, simple: &'t Simple) {
        // Reserve the place: substitutions inside come after it.
        let index = self.push(Part::default());
        let mut part = self.script.parts[index].clone();
        let outer = std::mem::take(&mut self.reads_secret);
        for assignment in &simple.assigns {
            self.assign(assignment, &mut part);
        }
        for (at, word) in simple.words.iter().enumerate() {
            self.argument(at, word, &mut part);
        }
        for redirect in &simple.redirects {
            self.redirect(redirect, &mut part);
        }
        part.reads_secret = std::mem::replace(&mut self.reads_secret, outer);
        self.improper_assignment(&part);
        self.declaration(&mut part);
        self.single_bracket(&mut part);
        self.indexes(&part);
        let at = |i: usize| part.words.get(i).and_then(Word::bare).unwrap_or_default();
        // `coproc NAME { …; }` runs a statement, which is read as words here.
        if at(0) == "coproc" && [1, 2].iter().any(|i| words::has("reserved", at(*i))) {
            self.script.doubt("a keyword is used as a command", true);
        }
        let program = part.program().unwrap_or_default();
        // One `sleep` is limited, but not how often a loop repeats it.
        if program == "sleep" && self.rounds > 60 {
            self.script.doubt("its loop waits too long", false);
        }
        if program == "shopt" {
            // It can make globs match hidden files, as this variable does.
            self.script.vars.entry("GLOBIGNORE".into()).or_default().push(Value::Unknown);
        }
        self.named_variables(&program, &part);
        self.change_dir(&part);
        self.script.parts[index] = part;
    }

    fn argument(&mut self, at: usize, word: &'t WordSpan, part: &mut Part) {
        let from = self.script.parts.len();
        let parsed = self.word(word);
        if bomb::count(&parsed) > bomb::MAX_WORDS {
            self.script.doubt("a brace list expands to too many words", false);
        }
        if let [Inner::Command(_)] = word.inner.as_slice() {
            let commands = self.script.parts[from..].iter().map(|part| part.words.clone());
            part.outputs.push((at, commands.collect()));
        }
        part.words.push(parsed);
        self.script.words += 1;
    }

    /// `1X=2 rm x`: a command to the shell, and an assignment to people.
    fn improper_assignment(&mut self, part: &Part) {
        let Some((first, rest)) = part.words.split_first() else { return };
        let improper = match first.pieces.first() {
            Some(Piece::Text { text, quoted: false }) => {
                text.split_once('=').is_some_and(|(name, _)| {
                    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
                })
            }
            _ => false,
        };
        if improper {
            self.script.doubt("an assignment has no proper name", true);
            self.push(Part { words: rest.to_vec(), ..Part::default() });
        }
    }

    fn named_variables(&mut self, program: &str, part: &Part) {
        let by_flag = program == "printf"
            && part.words.get(1).and_then(Word::value).is_some_and(|text| text.starts_with("-v"));
        let names = |known: &Program| known.is(Trait::Variables);
        if !by_flag && !Program::find(program).is_some_and(names) {
            return;
        }
        for name in part.words.iter().skip(1).filter_map(Word::value) {
            let name = if by_flag { name.trim_start_matches("-v") } else { &name };
            if is_name(name) {
                self.script.vars.entry(name.to_owned()).or_default().push(Value::Unknown);
            }
        }
    }

    fn assign(&mut self, assignment: &'t Assignment, part: &mut Part) {
        let name = self.raw(assignment.name).to_owned();
        self.inner(&assignment.word.inner);
        let value = match &assignment.value {
            Assigned::Word(span) if span.0 == span.1 => Some(Word::plain("")),
            Assigned::Word(span) => Some(self.parsed(self.raw(*span))),
            Assigned::Array(values) => {
                for value in values {
                    self.word(value);
                }
                None
            }
        };
        if bomb::count(&Word::parse(self.raw(assignment.word.span))) > bomb::MAX_WORDS {
            self.script.doubt("a brace list expands to too many words", false);
        }
        let (plain, index) = name.split_once('[').unwrap_or((&name, ""));
        if !index.trim_end_matches(']').chars().all(|c| c.is_ascii_digit()) {
            self.computes();
        }
        if value.as_ref().is_some_and(indexes) {
            self.script.doubt("an array index can run commands", false);
        }
        let given = match &value {
            // Of a value that is added to, the beginning may not be known.
            Some(word) if !assignment.adds && index.is_empty() => Value::Set(word.clone()),
            _ => Value::Unknown,
        };
        self.script.vars.entry(plain.to_owned()).or_default().push(given);
        part.assigns.push(Assign { name, value });
    }

    /// `export A=b`, `declare -n A=b`, `unset A`: words that assign.
    fn declaration(&mut self, part: &mut Part) {
        let program = part.program().unwrap_or_default();
        if !Program::find(&program).is_some_and(|known| known.is(Trait::Declares)) {
            return;
        }
        part.declares = true;
        // Quoted ones assign as well.
        let mut at = 1;
        while let Some(word) = part.words.get(at) {
            let split = word.value().and_then(|text| {
                let (name, value) = text.split_once('=')?;
                is_name(name).then(|| (name.to_owned(), Word::plain(value)))
            });
            let Some((name, value)) = split.filter(|_| program != "unset") else {
                at += 1;
                continue;
            };
            self.script.vars.entry(name.clone()).or_default().push(Value::Set(value.clone()));
            part.assigns.push(Assign { name, value: Some(value) });
            part.words.remove(at);
        }
        let flags = part.words.iter().skip(1).filter_map(Word::value);
        let letters: String = flags.filter(|text| text.starts_with(['-', '+'])).collect();
        // `declare -i` evaluates the values.
        if letters.contains('i') {
            self.computes();
        }
        if letters.contains('n') && program != "unset" {
            for assign in &part.assigns {
                if let Some(target) = assign.value.as_ref().and_then(Word::value) {
                    self.aliases.push((assign.name.clone(), target));
                }
            }
        }
    }

    /// Returns whether a loop's condition is a `read`, which ends with its input.
    pub(super) fn reads_on(&self, condition: &Sequence) -> bool {
        let [item] = condition.items.as_slice() else { return false };
        let Statement::Simple(simple) = &item.statement else { return false };
        let words: Vec<Word> =
            simple.words.iter().map(|word| Word::parse(self.raw(word.span))).collect();
        simple.redirects.is_empty()
            && !item.background
            && words.first().and_then(Word::value).as_deref() == Some("read")
            && vars::reads_lines(&words[1..])
    }

    /// Redirections of a statement that is no simple command: a part of their own.
    pub(super) fn redirects(&mut self, redirects: &'t [Redirection]) {
        if redirects.is_empty() {
            return;
        }
        let index = self.push(Part::default());
        let mut part = self.script.parts[index].clone();
        for redirect in redirects {
            self.redirect(redirect, &mut part);
        }
        self.script.parts[index] = part;
    }

    pub(super) fn redirect(&mut self, redirect: &'t Redirection, part: &mut Part) {
        let operator = self.raw(redirect.operator).trim_start_matches(|c: char| c.is_ascii_digit());
        let word = match &redirect.target {
            Target::Document(index) => return self.document(*index, part),
            Target::Word(word) => self.word(word),
        };
        let descriptor = |text: String| {
            text == "-" || text.strip_suffix('-').unwrap_or(&text).parse::<u8>().is_ok()
        };
        let kind = match operator {
            "<<<" => {
                part.stdin = Some(word);
                return;
            }
            "<" => RedirectKind::Read,
            // `>&2` copies; `>&file` writes.
            "<&" | ">&" if word.value().is_some_and(descriptor) => RedirectKind::Copy,
            _ => RedirectKind::Write,
        };
        let raw = format!("{}{}", self.raw(redirect.operator), word.raw);
        part.redirects.push(Redirect { kind, target: word, raw });
    }

    fn document(&mut self, index: usize, part: &mut Part) {
        let Some(document) = self.documents.get(index) else { return };
        self.inner(&document.inner);
        let body = self.raw(document.body);
        let expanded = !document.literal && body.contains(['$', '`', '\\']);
        if expanded {
            for text in body.split('$').skip(1) {
                let text = text.strip_prefix('{').unwrap_or(text);
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                self.reads(text.split(|c| !is_name(c)).next().unwrap_or_default());
            }
        }
        part.stdin = Some(if expanded { Word::unknown() } else { Word::plain(body) });
    }
}
