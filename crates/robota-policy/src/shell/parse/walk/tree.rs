//! The grammar's tree of a text.

use std::borrow::Cow;
use std::cell::Cell;

use tree_sitter::{Parser, Tree};

thread_local! {
    /// A parser costs more to make than a command to parse. It keeps nothing of what it parsed.
    static PARSER: Cell<Option<Parser>> = const { Cell::new(None) };
}

pub(super) fn tree(text: &str) -> Option<Tree> {
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
pub(super) fn masked(text: &str) -> Option<Cow<'_, str>> {
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
