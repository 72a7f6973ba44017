//! The walk over the grammar's tree.

mod command;
mod folder;
mod loops;
mod redirect;
mod test;
mod tree;

use std::path::Path;

use tree_sitter::Node;

use self::tree::{masked, tree};
use super::{Cwd, Part, Script, agree};
use crate::shell::word::Word;

/// Trees deeper than this are not followed: no person nests that far.
const MAX_DEPTH: usize = 200;

pub(super) struct Walker<'t, 's> {
    text: &'t str,
    home: &'t Path,
    script: &'s mut Script,
    cwd: Cwd,
    /// Inside a substitution, function or the like.
    hidden: bool,
    piped: bool,
    /// The commands before this one in its pipeline.
    upstream: Vec<Vec<Word>>,
    /// Variables that are set whenever the next command runs.
    bound: Vec<String>,
    /// How often the innermost loop's body runs, at most.
    rounds: u64,
    depth: usize,
    /// Words and who owns them (the index of the part), for the check against the lexer.
    pub(super) owned: Vec<(usize, usize, usize)>,
    /// Stretches that hold words of no command (loop headers, patterns, tests).
    pub(super) free: Vec<(usize, usize)>,
    /// Where the last command leaves us if it was a `cd` that worked.
    after_cd: Option<Cwd>,
}

pub(super) fn walk(text: &str, cwd: &Path, home: &Path, script: &mut Script) {
    let Some(plain) = masked(text) else {
        script.doubt("the command could not be parsed", true);
        return;
    };
    let Some(tree) = tree(&plain) else {
        script.doubt("the command could not be parsed", true);
        return;
    };
    let mut walker = Walker {
        text,
        home,
        script,
        cwd: Cwd { dirs: vec![cwd.to_owned()], lost: false, moved: false },
        hidden: false,
        piped: false,
        upstream: Vec::new(),
        bound: Vec::new(),
        rounds: 1,
        depth: 0,
        owned: Vec::new(),
        free: Vec::new(),
        after_cd: None,
    };
    if tree.root_node().has_error() {
        walker.script.doubt("the command could not be parsed", true);
    }
    walker.node(tree.root_node());
    let (owned, free) = (walker.owned, walker.free);
    agree::check(text, &owned, &free, cwd, script);
}

impl<'t> Walker<'t, '_> {
    fn raw(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn children(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.node(child);
        }
    }

    fn node(&mut self, node: Node<'t>) {
        if self.depth > MAX_DEPTH {
            self.script.doubt("the command is nested too deeply", true);
            return;
        }
        self.depth += 1;
        self.statement(node);
        self.depth -= 1;
    }

    fn statement(&mut self, node: Node<'t>) {
        match node.kind() {
            "comment" => {}
            "program" => self.program(node),
            "if_statement" | "elif_clause" | "else_clause" | "do_group" | "negated_command" => {
                self.children(node);
            }
            "while_statement" => {
                self.script.endless = true;
                self.children(node);
            }
            "list" => self.list(node),
            "pipeline" => self.pipeline(node),
            "subshell" => self.scoped(node),
            "compound_statement" => {
                if self.raw(node).starts_with("((") {
                    self.unknown(node, "it computes, which can run commands");
                } else {
                    self.children(node);
                }
            }
            "for_statement" => self.for_loop(node),
            "case_statement" => self.case(node),
            "case_item" => self.case_item(node),
            "redirected_statement" => self.redirected(node),
            "command" => {
                self.command(node, &[]);
            }
            "variable_assignment" => self.assignments(&[node]),
            "variable_assignments" => {
                let mut cursor = node.walk();
                let list: Vec<_> = node.named_children(&mut cursor).collect();
                self.assignments(&list);
            }
            "declaration_command" | "unset_command" => self.declaration(node),
            "test_command" => self.test(node),
            "function_definition" => {
                self.unknown(node, "it defines a function");
            }
            "heredoc_redirect" | "file_redirect" | "herestring_redirect" => {
                self.loose_redirects(&[node]);
            }
            "word"
            | "string"
            | "raw_string"
            | "concatenation"
            | "number"
            | "simple_expansion"
            | "expansion"
            | "ansi_c_string"
            | "translated_string"
            | "arithmetic_expansion"
            | "command_substitution"
            | "process_substitution"
            | "brace_expression"
            | "variable_name" => self.inner(node),
            "ERROR" => self.unknown_hard(node),
            kind => {
                let why =
                    format!("it contains a {} that is not looked into", kind.replace('_', " "));
                self.unknown(node, &why);
            }
        }
    }

    /// The statements of a script, one after the other.
    fn program(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.node(child);
            let sets = match child.kind() {
                "variable_assignment" => vec![child],
                "variable_assignments" => {
                    let mut inner = child.walk();
                    child.named_children(&mut inner).collect()
                }
                _ => Vec::new(),
            };
            // In the background it is set in another shell.
            if child.next_sibling().is_none_or(|next| next.kind() != "&") {
                for name in sets.iter().filter_map(|set| set.child_by_field_name("name")) {
                    self.bound.push(self.raw(name).to_owned());
                }
            }
        }
    }

    /// Looks for commands below, without trusting what is found.
    fn unknown(&mut self, node: Node<'t>, why: &str) {
        self.script.doubt(why, false);
        self.hide(|this| this.children(node));
    }

    fn unknown_hard(&mut self, node: Node<'t>) {
        self.script.doubt("the command could not be parsed", true);
        self.hide(|this| this.children(node));
    }

    fn hide(&mut self, run: impl FnOnce(&mut Self)) {
        let (hidden, cwd) = (self.hidden, self.cwd.clone());
        self.hidden = true;
        run(self);
        self.hidden = hidden;
        self.cwd = cwd;
    }

    fn list(&mut self, node: Node<'t>) {
        let both = node.child(1).is_some_and(|op| op.kind() == "&&");
        let mut cursor = node.walk();
        for (i, child) in node.named_children(&mut cursor).enumerate() {
            if i == 1
                && both
                && let Some(there) = self.after_cd.take()
            {
                // The right side runs only if the `cd` worked.
                let before = std::mem::replace(&mut self.cwd, there);
                self.node(child);
                let ended = self.after_cd.take();
                self.cwd.join(&before);
                self.after_cd = ended;
            } else {
                self.after_cd = None;
                self.node(child);
            }
        }
    }

    fn pipeline(&mut self, node: Node<'t>) {
        let outer = self.piped;
        let before = self.upstream.len();
        let mut cursor = node.walk();
        for (i, child) in node.named_children(&mut cursor).enumerate() {
            self.piped = i > 0 || outer;
            let from = self.script.parts.len();
            // Each side runs in a shell of its own.
            self.scoped_one(child);
            let written = self.script.parts.iter().skip(from).map(|part| part.words.clone());
            self.upstream.extend(written.filter(|words| !words.is_empty()));
        }
        self.upstream.truncate(before);
        self.piped = outer;
    }

    fn scoped(&mut self, node: Node<'t>) {
        let cwd = self.cwd.clone();
        self.children(node);
        self.cwd = cwd;
        self.after_cd = None;
    }

    fn scoped_one(&mut self, node: Node<'t>) {
        let cwd = self.cwd.clone();
        self.node(node);
        self.cwd = cwd;
        self.after_cd = None;
    }

    fn part(&mut self, mut part: Part) {
        part.cwd = self.cwd.clone();
        part.bound = self.bound.clone();
        part.hidden = self.hidden;
        self.script.parts.push(part);
    }
}
