//! Redirections and here-documents.

use tree_sitter::Node;

use super::Walker;
use crate::shell::parse::{Part, Redirect, RedirectKind};
use crate::shell::word::Word;

impl<'t> Walker<'t, '_> {
    pub(super) fn redirected(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let redirects: Vec<Node<'t>> =
            node.named_children(&mut cursor).filter(|c| c.kind().ends_with("_redirect")).collect();
        match node.child_by_field_name("body") {
            Some(body) if body.kind() == "command" => {
                self.command(body, &redirects);
            }
            Some(body) => {
                let from = self.script.parts.len();
                self.node(body);
                self.loose_redirects(&redirects);
                // `a && sh <<E`: the grammar gives the here-document to the list, the shell to
                // one of its commands.
                let stdin = self.script.parts.last().and_then(|part| part.stdin.clone());
                if stdin.is_some() {
                    for part in self.script.parts.iter_mut().skip(from) {
                        part.stdin = part.stdin.take().or_else(|| stdin.clone());
                    }
                }
            }
            None => self.loose_redirects(&redirects),
        }
    }

    /// Redirections of a group, or of nothing.
    pub(super) fn loose_redirects(&mut self, nodes: &[Node<'t>]) {
        let index = self.script.parts.len();
        let mut part = Part::default();
        for node in nodes {
            self.redirect(*node, &mut part, index);
        }
        if !part.words.is_empty() {
            self.script.doubt("a word follows a redirection of a group", true);
        }
        self.part(part);
    }

    pub(super) fn redirect(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
        match node.kind() {
            "heredoc_redirect" => return self.heredoc(node, part, index),
            "herestring_redirect" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    if child.kind() != "file_descriptor" {
                        self.owned.push((child.start_byte(), child.end_byte(), index));
                        part.stdin = Some(Word::parse(self.raw(child)));
                        self.inner(child);
                    }
                }
                return;
            }
            _ => {}
        }
        let mut kind = RedirectKind::Write;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "<" => kind = RedirectKind::Read,
                "<&" | ">&" | "<&-" | ">&-" => kind = RedirectKind::Copy,
                _ => {}
            }
        }
        let mut cursor = node.walk();
        for (i, target) in node.children_by_field_name("destination", &mut cursor).enumerate() {
            let word = Word::parse(self.raw(target));
            self.owned.push((target.start_byte(), target.end_byte(), index));
            self.inner(target);
            if i > 0 {
                // `cat >out x`: the grammar gives the argument to the redirection.
                part.words.push(word);
                continue;
            }
            // `>&2` copies; `>&file` writes.
            let copies = kind == RedirectKind::Copy
                && word.literal().is_some_and(|w| w.trim_end_matches('-').parse::<u8>().is_ok());
            let kind = match kind {
                RedirectKind::Copy if !copies => RedirectKind::Write,
                kind => kind,
            };
            part.redirects.push(Redirect { kind, target: word });
        }
    }

    pub(super) fn heredoc(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
        let mut cursor = node.walk();
        let mut quoted = false;
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "file_descriptor" | "heredoc_end" | "comment" => {}
                "heredoc_start" => quoted = self.raw(child).contains(['\'', '"', '\\']),
                "heredoc_body" => {
                    let body = self.raw(child);
                    if quoted {
                        part.stdin = Some(Word::plain(body));
                    } else {
                        if body.contains(['$', '`', '\\']) {
                            self.script.doubt("a here-document is expanded by the shell", false);
                            part.stdin = Some(Word::unknown());
                        } else {
                            part.stdin = Some(Word::plain(body));
                        }
                        self.descend(child);
                    }
                }
                "file_redirect" | "herestring_redirect" => self.redirect(child, part, index),
                "pipeline" => {
                    let outer = std::mem::replace(&mut self.piped, true);
                    self.children(child);
                    self.piped = outer;
                }
                "command"
                | "list"
                | "redirected_statement"
                | "subshell"
                | "compound_statement"
                | "negated_command"
                | "test_command"
                | "variable_assignment" => self.node(child),
                _ => self.word(child, part, index),
            }
        }
    }
}
