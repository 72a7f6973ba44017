//! Flattens the grammar's tree to the words of its commands.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

use super::Reading;
use crate::shell::syntax::Span;

/// The grammar gets the text in chunks of this many bytes, and reports its progress, so that its work
/// can be bounded: it searches to the end of the text again and again in text that it does not
/// understand.
const CHUNK: usize = 128;

/// More chunks than this are not read. A text of the greatest length needs about 200.
const MAX_CHUNKS: usize = 2_000;

/// After more reports than this the grammar is stopped. Text that it understands needs few.
const MAX_REPORTS: usize = 30;

const MAX_DEPTH: usize = 400;

thread_local! {
    /// Creating a parser costs more than parsing a command, so it is reused. It keeps no state
    /// between texts.
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
    // The text is ASCII, so that no chunk ends inside a character.
    let (chunks, reports) = (Cell::new(0), Cell::new(0));
    let is_spent = || chunks.get() > MAX_CHUNKS || reports.get() > MAX_REPORTS;
    let mut read = |at: usize, _: Point| {
        chunks.set(chunks.get() + 1);
        let end = if is_spent() { at } else { text.len().min(at + CHUNK) };
        text.get(at..end).unwrap_or_default()
    };
    let mut progress = |_: &ParseState| {
        reports.set(reports.get() + 1);
        if is_spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    // A parser that was stopped would continue with the old text.
    parser.reset();
    PARSER.set(Some(parser));
    // The tree of a part of the text proves nothing.
    tree.filter(|_| !is_spent())
}

/// Returns the text with these stretches replaced, and with every character beyond ASCII replaced
/// by letters of the same length: the grammar's scanner must not see them (it looks them up in a
/// table that ends at 255), and to the shell they are letters. The letter occurs nowhere else, so
/// that no line becomes the end of a here-document; `None` when every letter does.
pub(super) fn masked<'t>(text: &'t str, replaced: &[(Span, char)]) -> Option<Cow<'t, str>> {
    if text.is_ascii() && replaced.is_empty() {
        return Some(text.into());
    }
    let letter = "QZXJKVWYqzxjkvwy".chars().find(|letter| !text.contains(*letter))?;
    let mut replaced = replaced.to_vec();
    replaced.sort_unstable();
    let mut replaced = replaced.into_iter().peekable();
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        while replaced.next_if(|((_, end), _)| *end <= at).is_some() {}
        match replaced.peek() {
            Some(((start, _), by)) if *start <= at => {
                out.extend(std::iter::repeat_n(*by, c.len_utf8()));
            }
            _ if c.is_ascii() => out.push(c),
            _ => out.extend(std::iter::repeat_n(letter, c.len_utf8())),
        }
    }
    Some(out.into())
}

pub(super) fn read(text: &str) -> Option<Reading> {
    let tree = tree(text)?;
    let mut reading = Reading { broken: tree.root_node().has_error(), ..Reading::default() };
    node(tree.root_node(), 0, &mut reading);
    Some(reading)
}

fn span(node: Node<'_>) -> Span {
    (node.start_byte(), node.end_byte())
}

fn node(at: Node<'_>, depth: usize, out: &mut Reading) {
    if depth > MAX_DEPTH {
        out.broken = true;
        return;
    }
    let mut cursor = at.walk();
    match at.kind() {
        "command" | "declaration_command" | "unset_command" => {
            let mut words = Vec::new();
            for child in at.children(&mut cursor) {
                match child.kind() {
                    "file_redirect"
                    | "herestring_redirect"
                    | "heredoc_redirect"
                    | "subshell"
                    | "comment" => {}
                    _ if child.start_byte() == child.end_byte() => {}
                    _ => words.push(span(child)),
                }
            }
            out.commands.push(words);
        }
        "variable_assignment" => {
            let whole = at.parent().is_none_or(|parent| {
                !matches!(parent.kind(), "command" | "declaration_command" | "variable_assignments")
            });
            if whole {
                out.commands.push(vec![span(at)]);
            }
        }
        "variable_assignments" => {
            out.commands.push(at.named_children(&mut cursor).map(span).collect());
        }
        "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
            for child in at.named_children(&mut cursor) {
                out.loose.push(span(child));
            }
        }
        "test_command" | "case_statement" | "arithmetic_expansion" => {
            if let Some(value) = at.child_by_field_name("value") {
                out.free.push(span(value));
            } else {
                out.free.push(span(at));
            }
        }
        "case_item" => {
            for value in at.children_by_field_name("value", &mut cursor) {
                out.free.push(span(value));
            }
        }
        "for_statement" => {
            let body = at.child_by_field_name("body");
            out.free.push((at.start_byte(), body.map_or(at.end_byte(), |body| body.start_byte())));
        }
        _ => {}
    }
    let mut cursor = at.walk();
    for child in at.named_children(&mut cursor) {
        node(child, depth + 1, out);
    }
}
