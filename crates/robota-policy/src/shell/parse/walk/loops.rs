//! Loops and cases.

use tree_sitter::Node;

use super::Walker;
use crate::shell::bomb;
use crate::shell::parse::{Assign, Part};
use crate::shell::readonly::indexes;
use crate::shell::vars::Value;
use crate::shell::word::Word;

impl<'t> Walker<'t, '_> {
    pub(super) fn for_loop(&mut self, node: Node<'t>) {
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

    pub(super) fn case(&mut self, node: Node<'t>) {
        if let Some(value) = node.child_by_field_name("value") {
            self.free.push((value.start_byte(), value.end_byte()));
            self.inner(value);
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|c| c.kind() == "case_item") {
            self.node(child);
        }
    }

    pub(super) fn case_item(&mut self, node: Node<'t>) {
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
}
