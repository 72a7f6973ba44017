//! The walk over the grammar's tree.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::{Path, PathBuf};

use tree_sitter::{Node, Parser, Tree};

use super::{Assign, Cwd, Part, Redirect, RedirectKind, Script, agree};
use crate::shell::bomb;
use crate::shell::readonly::indexes;
use crate::shell::vars::Value;
use crate::shell::word::{Piece, Word};
use crate::shell::wrappers::is_reserved;

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

thread_local! {
    /// A parser costs more to make than a command to parse. It keeps nothing of what it parsed.
    static PARSER: Cell<Option<Parser>> = const { Cell::new(None) };
}

fn tree(text: &str) -> Option<Tree> {
    let mut parser = match PARSER.take() {
        Some(parser) => parser,
        None => {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            parser
        }
    };
    let tree = parser.parse(text, None);
    parser.reset();
    PARSER.set(Some(parser));
    tree
}

/// The text with every character beyond ASCII replaced by letters of the same length: the
/// grammar's scanner must not see them (it looks them up in a table that ends at 255), and to the
/// shell they are letters. The letter occurs nowhere else, so that no line becomes the end of a
/// here-document; `None` when every letter does, or when such an end is spelled with them.
fn masked(text: &str) -> Option<Cow<'_, str>> {
    if text.is_ascii() {
        return Some(text.into());
    }
    let ends = text.split("<<").skip(1).filter_map(|rest| rest.split_whitespace().next());
    if ends.into_iter().any(|word| !word.is_ascii()) {
        return None;
    }
    let letter = "QZXJKVWYqzxjkvwy".chars().find(|letter| !text.contains(*letter))?;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n(letter, c.len_utf8()));
        }
    }
    Some(out.into())
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

    fn for_loop(&mut self, node: Node<'t>) {
        let (rounds, bound) = (self.rounds, self.bound.len());
        // It asks until there is no more input.
        self.script.endless |= self.raw(node).starts_with("select");
        if let Some(name) = node.child_by_field_name("variable") {
            let name = self.raw(name).to_owned();
            self.part(Part {
                assigns: vec![Assign { name: name.clone(), value: None }],
                ..Part::default()
            });
            let mut cursor = node.walk();
            let values: Vec<Word> = node
                .children_by_field_name("value", &mut cursor)
                .map(|value| Word::parse(self.raw(value)))
                .collect();
            let times =
                values.iter().fold(0_u64, |sum, word| sum.saturating_add(bomb::count(word)));
            self.rounds = self.rounds.saturating_mul(times.max(1));
            if self.rounds > bomb::MAX_ROUNDS {
                self.script.doubt("its loops run too often", false);
            }
            let known = self.script.vars.entry(name.clone()).or_default();
            if values.is_empty() {
                known.push(Value::Unknown);
            }
            known.extend(values.into_iter().map(Value::Each));
            self.bound.push(name);
        }
        let body = node.child_by_field_name("body");
        let end = body.map_or(node.end_byte(), |b| b.start_byte());
        self.free.push((node.start_byte(), end));
        let mut cursor = node.walk();
        for value in node.children_by_field_name("value", &mut cursor) {
            if indexes(&Word::parse(self.raw(value))) {
                self.script.doubt("an array index can run commands", false);
            }
            self.inner(value);
        }
        if let Some(body) = body {
            self.node(body);
        }
        self.rounds = rounds;
        self.bound.truncate(bound);
    }

    fn case(&mut self, node: Node<'t>) {
        if let Some(value) = node.child_by_field_name("value") {
            self.free.push((value.start_byte(), value.end_byte()));
            self.inner(value);
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|c| c.kind() == "case_item") {
            self.node(child);
        }
    }

    fn case_item(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let values: Vec<Node<'t>> = node.children_by_field_name("value", &mut cursor).collect();
        for value in &values {
            self.free.push((value.start_byte(), value.end_byte()));
            self.inner(*value);
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if !values.contains(&child) {
                self.node(child);
            }
        }
    }

    fn redirected(&mut self, node: Node<'t>) {
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
    fn loose_redirects(&mut self, nodes: &[Node<'t>]) {
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

    fn command(&mut self, node: Node<'t>, redirects: &[Node<'t>]) {
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
    fn split_lines(&mut self, part: &mut Part) {
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

    fn word(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
        self.owned.push((node.start_byte(), node.end_byte(), index));
        let word = Word::parse(self.raw(node));
        if bomb::count(&word) > bomb::MAX_WORDS {
            self.script.doubt("a brace list stands for too many words", false);
        }
        part.words.push(word);
        self.inner(node);
    }

    /// Substitutions inside a word.
    fn inner(&mut self, node: Node<'t>) {
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

    fn descend(&mut self, node: Node<'t>) {
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

    fn assign(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
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

    fn assignments(&mut self, nodes: &[Node<'t>]) {
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

    fn declaration(&mut self, node: Node<'t>) {
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

    fn test(&mut self, node: Node<'t>) {
        self.free.push((node.start_byte(), node.end_byte()));
        let mut words = Vec::new();
        self.test_words(node, &mut words);
        let raw = self.raw(node);
        let doubled = raw.starts_with("[[");
        let (open, close) = if doubled { ("[[", "]]") } else { ("[", "]") };
        let inner = raw.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        let blank = |c: char| c.is_whitespace();
        if !inner.is_some_and(|text| text.starts_with(blank) && text.ends_with(blank)) {
            // `[0]` is a command to the shell.
            self.script.doubt("a test without blanks is a command", true);
        }
        let arithmetic = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        let risky = words.iter().any(|w| {
            matches!(w.value().as_deref(), Some("-v" | "-R"))
                || indexes(w)
                || (doubled && arithmetic.contains(&w.raw.as_str()))
        });
        if words.iter().any(|word| bomb::count(word) > bomb::MAX_WORDS) {
            self.script.doubt("a brace list stands for too many words", false);
        }
        let numbers = |w: &Word| w.literal().is_some_and(|l| l.parse::<i64>().is_ok());
        if risky && !words.iter().all(|w| numbers(w) || arithmetic.contains(&w.raw.as_str())) {
            self.script.doubt("it computes, which can run commands", false);
        }
        self.descend(node);
        self.part(Part { words, is_test: true, ..Part::default() });
    }

    /// The words of a test; its first is `[` so that rules may name it.
    fn test_words(&mut self, node: Node<'t>, words: &mut Vec<Word>) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "unary_expression"
                | "binary_expression"
                | "parenthesized_expression"
                | "ternary_expression"
                | "postfix_expression"
                | "redirected_statement" => {
                    if child.kind() == "redirected_statement" {
                        self.script.doubt("a test contains a redirection", false);
                    }
                    self.test_words(child, words);
                }
                _ => words.push(Word::parse(self.raw(child))),
            }
        }
    }

    fn redirect(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
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

    fn heredoc(&mut self, node: Node<'t>, part: &mut Part, index: usize) {
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

    fn part(&mut self, mut part: Part) {
        part.cwd = self.cwd.clone();
        part.bound = self.bound.clone();
        part.hidden = self.hidden;
        self.script.parts.push(part);
    }

    fn change_dir(&mut self, part: &Part) {
        self.after_cd = None;
        let there = match part.program().as_deref() {
            Some("cd") => self.cd_target(part),
            Some("pushd" | "popd") => {
                // Where the stack leads is not followed; where `pushd` goes first is.
                let mut there = self.cwd.clone();
                if let Some(target) = self.cd_target(part) {
                    there.join(&target);
                }
                Some(Cwd { lost: true, moved: true, ..there })
            }
            _ => None,
        };
        if let Some(there) = there {
            self.cwd.join(&there);
            self.after_cd = Some(there);
        }
    }

    fn cd_target(&self, part: &Part) -> Option<Cwd> {
        let args: Vec<&Word> = part.words[1..]
            .iter()
            .filter(|w| !matches!(w.raw.as_str(), "-L" | "-P" | "-e" | "--"))
            .collect();
        let lost = Cwd { dirs: self.cwd.dirs.clone(), lost: true, moved: true };
        let Some(target) = args.first() else {
            return Some(Cwd { dirs: vec![self.home.to_owned()], lost: false, moved: true });
        };
        let Some(text) = simple_path(target, self.home) else { return Some(lost) };
        if text == "-" || args.len() > 1 {
            return Some(lost);
        }
        let dirs: Vec<PathBuf> = self.cwd.dirs.iter().map(|dir| dir.join(&text)).collect();
        Some(Cwd { dirs, lost: self.cwd.lost && !text.starts_with('/'), moved: true })
    }
}

/// A folder's name, when it is a literal or starts with the home.
fn simple_path(word: &Word, home: &Path) -> Option<String> {
    if let Some(text) = word.literal() {
        return Some(text);
    }
    let home = home.to_string_lossy();
    match word.pieces.as_slice() {
        [Piece::Var { name, .. }, rest @ ..] if name == "HOME" => {
            let rest = Word::of("", rest.to_vec()).literal()?;
            Some(format!("{home}{rest}"))
        }
        [Piece::Text { text, quoted: false }] if text == "~" || text.starts_with("~/") => {
            let rest = &text[1..];
            (!rest.contains(['*', '?', '[', '{'])).then(|| format!("{home}{rest}"))
        }
        _ => None,
    }
}

impl Cwd {
    fn join(&mut self, other: &Self) {
        for dir in &other.dirs {
            if !self.dirs.contains(dir) && self.dirs.len() < 16 {
                self.dirs.push(dir.clone());
            }
        }
        self.lost |= other.lost || self.dirs.len() >= 16;
        self.moved |= other.moved;
    }
}
