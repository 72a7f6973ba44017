//! `[ … ]` and `[[ … ]]`.

use tree_sitter::Node;

use super::Walker;
use crate::shell::bomb;
use crate::shell::parse::Part;
use crate::shell::readonly::indexes;
use crate::shell::word::Word;

impl<'t> Walker<'t, '_> {
    pub(super) fn test(&mut self, node: Node<'t>) {
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
    pub(super) fn test_words(&mut self, node: Node<'t>, words: &mut Vec<Word>) {
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
}
