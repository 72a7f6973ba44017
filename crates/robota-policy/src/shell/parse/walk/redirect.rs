//! Redirections and here-documents.

use super::Walker;
use crate::shell::parse::{Part, Redirect, RedirectKind};
use crate::shell::syntax::{Redirection, Target};
use crate::shell::word::Word;

impl<'t> Walker<'t, '_> {
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
