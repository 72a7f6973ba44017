//! Changes one place of a JSON text and leaves the rest unchanged.

use std::ops::Range;

use serde_json::Value;

use crate::json::{Document, Kind, Node};

/// Returns the text with a key set.
pub(super) fn set(document: &Document, path: &[String], value: &Value) -> Result<String, String> {
    let style = Style::of(document);
    let (node, depth, rest) = reach(&document.root, path)?;
    let edit = match rest {
        // The key exists: replace its value.
        [] => (node.span.clone(), style.value(value, depth)),
        [first, inner @ ..] => {
            let nested = inner.iter().rev().fold(value.clone(), |value, name| {
                Value::Object([(name.clone(), value)].into_iter().collect())
            });
            let member =
                format!("{}: {}", Value::from(first.as_str()), style.value(&nested, depth + 1));
            style.insert(document, node, depth, &member)
        }
    };
    Ok(apply(document, edit))
}

/// Returns the text with an item appended to a list. Creates the list if it does not exist.
pub(super) fn push(document: &Document, path: &[String], item: &Value) -> Result<String, String> {
    let style = Style::of(document);
    let (node, depth, rest) = reach(&document.root, path)?;
    if !rest.is_empty() {
        return set(document, path, &Value::Array(vec![item.clone()]));
    }
    match &node.kind {
        // The same rule twice means nothing, and the text stays as it is.
        Kind::Array(items) if items.iter().any(|there| there.to_value() == *item) => {
            Ok(document.text.clone())
        }
        Kind::Array(_) => {
            let item = style.value(item, depth + 1);
            Ok(apply(document, style.insert(document, node, depth, &item)))
        }
        Kind::Null => set(document, path, &Value::Array(vec![item.clone()])),
        _ => Err(format!("expected a list in the file, found {}", node.type_name())),
    }
}

/// Returns the text without the items of a list that `keep` does not want. Items that are not text
/// stay.
pub(super) fn retain(
    document: &Document,
    path: &[String],
    keep: &dyn Fn(&str) -> bool,
) -> Result<String, String> {
    let (node, _, rest) = reach(&document.root, path)?;
    let (Kind::Array(items), []) = (&node.kind, rest) else { return Ok(document.text.clone()) };
    let kept: Vec<_> =
        items.iter().map(Node::to_value).filter(|item| item.as_str().is_none_or(keep)).collect();
    if kept.len() == items.len() {
        return Ok(document.text.clone());
    }
    set(document, path, &Value::Array(kept))
}

/// Returns the text without a key.
pub(super) fn remove(document: &Document, path: &[String]) -> Result<String, String> {
    let Some((name, outer)) = path.split_last() else { return Err("the key is empty".to_owned()) };
    let (node, _, rest) = reach(&document.root, outer)?;
    let Kind::Object(members) = &node.kind else { return Ok(document.text.clone()) };
    let at = members.iter().position(|member| member.key == *name);
    let (Some(at), []) = (at, rest) else { return Ok(document.text.clone()) };
    let end = |at: usize| members.get(at).map(|member| member.node.span.end);
    let start = |at: usize| members.get(at).map(|member| member.key_at);
    // Remove a comma as well: the one before the member, or for the first member the one after.
    let cut = match (at.checked_sub(1).and_then(end), end(at), start(at + 1)) {
        (Some(before), Some(after), _) => before..after,
        (None, Some(_), Some(next)) => start(at).unwrap_or(next)..next,
        // The only member: the braces stay.
        _ => {
            return Ok(apply(document, (node.span.clone(), "{}".to_owned())));
        }
    };
    Ok(apply(document, (cut, String::new())))
}

type Edit = (Range<usize>, String);

fn apply(document: &Document, (span, text): Edit) -> String {
    let mut whole = document.text.clone();
    whole.replace_range(span, &text);
    whole
}

/// Follows a path as far as it exists. Returns the last node, its depth, and the rest of the path.
fn reach<'a, 'p>(
    root: &'a Node,
    path: &'p [String],
) -> Result<(&'a Node, usize, &'p [String]), String> {
    let (mut node, mut rest, mut depth) = (root, path, 0);
    while let [name, inner @ ..] = rest {
        match (&node.kind, node.member(name)) {
            (Kind::Object(_), Some(member)) => {
                node = &member.node;
                rest = inner;
                depth += 1;
            }
            (Kind::Object(_), None) => break,
            _ => return Err(format!("expected an object in the file, found {}", node.type_name())),
        }
    }
    Ok((node, depth, rest))
}

/// The indentation and line ends of a file.
struct Style {
    indent: String,
    newline: &'static str,
}

impl Style {
    fn of(document: &Document) -> Self {
        let newline = if document.text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = match &document.root.kind {
            Kind::Object(members) => members.first().map(|member| member.key_at),
            _ => None,
        };
        let before = first.and_then(|at| document.text.get(..at)).unwrap_or_default();
        let indent = before.rsplit_once('\n').map(|(_, indent)| indent);
        let indent = indent
            .filter(|indent| !indent.is_empty() && indent.chars().all(|c| matches!(c, ' ' | '\t')));
        Self { indent: indent.unwrap_or("  ").to_owned(), newline }
    }

    fn line(&self, depth: usize) -> String {
        format!("{}{}", self.newline, self.indent.repeat(depth))
    }

    /// Formats a value in the style of the file.
    fn value(&self, value: &Value, depth: usize) -> String {
        let lines = |open: char, items: Vec<String>, close: char| {
            let inner = self.line(depth + 1);
            let items = items.join(&format!(",{inner}"));
            format!("{open}{inner}{items}{}{close}", self.line(depth))
        };
        match value {
            Value::Array(items) if !items.is_empty() => {
                lines('[', items.iter().map(|item| self.value(item, depth + 1)).collect(), ']')
            }
            Value::Object(fields) if !fields.is_empty() => {
                let field = |(name, value): (&String, &Value)| {
                    format!("{}: {}", Value::from(name.as_str()), self.value(value, depth + 1))
                };
                lines('{', fields.iter().map(field).collect(), '}')
            }
            plain => plain.to_string(),
        }
    }

    /// Appends a member or item to an object or a list, on the same line if the others are.
    fn insert(&self, document: &Document, node: &Node, depth: usize, item: &str) -> Edit {
        let last = match &node.kind {
            Kind::Object(members) => members.last().map(|member| member.node.span.end),
            Kind::Array(items) => items.last().map(|item| item.span.end),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => None,
        };
        let inside = document.text.get(node.span.clone()).unwrap_or_default();
        match last {
            Some(end) if inside.contains('\n') => {
                (end..end, format!(",{}{item}", self.line(depth + 1)))
            }
            Some(end) => (end..end, format!(", {item}")),
            None => {
                let (open, close) =
                    if matches!(node.kind, Kind::Array(_)) { ('[', ']') } else { ('{', '}') };
                let text =
                    format!("{open}{}{item}{}{close}", self.line(depth + 1), self.line(depth));
                (node.span.clone(), text)
            }
        }
    }
}
