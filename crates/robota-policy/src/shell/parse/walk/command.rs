//! One simple command: its words and assignments.

use tree_sitter::Node;

use super::{MAX_DEPTH, Walker};
use crate::shell::bomb;
use crate::shell::parse::{Assign, Part};
use crate::shell::readonly::indexes;
use crate::shell::vars::Value;
use crate::shell::word::{Piece, Word};
use crate::shell::wrappers::is_reserved;

impl<'t> Walker<'t, '_> {
    pub(super) fn command(&mut self, node: Node<'t>, redirects: &[Node<'t>]) {
        let index = self.script.parts.len();
        // Reserve the place: substitutions inside come after it.
        self.script.parts.push(Part::default());
        let mut part = Part {
            piped: self.piped,
            upstream: self.upstream.clone(),
            bound: self.bound.clone(),
            ..Part::default()
        };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => self.assign(child, &mut part, index),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, &mut part, index);
                }
                "subshell" => self.unknown(child, "a subshell stands where an argument should"),
                "comment" => {}
                _ => self.word(child, &mut part, index),
            }
        }
        for redirect in redirects {
            self.redirect(*redirect, &mut part, index);
        }
        let at = |i: usize| part.words.get(i).map_or("", |word| word.raw.as_str());
        let skipped = usize::from(matches!(at(0), "time" | "coproc"));
        let skipped = skipped + usize::from(skipped == 1 && at(1) == "-p");
        if is_reserved(at(skipped)) || (skipped > 0 && is_reserved(at(skipped + 1))) {
            self.script.doubt("a word of the language stands where a command should", true);
        }
        if at(0) == "sleep" && self.rounds > 60 {
            self.script.doubt("its loop waits too long", false);
        }
        if matches!(at(0), "read" | "mapfile" | "readarray" | "getopts" | "printf" | "select") {
            // Words that these builtins may take for the names of variables.
            for name in part.words.iter().skip(1).filter_map(Word::literal) {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if at(0) != "printf" || at(1) == "-v" {
                    let named = !name.is_empty() && name.chars().all(plain);
                    let values = named.then(|| self.script.vars.entry(name).or_default());
                    values.into_iter().for_each(|values| values.push(Value::Unknown));
                }
            }
        }
        self.split_lines(&mut part);
        // A `cd` itself is judged where it stands.
        part.cwd = self.cwd.clone();
        self.change_dir(&part);
        part.hidden = self.hidden;
        self.script.parts[index] = part;
    }

    /// The grammar takes a line that begins with a backslash for more of the line before. To the
    /// shell it is a command of its own.
    pub(super) fn split_lines(&mut self, part: &mut Part) {
        let broken = |word: &Word| {
            word.pieces.iter().any(
                |piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains('\n')),
            )
        };
        while let Some(at) = part.words.iter().rposition(broken) {
            self.script.doubt("two readings of the command differ", true);
            let mut words = part.words.split_off(at);
            words[0] = Word::parse(words[0].raw.trim_start());
            if broken(&words[0]) {
                words[0] = Word::unknown();
            }
            self.script.parts.push(Part {
                words,
                hidden: true,
                cwd: self.cwd.clone(),
                ..Part::default()
            });
        }
    }

    pub(super) fn word(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
        self.owned.push((node.start_byte(), node.end_byte(), index));
        let word = Word::parse(self.raw(node));
        if bomb::count(&word) > bomb::MAX_WORDS {
            self.script.doubt("a brace list stands for too many words", false);
        }
        part.words.push(word);
        self.inner(node);
    }

    /// Substitutions inside a word.
    pub(super) fn inner(&mut self, node: Node<'t>) {
        match node.kind() {
            "command_substitution" => self.unknown(node, "it contains a command substitution"),
            "process_substitution" => self.unknown(node, "it contains a process substitution"),
            "arithmetic_expansion" => self.unknown(node, "it computes, which can run commands"),
            "expansion" => {
                if Word::parse(self.raw(node)).has_unknown() {
                    self.script.doubt("it contains a complicated expansion", false);
                }
                self.descend(node);
            }
            _ => self.descend(node),
        }
    }

    pub(super) fn descend(&mut self, node: Node<'t>) {
        if self.depth > MAX_DEPTH {
            self.script.doubt("the command is nested too deeply", true);
            return;
        }
        if node.named_child_count() == 0 {
            return;
        }
        self.depth += 1;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.inner(child);
        }
        self.depth -= 1;
    }

    pub(super) fn assign(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
        self.owned.push((node.start_byte(), node.end_byte(), index));
        let name = node.child_by_field_name("name");
        let value = node.child_by_field_name("value");
        let name = name.map_or("", |n| self.raw(n)).to_owned();
        let value = match value {
            Some(v) if v.kind() == "array" => None,
            Some(v) => Some(Word::parse(self.raw(v))),
            None => Some(Word::plain("")),
        };
        let plain = name.split('[').next().unwrap_or_default();
        if plain.starts_with(|c: char| c.is_ascii_digit())
            || plain.is_empty()
            || !plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            // The shell takes it for a command.
            self.script.doubt("an assignment has no proper name", true);
        }
        if bomb::count(&Word::parse(self.raw(node))) > bomb::MAX_WORDS {
            self.script.doubt("a brace list stands for too many words", false);
        }
        if name.contains('[') || value.as_ref().is_some_and(indexes) {
            self.script.doubt("an array index can run commands", false);
        }
        let adds = node.child(1).is_some_and(|operator| operator.kind() == "+=");
        let given = match &value {
            Some(word) if !adds => Value::Set(word.clone()),
            _ => Value::Unknown,
        };
        self.script.vars.entry(name.clone()).or_default().push(given);
        part.assigns.push(Assign { name, value });
        self.descend(node);
    }

    pub(super) fn assignments(&mut self, nodes: &[Node<'t>]) {
        let index = self.script.parts.len();
        self.script.parts.push(Part::default());
        let mut part = Part::default();
        for node in nodes {
            self.assign(*node, &mut part, index);
        }
        part.cwd = self.cwd.clone();
        part.hidden = self.hidden;
        self.script.parts[index] = part;
    }

    pub(super) fn declaration(&mut self, node: Node<'t>) {
        let index = self.script.parts.len();
        self.script.parts.push(Part::default());
        let mut part = Part { declares: true, ..Part::default() };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => self.assign(child, &mut part, index),
                "comment" => {}
                _ => self.word(child, &mut part, index),
            }
        }
        part.cwd = self.cwd.clone();
        part.hidden = self.hidden;
        self.script.parts[index] = part;
    }
}
